// SPDX-License-Identifier: MIT
/// @file
/// The platform: every atomic, clock, stop token and thread-local of the core comes from here, and
/// every kernel wait except those of the timer thread. A checker or simulator may define
/// TRYST_PLATFORM as a header that supplies the same names.
/// Standard library; on Linux also the system calls futex and sched_getaffinity, on Windows
/// WaitOnAddress.
#pragma once

#include <cstddef>

#ifndef __cpp_exceptions
static_assert(false, "tryst: compile with exceptions (without -fno-exceptions)");
#endif

#ifdef TRYST_PLATFORM
#include TRYST_PLATFORM
#else

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <version>

#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

#ifdef __linux__
#include <sched.h>
#elif defined(_WIN32)
// As in <windows.h>, which defines many macros, and which Asio must include first.
extern "C" __declspec(dllimport) unsigned long __stdcall GetCurrentThreadId();
#endif
#if defined(__linux__) && !defined(TRYST_NO_FUTEX)
#define TRYST_HAS_FUTEX 1
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(_WIN32) && !defined(TRYST_NO_FUTEX)
#define TRYST_HAS_FUTEX 1
#include <algorithm>
// As above. Since Windows 8.
extern "C"
    __declspec(dllimport) int __stdcall WaitOnAddress(volatile void* address, void* seen,
                                                      std::size_t size, unsigned long milliseconds);
extern "C" __declspec(dllimport) void __stdcall WakeByAddressSingle(void* address);
#else
#define TRYST_HAS_FUTEX 0
#include <tryst/detail/platform/portable_sleep_word.hpp>

#include <condition_variable>
#include <mutex>
#endif

namespace tryst::detail {

template <class T>
using atomic = std::atomic<T>;

using clock = std::chrono::steady_clock;
#ifdef __cpp_lib_jthread
using stop_token = std::stop_token;
template <class Callback>
using stop_callback = std::stop_callback<Callback>;
#else // libc++ 19 has them only with -fexperimental-library. Other token types work without it.
class stop_token;
template <class Callback>
class stop_callback;
#endif

/// The calling thread's own `T`. It has default visibility, because a program and its shared
/// libraries must share one instance.
template <class T>
[[gnu::visibility("default")]] T& per_thread() noexcept {
    thread_local T instance{};
    return instance;
}

/// An address that identifies the calling thread. It belongs to the C library or the system, so it
/// is the same in plugins that have a `per_thread` of their own.
inline const void* this_thread_address() noexcept {
#ifdef _WIN32
    return reinterpret_cast<const void*>(std::uintptr_t{::GetCurrentThreadId()});
#else
    return &errno;
#endif
}

/// One step of a spin loop: tells the core that this thread only waits.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    asm volatile("yield");
#endif
}

/// Fetches a cache line for a write that follows a read, so that the line moves only once. The
/// address need not be valid.
inline void prefetch_for_write(const void* address) noexcept {
#if defined(__x86_64__) // for a generic x86-64, compilers emit a prefetch for reading
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
    __builtin_prefetch(address, 1);
#endif
}

inline void yield_thread() noexcept {
    std::this_thread::yield();
}

/// Yields.
/// @returns whether another thread has probably used this core in the meantime. On the machine
///   measured, a system call without a switch took 0.45 us, and two switches at least 2.5 us
///   (docs/adr/0004).
inline bool yield_core() noexcept {
    const auto before = clock::now();
    yield_thread();
    return clock::now() - before > std::chrono::microseconds(1);
}

