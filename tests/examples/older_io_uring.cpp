// SPDX-License-Identifier: MIT
/// @file
/// A library to preload. It refuses the flags of io_uring_setup in the environment variable REFUSE,
/// as an older kernel does. With REFUSE=all it refuses every ring, as if io_uring were disabled.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <liburing.h>

extern "C" int io_uring_queue_init_params(unsigned entries, io_uring* ring,
                                          io_uring_params* parameters) {
    const char* const refuse = std::getenv("REFUSE");
    if (refuse != nullptr && std::strcmp(refuse, "all") == 0) {
        return -EPERM;
    }
    if (refuse != nullptr && (parameters->flags & std::strtoul(refuse, nullptr, 0)) != 0) {
        return -EINVAL;
    }
    void* const next = ::dlsym(RTLD_NEXT, "io_uring_queue_init_params");
    const int error =
        reinterpret_cast<decltype(&io_uring_queue_init_params)>(next)(entries, ring, parameters);
    if (refuse != nullptr) {
        ring->features &= ~static_cast<unsigned>(IORING_FEAT_CQE_SKIP); // new in Linux 5.17
    }
    return error;
}
