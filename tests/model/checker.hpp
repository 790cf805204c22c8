// SPDX-License-Identifier: MIT
/// @file
/// The model checker: runs a scene's threads one step at a time, in every order, with every value
/// that C++'s memory model lets a load return.
#pragma once

#include "model/kernel.hpp"
#include "model/plain_memory.hpp"
#include "model/search.hpp"
#include "model/views.hpp"
#include "support/fiber.hpp"

#include <array>
#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tryst::model {

/// An atomic operation whose memory order is weaker than the source says: the checks must notice.
struct weakening {
    std::string file; ///< The end of the source file's path,
    unsigned first_line = 0; ///< and the lines that the operation is on.
    unsigned last_line = 0;
    bool on_failure = false; ///< The order of a failed compare-exchange, not the other one.
    std::memory_order order = std::memory_order_relaxed;
};

/// How far and how an exploration goes.
struct bounds {
    std::optional<unsigned> preemptions; ///< At most so many in one execution; nothing: no bound.
    std::optional<unsigned> stale_reads; ///< Likewise, of values that are not the latest.
    /// Any thread may make the first step. Otherwise the one that was started last does, or there
    /// is a preemption.
    bool any_first = false;
    bool bare_posts = false; ///< Posts order nothing but the memory of what they resume.
    unsigned spurious_failures = 1; ///< Of weak compare-exchanges and of sleeps, in one execution.
    std::uint64_t random_executions = 0; ///< If not 0, explores so many at random instead of all.
    std::uint64_t first_seed = 1;
    std::optional<weakening> weakened; ///< The source is taken as it is, if empty.
};

/// What an exploration has found.
struct report {
    std::uint64_t executions = 0; ///< Begun; all but the cut ones went to their end.
    std::uint64_t cut = 0; ///< Came to a state from which all had been explored before.
    std::uint64_t states = 0; ///< At which there was a choice; in an exhaustive search.
    std::size_t longest = 0; ///< Steps of the longest execution.
    std::uint64_t weakened = 0; ///< How many operations had a weaker order than the source says.
    std::string failure; ///< Empty if there is none.
    std::string replay; ///< The choices that lead to it.
    std::vector<std::string> trace; ///< What happens then, step by step.
};

/* A model thread is a fiber that stops before each step: an atomic operation, or the use of a
 * shared object. The scheduler then decides which thread makes its step next. What a thread does
 * between two steps touches plain memory only, and is therefore part of the step before, as long
 * as there is no data race; and that is what `plain_memory` checks.
 *
 * A load may read any store that its thread's view does not forbid; a read-modify-write reads the
 * latest. A store may come before others in the modification order that its thread does not know
 * of. No load reads what is stored later (load buffering, which RC11 excludes). No fences.
 *
 * What follows depends on nothing but what each thread has read and in which order the stores to
 * each atomic came. That, as a fingerprint, is the state; an execution that comes to a known one is
 * cut. So two schedules that differ only in the order of independent steps are explored once, as
 * with sleep sets. */
class checker {
    static inline constinit checker* active = nullptr;

    /// For its scope, the checker's own code runs on a model thread.
    class outside {
    public:
        outside() noexcept : was_(std::exchange(active, nullptr)) {}
        outside(const outside&) = delete;
        outside& operator=(const outside&) = delete;
        ~outside() { active = was_; }

    private:
        checker* was_;
    };

public:
    static checker& instance() noexcept;

    /// Explores the executions of `scene`, which is called on thread 0 of each. Stops at the first
    /// failure.
    report explore(void (*scene)(), const bounds& limits);
    /// Makes the one execution that `text` describes.
    report replay(void (*scene)(), const bounds& limits, const std::string& text);

    // ---- For a scene, on its threads.

    /// Starts a thread. `body` must live until it has ended.
    void spawn(const char* name, void (*entry)(void*), void* body);
    /// Waits until all other threads have ended.
    void join();
    /// Waits until no other thread can go on.
    void settle();
    [[noreturn]] void fail(const std::string& message);
    std::size_t choose(std::size_t count) {
        const outside here;
        return choices_.choose(count);
    }
    const bounds& limits() const noexcept { return limits_; }
    /// From now on at most `most` of the allocations that may fail do: the first ones if `surely`,
    /// otherwise any.
    void starve(unsigned most, bool surely = false) noexcept {
        failures_ = most;
        fails_surely_ = surely;
    }

    // ---- For the platform, on a model thread.