/// Sleeps for a moment, so that a thread of lower priority can run, too.
inline void nap() noexcept {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// How often a thread that waits for the step of another yields before each nap.
inline constexpr unsigned yields_before_nap = 64;

/// Waits for another thread to finish a step that it has begun. The wait is short unless that
/// thread has lost its core.
template <class Done>
void yield_until(Done done) noexcept {
    for (unsigned yields = 0; !done(); ++yields) {
        yields < yields_before_nap ? yield_thread() : nap();
    }
}

/// Bounds on a thread's spinning before it sleeps, chosen with the benchmark "swap, threads" on two
/// cores. `spin_pauses` before each yield give a partner on another core time to complete some
/// exchanges; 32, 64 and 256 were measured too (docs/adr/0004). All rounds together take about as
/// long as a wake-up.
inline constexpr int spin_pauses = 128;
inline constexpr int spin_rounds = 16;

/// As `yield_until`, where each `done()` itself takes steps that other threads can see. Spins
/// first.
template <class Done>
void retry_until(Done done) noexcept {
    for (int i = 0; i != spin_pauses; ++i) {
        if (done()) {
            return;
        }
        spin_pause();
    }
    detail::yield_until(done);
}

/// How often a party that waits for the lock of a channel looks before it yields. It pauses before
/// each look, twice as long as before the last one, up to a maximum (docs/adr/0019).
inline constexpr int lock_looks = 16;
inline constexpr int first_lock_pauses = 32;
inline constexpr int most_lock_pauses = 256;

/// The most items that a channel moves in one section under its lock.
inline constexpr std::size_t items_per_section = 64;

/// How many cases a selection registers before it releases its hold for a moment.
inline constexpr std::size_t held_cases = 16;

/// How many operations may complete without a suspension before the next coroutine goes through the
/// queue of its executor (detail/run/turn_budget.hpp). Values from 8 to 255 cost the same
/// (docs/adr/0015).
inline constexpr std::uint8_t most_completions = 64;

/// Rounds of spinning that a thread's offer in an arena lasts (docs/adr/0008).
inline constexpr int arena_rounds = 2;

/// How long an offer in an arena lasts if its party seems to be alone on its executor
/// (docs/adr/0008).
inline constexpr std::chrono::nanoseconds lone_patience{3'000};

/// The number of processors that this process may use; 1 if it is not known.
inline unsigned processor_count() noexcept {
    static const unsigned count = [] {
#ifdef CPU_COUNT // Linux. The call fails on machines with more processors than a cpu_set_t holds.
        cpu_set_t usable;
        if (::sched_getaffinity(0, sizeof usable, &usable) == 0) {
            return static_cast<unsigned>(CPU_COUNT(&usable));
        }
#endif
        const unsigned n = std::thread::hardware_concurrency();
        return n == 0 ? 1U : n;
    }();
    return count;
}

/// Counts the processors when the program starts, because later a thread that calls
/// `processor_count` may be pinned.
inline const unsigned processors_at_start = processor_count();

#if TRYST_HAS_FUTEX
#ifdef __linux__
// What a sleep_word needs of the kernel.
inline void futex(void* word, int operation, std::uint32_t value, const timespec* at) noexcept {
    ::syscall(SYS_futex, word, operation, value, at, nullptr, FUTEX_BITSET_MATCH_ANY);
}
inline void futex_wait(void* word, std::uint32_t seen) noexcept {
    futex(word, FUTEX_WAIT_BITSET_PRIVATE, seen, nullptr);
}
inline void futex_wait_until(void* word, std::uint32_t seen, clock::time_point deadline) noexcept {
    const auto since = deadline.time_since_epoch();
    if (since.count() <= 0) {
        return;
    }
    using seconds = std::chrono::duration<decltype(timespec::tv_sec)>;
    using nanoseconds = std::chrono::duration<decltype(timespec::tv_nsec), std::nano>;
    const auto whole = std::chrono::duration_cast<seconds>(since);
    // The steady_clock of libstdc++ and libc++ is CLOCK_MONOTONIC, the clock of this futex
    // operation.
    const timespec at{whole.count(),
                      std::chrono::duration_cast<nanoseconds>(since - whole).count()};
    futex(word, FUTEX_WAIT_BITSET_PRIVATE, seen, &at);
}
inline void futex_wake(void* word) noexcept {
    futex(word, FUTEX_WAKE_PRIVATE, 1, nullptr);
}
#else
inline void futex_wait(void* word, std::uint32_t seen,
                       unsigned long milliseconds = ~0UL) noexcept { // the maximum has no limit
    ::WaitOnAddress(word, &seen, sizeof seen, milliseconds);
}
inline void futex_wait_until(void* word, std::uint32_t seen, clock::time_point deadline) noexcept {
    const auto now = clock::now();
    if (deadline <= now) {
        return;
    }
    constexpr std::chrono::hours most(24); // then the sleeper wakes spuriously
    using milliseconds = std::chrono::duration<unsigned long, std::milli>;
    futex_wait(
        word, seen,
        std::chrono::ceil<milliseconds>(std::min<clock::duration>(deadline - now, most)).count());
}
inline void futex_wake(void* word) noexcept {
    ::WakeByAddressSingle(word);
}
#endif
#endif

/// A word that one thread sleeps on. With a futex, `store_and_wake` uses only the word's address
/// after its store, because a sleeper that has returned may already have ended the word's lifetime.
/// A stray wake-up of another word at that address is harmless, because every sleeper checks its
/// word again.
#if TRYST_HAS_FUTEX
class sleep_word {
public:
    atomic<std::uint32_t> value{0};

    /// Sleeps while `value == seen`. May wake spuriously.
    void sleep(std::uint32_t seen) noexcept { futex_wait(&value, seen); }

    /// As above, but no longer than until `deadline`.
    void sleep_until(std::uint32_t seen, clock::time_point deadline) noexcept {
        futex_wait_until(&value, seen, deadline);
    }

    /// Stores `desired` with release order, then wakes the sleeper.
    void store_and_wake(std::uint32_t desired) noexcept {
        void* const address = &value;
        // [P1] release, pairs with [P2] in parker: everything before the wake-up happens-before the
        // return of `park`.
        value.store(desired, std::memory_order_release);
        futex_wake(address);
    }

    /// Call after seeing the store, before the word's lifetime ends.
    void let_waker_finish() noexcept {}
};
#else
using sleep_word = portable_sleep_word<atomic<std::uint32_t>, std::mutex, std::condition_variable>;
#endif

} // namespace tryst::detail

#endif

namespace tryst::detail {

/// Waits for a step that takes another thread a few instructions: spins for a moment, then yields
/// until `done()`.
template <class Done>
void spin_until(Done done) noexcept {
    for (int i = 0; i != spin_pauses; ++i) {
        if (done()) {
            return;
        }
        spin_pause();
    }
    detail::yield_until(done);
}

/// The distance at which the writes of two cores do not disturb each other: a pair of 64-byte
/// lines, because x86 prefetches lines in pairs (Intel 64 and IA-32 Optimization Reference Manual,
/// 3.7.3). Not std::hardware_destructive_interference_size, which may vary within one program.
inline constexpr std::size_t line_pair = 128;

} // namespace tryst::detail
