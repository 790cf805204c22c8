// SPDX-License-Identifier: MIT
/// @file
/// Simulated threads on one real thread: which of them runs and for how long, which ones sleep, and
/// what time it is.
#pragma once

#include "sim/memory.hpp"
#include "sim/random.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <source_location>
#include <string>
#include <string_view>

namespace tryst::sim {

/// Simulated time, since its beginning.
using instant = std::chrono::nanoseconds;

/// A simulated thread, by the order of their starts. Thread 0 runs the play.
using thread_id = std::size_t;
inline constexpr std::size_t max_threads = 129;

/// How the threads take turns. Chosen for each run.
struct pace {
    enum class policy : std::uint8_t {
        fair, ///< Any thread that is awake may run.
        /// The highest in an order that changes now and then (Burckhardt, Kothari, Musuvathi and
        /// Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs",
        /// 2010).
        ranked,
        unfair, ///< Any, but some threads are held up for long.
    };

    policy turns = policy::fair;
    std::size_t mean_turn = 4; ///< The mean number of accesses between two decisions.
    std::size_t dwell = 0; ///< One call of `linger` in so many holds its thread up. 0: none.
    std::size_t spurious = 0; ///< One in so many decisions wakes a sleeper spuriously. 0: none.
    std::size_t drift =
        0; ///< One in so many decisions lets time pass to the next deadline. 0: none.
    instant tick{0}; ///< How long a look at the clock takes.
    unsigned processors = 2; ///< What the platform claims to have.
    memory::reuse addresses = memory::reuse::at_once;
};

/// A run that makes more accesses to atomics than this is taken for a livelock.
inline constexpr std::uint64_t default_step_limit = 5'000'000;

/// How a run has ended.
struct verdict {
    std::string failure; ///< Empty: none.
    std::uint64_t digest = 0; ///< Of all decisions and notes.
    std::uint64_t steps = 0; ///< Accesses to atomics.
};

/// Runs `play` as thread 0, and all threads that it starts, until they end or something fails;
/// threads that are then still alive are forgotten. Memory that was not freed is a failure, too.
verdict run(const random& choices, const pace& how, const std::function<void()>& play,
            std::uint64_t step_limit = default_step_limit);

// ---- For the play: on simulated threads only.

/// Starts a thread.
thread_id start(std::string name, std::function<void()> body);

/// Sleeps until `thread` has ended.
void join(thread_id thread);
bool has_ended(thread_id thread) noexcept;

/// Sleeps until no other thread can go on: all have ended, or sleep without a deadline.
void until_quiet();

/// `check` is called whenever all threads sleep, before time passes or `until_quiet` returns. It
/// returns what is wrong.
void when_all_sleep(std::function<std::string()> check);

/// Sets `flag` as soon as this thread yields or sleeps for a partner. (It may also spin before it
/// has made its offer, at a contended word, or yield for the step of another party.) Null: forget
/// the flag.
void tell_when_waiting(bool* flag) noexcept;

/// Something is wrong: the run ends here.
[[noreturn]] void fail(std::string_view what);

/// The run's choices.
random& choices() noexcept;

// ---- For the platform.

/// The running thread; 0 outside a run.
thread_id current_thread() noexcept;

/// How often a thread has taken its turn in this run. If it does not change, no other thread has
/// run.
std::uint64_t turns() noexcept;

/// The number of the run. Values of a thread belong to it in one run only.
std::uint64_t run_number() noexcept;

instant now() noexcept;

/// Looks at the clock: as `now`, but it takes time.
instant look_at_clock() noexcept;

unsigned processors() noexcept;

/// A turn of a spin loop of bounded length.
void pause(const std::source_location& where) noexcept;

/// For a thread that waits for another: lets any other thread run.
void yield() noexcept;
/// As above, for a party that has made its offer (`tell_when_waiting`).
void yield_waiting() noexcept;

/// Sleeps until `wake(address)` or `deadline`, or wakes spuriously.
inline constexpr instant no_deadline = instant::max();
void sleep(const void* address, instant deadline) noexcept;

/// Wakes one thread that sleeps at `address`.
void wake(const void* address) noexcept;

/// A moment at which the schedule may hold this thread up.
void linger() noexcept;

/// A step of the protocol (detail/platform/trace.hpp) was taken. Lingers, too.
void step_taken(unsigned step) noexcept;

/// How often each step was taken, over all runs.
inline constexpr unsigned step_kinds = 26;
std::uint64_t times_taken(unsigned step) noexcept;

// ---- The trace.

/// A sentence of the trace, with {} for numbers. Hashed when it is compiled, for the digest.
struct sentence {
    // NOLINTNEXTLINE(google-explicit-constructor): a literal is a sentence.
    consteval sentence(const char* t) : text(t) {
        for (; *t != '\0'; ++t) {
            hash = (hash ^ static_cast<unsigned char>(*t)) * 0x100000001B3U;
        }
    }
    const char* text;
    std::uint64_t hash = 0xCBF29CE484222325U;
};

/// Adds an event to the digest, and a line to the trace.
void note(sentence what, long a = 0, long b = 0, long c = 0) noexcept;

enum class trace_of : std::uint8_t { nothing, events, accesses };

/// What runs print.
void set_trace(trace_of what) noexcept;

// ---- Accesses to shared memory, at which another thread may go on. Inline, because there are
// billions.

namespace inside {
/// Accesses to go before the next decision.
inline constinit std::int64_t until_decision = std::numeric_limits<std::int64_t>::max();
void decide(const char* what, const std::source_location& where) noexcept;
} // namespace inside

/// What an access to an atomic does to its cache line.
enum class use : std::uint8_t { reads, writes, fails }; // a compare-exchange that fails

/// Is told of each access, if there is one.
class access_counter {
public:
    access_counter() = default;
    access_counter(const access_counter&) = delete;
    access_counter& operator=(const access_counter&) = delete;
    virtual void count(const void* at, use how) noexcept = 0;

protected:
    ~access_counter() = default;
};
inline constinit access_counter* counter = nullptr;

inline void count_access(const void* at, use how) noexcept {
    if (counter != nullptr) [[unlikely]] {
        counter->count(at, how);
    }
}

inline void access(const char* what, const std::source_location& where) noexcept {
    if (--inside::until_decision <= 0) [[unlikely]] {
        inside::decide(what, where);
    }
}

/// In this scope no other thread runs, whatever is accessed, and no step counts. For the test's own
/// checks and preparations.
class undisturbed {
public:
    undisturbed() noexcept;
    undisturbed(const undisturbed&) = delete;
    undisturbed& operator=(const undisturbed&) = delete;
    ~undisturbed();

private:
    std::int64_t saved_;
};

} // namespace tryst::sim