    /// An atomic has a number; it keeps that itself, and operations are given the number's address,
    /// so that the life of an atomic is checked like that of any object.
    unsigned make_atomic(word initial);
    word load(const unsigned* atomic, std::memory_order order, site where);
    void store(const unsigned* atomic, word desired, std::memory_order order, site where);
    using operation = word (*)(word current, word operand);
    word update(const unsigned* atomic, operation with, word operand, std::memory_order order,
                const char* what, site where);
    bool compare_exchange(const unsigned* atomic, word& expected, word desired,
                          std::memory_order success, std::memory_order failure, bool weak,
                          site where);
    /// What the latest store has left: for the kernel, which orders itself. No step.
    word latest(const unsigned* atomic) const noexcept {
        const atomic_history& a = (*atomics_)[*atomic];
        return a.stores[a.count - 1].value;
    }
    /// The calling thread can read nothing older any more.
    void see_latest(const unsigned* atomic) noexcept {
        const atomic_history& a = (*atomics_)[*atomic];
        self().now.floor[*atomic] = a.stores[a.count - 1].place;
        remember(a.stores[a.count - 1].id);
    }
    /// The calling thread, to which `block` now belongs, can read nothing there that is older than
    /// what `known` knows.
    void hand_over(std::span<std::byte> block, const view& known) noexcept;
    kernel& os() noexcept { return kernel_; }

    /// Waits until what this thread read or used last has changed.
    void wait_for_change(site where);
    /// Lets another thread make a step, if one can, and if none has since the last yield.
    void yield() noexcept;
    /// A thread tries something again and again, each time with steps that others can see. After a
    /// try that failed, waits until another thread has changed something since that try began, in
    /// a step that was not such a try itself.
    void begin_retries() noexcept;
    void wait_for_progress(site where);
    void end_retries() noexcept;

    /// Makes the use of `object` the next step. `changes` if others can tell.
    void use(shared_object& object, bool changes, const char* what, site where);
    /// As above, as soon as `ready(context)`.
    void use_when(shared_object& object, bool (*ready)(void*), void* context, const char* what,
                  site where, bool changes = true);
    /// Uses `object`, and tells it all that the calling thread knows.
    void publish(shared_object& object, const char* what, site where);
    /// Waits until `object` has been changed `version` times, and learns what was published there.
    void await(shared_object& object, std::uint32_t version, const char* what, site where);
    /// What the calling thread does next depends on `what`, which it has learnt in no other way.
    void observe(fingerprint what) noexcept { remember(mix(4, what)); }
    /// Whether a spurious failure happens here.
    bool fails_spuriously();

    std::size_t current() const noexcept { return running_; }
    view& knowledge() noexcept { return self().now; }
    /// Ends a part of the calling thread's history: what comes after is later than what others
    /// know.
    void next_event() noexcept { end_event(); }
    const char* name_of(std::size_t number) const noexcept { return threads_[number]->name; }

    /// The calling thread's object of a kind: null before its first use; `end` is called with it
    /// when the thread ends.
    struct local_object {
        void* object = nullptr;
        void (*end)(void*) = nullptr;
    };
    local_object& local(unsigned kind) { return self().locals.at(kind); }
    unsigned new_kind() noexcept { return kinds_++; }

    // ---- For the instrumentation.

    /// The checker whose model thread is running; null while the checker's own code is.
    static checker* of_this_thread() noexcept { return active; }
    void enter(access kind, const void* address, std::size_t size);
    void* allocate(std::size_t size, std::size_t alignment);
    /// As above; null if this allocation fails (`starve`).
    void* try_allocate(std::size_t size, std::size_t alignment);
    void release(void* block);
    plain_memory& memory() noexcept { return memory_; }

    /// The execution has reached a step of the protocol (detail::step), or an outcome.
    void reached(std::size_t number, const char* name, site where);
    std::uint64_t reached() const noexcept { return reached_; }
    /// Those steps, a bit for each, fail the execution from now on.
    void forbid(std::uint64_t steps) noexcept { forbidden_ = steps; }
    /// Each of those may be reached once from now on.
    void forbid_twice(std::uint64_t steps) noexcept { once_ = steps; }

    /// In this execution, no weak compare-exchange and no sleep fails spuriously from now on.
    void forbid_spurious_failures() noexcept { spurious_ = 0; }

    /// Adds a line to the trace, if one is wanted; `make()` gives its text.
    template <class Make>
    void note(site where, Make make) {
        if (tracing_) {
            const outside here;
            add_line(where, make());
        }
    }
    std::string show(word value) const;

    /// For signal handlers: whether no step has been made since the last call;
    bool hangs() noexcept;
    /// and to end the execution from there.
    [[noreturn]] void interrupt(const char* why) noexcept;

private:
    static constexpr std::size_t nobody = max_threads;
    static constexpr std::size_t max_steps = 5'000;

    struct store_event {
        word value;
        fingerprint id;
        rank place;
        bool updated; ///< By a read-modify-write, which therefore comes right after it.
        view released;
    };
    struct atomic_history {
        const unsigned* address; ///< Null before its first use.
        std::size_t count;
        fingerprint id;
        fingerprint order; ///< Of the stores.
        std::array<store_event, max_stores> stores; ///< In modification order.

