// SPDX-License-Identifier: MIT
/// @file
/// A thread of the library within the process of a program: signals and fork(2).
/// Standard library; except on Windows, also POSIX threads.
#pragma once

#ifdef _WIN32
#include <thread>
#else
#include <csignal>
#include <initializer_list>

#include <pthread.h>
#endif

namespace tryst::detail {

#ifdef _WIN32

class library_thread {
public:
    template <auto Run, class T>
    [[nodiscard]] bool start(T& argument) noexcept {
        try {
            thread_ = std::thread([&argument] { (argument.*Run)(); });
            id_ = thread_.get_id();
            return true;
        } catch (...) { // no thread or no memory
            return false;
        }
    }
    void join() noexcept { thread_.join(); }
    void detach() noexcept { thread_.detach(); }
    void forget() noexcept { id_ = {}; }
    bool is_here() const noexcept { return id_ == std::this_thread::get_id(); }

private:
    std::thread thread_;
    std::thread::id id_;
};

[[nodiscard]] inline bool at_fork(void (*)(), void (*)(), void (*)()) noexcept {
    return true;
}

#else

/// A thread that takes no signals from the program: all are blocked, except those of faults in its
/// own code. Uses no memory of the heap, which would be lost in the child of a fork(2).
class library_thread {
public:
    /// Starts a thread that calls the member function `Run` of `argument`.
    /// @returns false if the system cannot start one.
    template <auto Run, class T>
    [[nodiscard]] bool start(T& argument) noexcept {
        sigset_t blocked;
        ::sigfillset(&blocked);
        for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) {
            ::sigdelset(&blocked, fault);
        }
        // Blocked before the thread exists, which inherits them.
        sigset_t before;
        ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
        const auto run = [](void* self) -> void* {
            (static_cast<T*>(self)->*Run)();
            return nullptr;
        };
        started_ = ::pthread_create(&thread_, nullptr, run, &argument) == 0;
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return started_;
    }

    /// Waits until the thread has returned. Then call `forget`.
    void join() noexcept { ::pthread_join(thread_, nullptr); }

    /// Gives up waiting for the thread. Then call `forget`.
    void detach() noexcept { ::pthread_detach(thread_); }

    /// Prepares for another start. Also for the child of a fork(2) that another thread called.
    void forget() noexcept { started_ = false; }

    /// Whether this is the calling thread.
    bool is_here() const noexcept {
        return started_ && ::pthread_equal(thread_, ::pthread_self()) != 0;
    }

private:
    pthread_t thread_{};
    bool started_ = false;
};

/// Registers functions that fork(2) calls on the forking thread: before it, and after it in the
/// parent and in the child. @returns false if there is no memory.
[[nodiscard]] inline bool at_fork(void (*before)(), void (*in_parent)(),
                                  void (*in_child)()) noexcept {
    return ::pthread_atfork(before, in_parent, in_child) == 0;
}

#endif

} // namespace tryst::detail
