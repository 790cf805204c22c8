// SPDX-License-Identifier: MIT
/// @file
/// The registry of an execution context.
/// Asio.
#pragma once

#include <tryst/asio/detail/context_timers.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registered_executor.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/rundown.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <typeinfo>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class>
inline constexpr bool is_strand = false;
template <class Executor>
inline constexpr bool is_strand<net::strand<Executor>> = true;

/// An executor with the same properties, whichever these were.
template <class Executor>
auto plain(const Executor& executor) {
    return net::prefer(net::require(executor, net::execution::blocking.never),
                       net::execution::outstanding_work.untracked,
                       net::execution::relationship.fork);
}

/* The registry of an execution context
 *
 * I21. An executor is in a list from `add` until `remove` or `shutdown` unlinks it. Its waker does
 *     not touch the lists. The executor calls `remove` itself when it runs.
 * I22. After `rundown::end` in `shutdown`, no waker queues an entry in the context. `wake` marks
 *     the executor as stranded instead.
 * I23. A thread that has seen `stranded` may destroy the executor. The waker then touches only the
 *     rundown, and the registry's destructor waits until it has left that.
 * I25. The registry is shut down before each strand in which it queues entries. Otherwise a waker
 *     could queue an entry in a strand that has been shut down. The strand would lose it, and the
 *     handler in the lost entry would keep the strand alive forever.
 *     1. Asio shuts services down in the reverse order of their construction.
 *     2. The shutdown of `early_end` is that of the registry.
 *     3. `of` creates `early_end` for the first executor that may be a strand. By then the service
 *        of the strands exists: because of that strand, or because `of` has made one.
 *     Only for an executor that may be anything does `of` make a strand, because Asio 1.22 crashes
 *     if there is no memory for that.
 * I60. A scope keeps only executors that another party has woken. A step by which an executor waits
 *      for a turn of the context goes through the queue. So what is in the queue runs in between.
 *
 * A waker on a thread that runs a handler of the context needs no rundown, because a context is not
 * destroyed while it runs a handler. `scope` marks such threads.
 *
 * There are 64 lists, and the address of a thread-local variable selects one, so threads seldom
 * wait for each other. With 8 lists, a simulation fell below one mutex on 4 processors and more. */
class registry final : public net::execution_context::service {
public:
    inline static net::execution_context::id id;

    explicit registry(net::execution_context& context)
        : net::execution_context::service(context), timers_(context) {
        const int hint = concurrency_hint(context);
        has_one_thread_ = hint == hint_one_thread || hint == hint_no_locks;
        for (registry_list& list : lists_) {
            list.owner = this;
            list.has_lock = hint != hint_no_locks;
        }
    }

    /// Calls `shutdown`, because Asio does not call it if the registry was created during the
    /// context's shutdown.
    ~registry() override {
        shutdown();
        rundown_.drain(); // a waker that was turned away may not have left yet (I23)
        // Relaxed: a thread that uses a later context at the same address must synchronize with the
        // end of this one anyway.
        ended_contexts.fetch_add(1, std::memory_order_relaxed);
    }

    /// The registry of the context of an Asio executor. An Asio executor without a context has that
    /// of the system context. @throws std::bad_alloc.
    template <class Executor>
    static registry& of(const Executor& executor) {
        net::execution_context& context = context_of(executor);
        latest_search& latest = find(context);
        if (!latest.ends_early && !is_direct(executor)) { // I25
            if constexpr (!is_strand<Executor>) {
                const net::strand<inline_context_executor> made(inline_context_executor{&context});
            }
            net::use_service<early_end>(context);
            latest.ends_early = true;
        }
        return *latest.found;
    }

    /// Marks the thread as running an entry of this context; of no known context if null. Then runs
    /// the executors that this has woken, without a way through the queue.
    class scope {
    public:
        /// @param direct  whether the entry is in the context's own queue, and in no strand's.
        scope(registry* running, bool direct) noexcept : outer_(here()) {
            here() = {.running = running, .ready = direct ? this : nullptr};
        }
        scope(scope&&) = delete;
        ~scope() {
            queue_ready(); // a handler has thrown
            here() = outer_;
        }

        void run_ready() {
            for (int left = most_in_a_row; first_ != nullptr && left != 0; --left) {
                take().run();
            }
            queue_ready();
        }