        /// The first store that is not before `floor`.
        std::size_t index_of(rank floor) const noexcept;
    };
    struct thread {
        explicit thread(std::span<std::byte> stack) noexcept : on(stack) {}

        test::fiber on;
        const char* name = "";
        void (*entry)(void*) = nullptr;
        void* body = nullptr;
        view now;
        fingerprint history = 0;
        bool fresh = false;
        bool settling = false;
        bool yielded = false; ///< To go on with another thread is no preemption.
        bool alone =
            false; ///< Neither has another thread made a step since it yielded, nor it got on.
        bool generous = false; ///< It waits until one has.
        bool (*ready)(void*) = nullptr;
        void* context = nullptr;
        const char* waits_for = "";
        std::uint8_t last_atomic = 0;
        const shared_object* last_object = nullptr;
        std::uint32_t last_version = 0;
        bool retries = false;
        std::uint64_t known_progress = 0; ///< When its latest try began.
        std::array<local_object, 8> locals{};
    };

    checker();

    void execute(void (*scene)());
    void begin_execution();
    void run(std::size_t number);
    bool enabled(const thread& t) const;
    std::size_t collect(bool generous, std::array<std::uint8_t, max_threads>& who) const;
    /// Who makes the next step; `nobody` at the end.
    std::size_t schedule();
    std::size_t pick(const std::array<std::uint8_t, max_threads>& who, std::size_t count);
    /// @param is_free  whether any thread may make the next step, and it is no preemption.
    bool known_state(bool is_free);
    report failed(void (*scene)(), const std::vector<std::uint8_t>& taken);

    thread& self() noexcept { return *threads_[running_]; }
    /// The order of the operation at `where`, which the source gives as `order`.
    std::memory_order actual(std::memory_order order, site where, bool on_failure = false);
    void step(const char* what);
    unsigned step_at(const unsigned* atomic, const char* what);
    void wait(bool (*ready)(void*), void* context, const char* what);
    void begin_try() noexcept;
    void remember(fingerprint event) noexcept { self().history = mix(self().history, event); }
    void end_event() noexcept { ++self().now.happened[running_]; }
    fingerprint event_id() const noexcept {
        const moment now = threads_[running_]->now.happened[running_];
        return mix(running_ + 1, static_cast<fingerprint>(now));
    }
    void read(unsigned atomic, std::size_t index, std::memory_order order);
    void insert(unsigned atomic, std::size_t index, word value, std::memory_order order);
    void update_at(unsigned atomic, std::size_t index, word value, std::memory_order order);
    /// The stores from the result to the latest may be read now.
    std::size_t oldest_readable(unsigned atomic, std::memory_order order) noexcept;
    void add_line(site where, const std::string& text);
    static std::string show_atomic(unsigned atomic);
    void report_conflict(const conflict& c, access kind, const void* address);

    plain_memory memory_;
    std::vector<std::unique_ptr<thread>> threads_; // as many as there may be
    std::size_t thread_count_ = 0;
    std::size_t running_ = 0; ///< Whose turn it is, or was last.

    std::unique_ptr<std::array<atomic_history, max_atomics>> atomics_;
    std::size_t atomic_count_ = 0;
    fingerprint atomics_state_ = 0;
    fingerprint objects_state_ = 0;
    std::uint64_t progress_ = 0; ///< Changes that were not made by tries.
    view sequentially_consistent_;

    bounds limits_;
    choices choices_;
    state_set visited_;
    unsigned preemptions_ = 0;
    unsigned spurious_ = 0;
    unsigned stale_reads_ = 0;
    unsigned failures_ = 0; ///< Of allocations, still to come.
    bool fails_surely_ = false;
    bool cut_ = false;
    std::size_t steps_ = 0;
    std::array<std::uint32_t, max_threads> priorities_{};
    std::vector<std::size_t> priority_changes_;

    std::string failure_;
    bool tracing_ = false;
    std::vector<std::string> trace_;
    unsigned kinds_ = 0;
    std::uint64_t reached_ = 0; ///< A bit for each step of the protocol, in all executions.
    kernel kernel_;
    sigjmp_buf scheduler_{};
    std::uint64_t forbidden_ = 0; ///< Likewise, in this execution.
    std::uint64_t once_ = 0; ///< Likewise: forbidden after the first time.
    std::uint64_t weakened_ = 0; ///< Operations that had a weaker order than the source says.
    std::uint64_t all_steps_ = 0; ///< Of all executions.
    std::uint64_t steps_at_last_watch_ = 0;
};

inline checker& the_checker() noexcept {
    return checker::instance();
}

} // namespace tryst::model
