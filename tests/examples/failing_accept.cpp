// SPDX-License-Identifier: MIT
/// @file
/// A library to preload. Its `accept` fails with each error number in the environment variable
/// ACCEPT_ERRORS, one per call for which a connection is queued, and then works normally. With
/// ECONNABORTED and EPROTO the connection is lost, as in reality; otherwise it stays in the queue.
#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

/// @returns 0 at the end of the list.
int next_error() {
    // Only the thread that accepts connections calls this.
    static char* rest = std::getenv("ACCEPT_ERRORS");
    return rest == nullptr ? 0 : static_cast<int>(std::strtol(rest, &rest, 10));
}

} // namespace

extern "C" int accept(int socket, sockaddr* address, socklen_t* size) {
    using function = int (*)(int, sockaddr*, socklen_t*);
    static const auto next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "accept"));
    pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
    const bool may_block = (::fcntl(socket, F_GETFL) & O_NONBLOCK) == 0;
    if (::poll(&ready, 1, may_block ? -1 : 0) != 1) {
        return next(socket, address, size);
    }
    const int error = next_error();
    if (error == 0) {
        return next(socket, address, size);
    }
    if (error == ECONNABORTED || error == EPROTO) {
        ::close(next(socket, nullptr, nullptr));
    }
    errno = error;
    return -1;
}
