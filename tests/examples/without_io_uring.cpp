// SPDX-License-Identifier: MIT
/// @file
/// Runs a program without io_uring, as the seccomp filters of many containers do:
/// without_io_uring ERROR PROGRAM [ARGUMENT...]. Each io_uring_setup fails with that error number.
#include "support/forbidden_calls.hpp"

#include <cstdio>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: %s ERROR PROGRAM [ARGUMENT...]\n", arguments[0]);
        return 2;
    }
    if (!tryst::test::forbid_calls({__NR_io_uring_setup}, std::atoi(arguments[1]))) {
        std::perror("seccomp");
        return 2;
    }
    ::execv(arguments[2], arguments + 2);
    std::perror(arguments[2]);
    return 2;
}
