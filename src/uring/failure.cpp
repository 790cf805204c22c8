// SPDX-License-Identifier: MIT
#include "failure.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace tryst::uring::detail {

namespace {

permissions look_up() {
    permissions here{};
    std::ifstream("/proc/sys/kernel/io_uring_disabled") >> here.disabled; // 0 if there is none
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    here.lockable = limit.rlim_cur;
    return here;
}

} // namespace

std::string cause_of(int error, const permissions& here) {
    switch (error) {
    case EPERM:
    case EACCES:
        if (here.disabled == 2) {
            return "kernel.io_uring_disabled is 2, which forbids io_uring to every process; "
                   "set it to 0 (sysctl)";
        }
        if (here.disabled == 1) {
            return "kernel.io_uring_disabled is 1, which allows io_uring only with CAP_SYS_ADMIN "
                   "or in the group kernel.io_uring_group; set it to 0 (sysctl)";
        }
        return "a seccomp filter, such as a container's default profile, or a security module "
               "forbids io_uring; allow io_uring_setup, io_uring_enter and io_uring_register";
    case ENOSYS:
        return "the kernel has no io_uring (older than Linux 5.6, or without CONFIG_IO_URING), "
               "or a seccomp filter hides it";
    case ENOMEM:
        if (here.lockable == RLIM_INFINITY) {
            return {};
        }
        return "too little memory, or more of it locked than RLIMIT_MEMLOCK allows (" +
               std::to_string(here.lockable / 1024) +
               " KiB); raise it with `ulimit -l`, or make fewer or smaller contexts";
    default:
        return {};
    }
}

std::system_error failure(int error, const char* call) {
    return {std::error_code(error, std::system_category()), call};
}

std::system_error uring_failure(int error, const char* call) {
    const std::string cause = cause_of(error, look_up());
    return {std::error_code(error, std::system_category()),
            cause.empty() ? call : call + (": " + cause)};
}

void die(const char* problem, const char* detail, const char* advice) noexcept {
    std::fprintf(stderr, "tryst: %s%s%s\n", problem, detail, advice);
    std::abort();
}

} // namespace tryst::uring::detail