    private:
        friend class registry;
        /// Then the context's other handlers have their turn. With 16, a hand-off takes as long as
        /// without a limit; with 4 it takes 4% longer, with 1 it takes 19% longer.
        static constexpr int most_in_a_row = 16;

        struct state {
            registry* running = nullptr;
            bool continues = false;
            scope* ready = nullptr; ///< Null if executors cannot be run here.
            const registered_executor* steps = nullptr; ///< The executor that posts its own node.
        };
        static state& here() noexcept { return tryst::detail::per_thread<state>(); }

        /// If the context may have other threads, these can run what is in the queue, and only
        /// that. So this thread keeps an executor only while it is the only one to run.
        /// @returns false if the executor is to be queued.
        bool add(registered_executor& woken, bool one_thread) noexcept {
            if (!one_thread && first_ != nullptr) {
                queue_ready();
                is_open_ = false;
            }
            if (!is_open_) {
                return false;
            }
            woken.set_entry(registered_executor::entry::queued);
            woken.memory.next_ready = nullptr;
            (first_ == nullptr ? first_ : last_->memory.next_ready) = &woken;
            last_ = &woken;
            return true;
        }
        registered_executor& take() noexcept {
            return *std::exchange(first_, first_->memory.next_ready);
        }

        void queue_ready() noexcept {
            while (first_ != nullptr) {
                take().enqueue();
            }
        }

        state outer_;
        registered_executor* first_ = nullptr;
        registered_executor* last_ = nullptr;
        bool is_open_ = true;
    };

    /// Marks the thread as running an awaitable.
    class awaitable_scope {
    public:
        awaitable_scope() noexcept : outer_(std::exchange(scope::here().continues, true)) {}
        awaitable_scope(awaitable_scope&&) = delete;
        ~awaitable_scope() { scope::here().continues = outer_; }

    private:
        bool outer_;
    };

    /// Marks a step of an executor, in which it may post its own node.
    class step {
    public:
        explicit step(const registered_executor& of) noexcept
            : outer_(std::exchange(scope::here().steps, &of)) {}
        step(step&&) = delete;
        ~step() { scope::here().steps = outer_; }

    private:
        const registered_executor* outer_;
    };

    /// Whether what the thread queues now continues what it runs. This is so in awaitables and
    /// tasks, which go on until they wait. Other handlers may block before the thread returns to
    /// its context.
    static bool continues() noexcept { return scope::here().continues; }
    static void set_continues(bool value) noexcept { scope::here().continues = value; }

    /// @returns false if the context has ended.
    [[nodiscard]] bool add(registered_executor& added) noexcept {
        if (rundown_.has_ended()) {
            return false;
        }
        added.list = &lists_[own_list()];
        added.is_registered = true;
        const std::scoped_lock lock(*added.list);
        added.list->executors.push_front(added);
        return true;
    }

    /// Calls `executor.enqueue()`, unless the context has ended (I22). Call from any thread. The
    /// caller must not use the executor afterwards.
    template <class Executor>
    void wake(Executor& executor) noexcept {
        if (const auto& here = scope::here(); here.running == this) {
            const bool can_follow = here.ready != nullptr && here.continues && executor.is_direct &&
                                    here.steps != &executor;
            if (!can_follow || !here.ready->add(executor, has_one_thread_)) {
                executor.enqueue();
            }
            return;
        }
        if (rundown_.enter()) {
            executor.enqueue();
        } else {
            executor.set_entry(registered_executor::entry::stranded);
        }
        rundown_.leave();
    }

    /// Calls `post`, which posts to the context, unless the context has ended (I22). Call from any
    /// thread, while the registry exists.
    template <class Post>
    void post_unless_ended(Post post) {
        struct exit {
            tryst::detail::rundown& from;
            ~exit() { from.leave(); }
        };
        const bool open = rundown_.enter();
        const exit at_end{rundown_};
        if (open) {
            post();
        }
    }

    context_timers& timers() noexcept { return timers_; }

