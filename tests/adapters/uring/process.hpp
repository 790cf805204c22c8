// SPDX-License-Identifier: MIT
/// @file
/// Runs a part of a test in a process of its own, which may end.
#pragma once

#include "adapters/uring/harness.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace tryst::test {

/// The status, as of waitpid(2), of a child process that exits with the number that `body` returns.
/// SIGALRM ends a child that hangs.
template <class Body>
int wait_status_of(Body body) {
    const pid_t child = checked(::fork(), "fork");
    if (child == 0) {
        ::alarm(20);
        ::_exit(body());
    }
    int status = 0;
    checked(::waitpid(child, &status, 0), "waitpid");
    return status;
}

/// The exit status of `body` in a child process; -1 if a signal ended it.
template <class Body>
int status_of(Body body) {
    const int status = wait_status_of(body);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The signal that ends a child process which calls `body`; 0 if `body` returns.
template <class Body>
int signal_that_ends(Body body) {
    const int status = wait_status_of([&] {
        body();
        return 0;
    });
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

} // namespace tryst::test