    /// Whether the executor is known to be no strand: it is the context's own.
    template <class Executor>
    static bool is_direct([[maybe_unused]] const Executor& executor) noexcept {
        if constexpr (requires { executor.target_type(); }) {
            using own = net::io_context::executor_type;
            using counted = decltype(net::prefer(std::declval<const own&>(),
                                                 net::execution::outstanding_work.tracked));
            const std::type_info& target = executor.target_type();
            return target == typeid(decltype(detail::plain(std::declval<const own&>()))) ||
                   target == typeid(decltype(net::require(std::declval<const counted&>(),
                                                          net::execution::blocking.never))) ||
                   target == typeid(own) || target == typeid(counted);
        } else if constexpr (requires {
                                 net::query(executor, net::execution::context).get_executor();
                             }) {
            using own = std::remove_cvref_t<
                decltype(net::query(executor, net::execution::context).get_executor())>;
            return std::is_same_v<decltype(detail::plain(executor)),
                                  decltype(detail::plain(std::declval<const own&>()))>;
        } else {
            return false;
        }
    }

private:
    /// Caches the registry that a thread found last, because Asio's search takes a lock. The cache
    /// is invalid once any context has ended, because another may live at its address.
    struct latest_search {
        net::execution_context* context = nullptr;
        std::uint64_t ended = 0;
        registry* found = nullptr;
        bool ends_early = false; ///< Whether its `early_end` exists.
    };
    inline static tryst::detail::atomic<std::uint64_t> ended_contexts{0};

    static latest_search& find(net::execution_context& context) {
        auto& latest = tryst::detail::per_thread<latest_search>();
        // Relaxed: see the destructor.
        const std::uint64_t ended = ended_contexts.load(std::memory_order_relaxed);
        if (latest.context != &context || latest.ended != ended) {
            latest = {&context, ended, &net::use_service<registry>(context)};
        }
        return latest;
    }

    /// The hint that the context was made with, or 0 if this version of Asio does not tell.
    template <class Scheduler = net::detail::io_context_impl>
    static int concurrency_hint(net::execution_context& context) {
        if constexpr (requires(Scheduler& runs) { runs.concurrency_hint(); }) {
            if (net::has_service<Scheduler>(context)) {
                return net::use_service<Scheduler>(context).concurrency_hint();
            }
        }
        return 0;
    }

    /// Shuts the registry down (I25).
    class early_end final : public net::execution_context::service {
    public:
        inline static net::execution_context::id id;

        explicit early_end(net::execution_context& context)
            : net::execution_context::service(context),
              registry_(&net::use_service<registry>(context)) {}

    private:
        void shutdown() noexcept final { registry_->shutdown(); }

        registry* registry_;
    };

    template <class Executor>
    static net::execution_context& context_of(const Executor& executor) {
        if constexpr (requires { net::query(executor, as_context); }) {
            return net::query(executor, as_context);
        } else if constexpr (requires { net::query(executor, net::execution::context); }) {
            return net::query(executor, net::execution::context);
        } else if constexpr (requires { executor.context(); }) {
            return executor.context();
        } else {
            return net::query(net::system_executor(), net::execution::context);
        }
    }

    /// The calling thread's list. Fibonacci hashing of an address that is the thread's own (Knuth,
    /// The Art of Computer Programming, volume 3, section 6.4).
    static std::size_t own_list() noexcept {
        const auto own = reinterpret_cast<std::uintptr_t>(&scope::here());
        const std::uint64_t hash = own * std::uint64_t{0x9E3779B97F4A7C15};
        return static_cast<std::size_t>(hash >> (64 - list_bits));
    }

    static constexpr net::execution::context_as_t<net::execution_context&> as_context{};
    static constexpr unsigned list_bits = 6;

    void shutdown() noexcept final {
        rundown_.end();
        timers_.shutdown();
        for (registry_list& list : lists_) {
            std::unique_lock lock(list);
            while (!list.executors.empty()) {
                registered_executor& executor = *list.executors.front();
                list.executors.remove(executor);
                lock.unlock();
                executor.is_registered = false;
                if (executor.leave()) {
                    executor.on_shutdown(); // may destroy other executors
                }
                lock.lock();
            }
        }
    }

    tryst::detail::rundown rundown_;
    bool has_one_thread_ = false; ///< Whether the program has said so.
    registry_list lists_[1U << list_bits];
    context_timers timers_;
};

} // namespace detail
TRYST_ASIO_END
