// SPDX-License-Identifier: MIT
/// @file
/// The designs that are compared: the library's, a mutex, and a counter, which bounds every design
/// with one hot word. Coroutines call `meet`, threads call `wait`.
#pragma once

#include "parties.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>
#include <tryst/detail/run/rundown.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/executor.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/redis/detail/arrivals.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tryst::scale {

/// The exchanger, with `capacity` slots beside slot 0, and its policies.
template <class Memory, class... Policies>
class plain_meeting {
public:
    using memory = Memory;
    static constexpr bool pairs = true;

    explicit plain_meeting(std::size_t capacity) : exchanger_(capacity) {}

    template <bool>
    auto meet(item<Memory> mine) noexcept {
        return in_turns<Memory>([&] { return exchanger_.exchange(std::move(mine)); });
    }
    template <bool>
    auto wait(item<Memory> mine) noexcept {
        return sync_wait(exchanger_.exchange(std::move(mine)));
    }
    void close() noexcept { exchanger_.close(); }

private:
    exchanger<item<Memory>, Policies...> exchanger_;
};

/// The two-colour exchanger.
template <class Memory, order Order>
class two_coloured_meeting {
public:
    using memory = Memory;
    static constexpr bool pairs = true;

    explicit two_coloured_meeting(std::size_t capacity)
        requires(Order != order::fifo)
        : exchanger_(capacity) {}
    explicit two_coloured_meeting(std::size_t /*capacity*/)
        requires(Order == order::fifo)
    {}

    template <bool Red>
    auto meet(item<Memory> mine) noexcept {
        if constexpr (Red) {
            return in_turns<Memory>([&] { return exchanger_.red(std::move(mine)); });
        } else {
            return in_turns<Memory>([&] { return exchanger_.blue(std::move(mine)); });
        }
    }
    template <bool Red>
    auto wait(item<Memory> mine) noexcept {
        if constexpr (Red) {
            return sync_wait(exchanger_.red(std::move(mine)));
        } else {
            return sync_wait(exchanger_.blue(std::move(mine)));
        }
    }
    void close() noexcept { exchanger_.close(); }

private:
    red_blue_exchanger<item<Memory>, item<Memory>, Order> exchanger_;
};

/// Selections over two exchangers. Each brings the same item to both.
template <class Memory>
class selecting_meeting {
    using goods = item<Memory>;
    using venue = exchanger<goods>;

public:
    using memory = Memory;
    static constexpr bool pairs = true;

    explicit selecting_meeting(std::size_t capacity) : a_(capacity), b_(capacity) {}

    template <bool Red>
    auto meet(goods mine) noexcept {
        return in_turns<Memory>([&] { return operation(first<Red>(), first<!Red>(), mine); });
    }
    template <bool Red>
    auto wait(goods mine) noexcept {
        return swapped(sync_wait(select_both(first<Red>(), first<!Red>(), mine)));
    }
    void close() noexcept {
        a_.close();
        b_.close();
    }

private:
    static auto select_both(venue& x, venue& y, const goods& mine) noexcept {
        return select(x.exchange(goods(mine.value())), y.exchange(goods(mine.value())));
    }

    static std::optional<goods> swapped(auto&& got) noexcept {
        return std::move(got).visit(
            [](auto&& won) { return won ? std::optional<goods>(*std::move(won)) : std::nullopt; });
    }

    using selection = decltype(select_both(std::declval<venue&>(), std::declval<venue&>(),
                                           std::declval<const goods&>()));

    class [[nodiscard]] operation {
    public:
        operation(venue& x, venue& y, const goods& mine) noexcept
            : selection_(select_both(x, y, mine)) {}

        bool await_ready() noexcept { return selection_.await_ready(); }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
            return selection_.await_suspend(coroutine);
        }
        std::optional<goods> await_resume() noexcept { return swapped(selection_.await_resume()); }

    private:
        selection selection_;
    };

    template <bool Red>
    venue& first() noexcept {
        return Red ? a_ : b_;
    }

    venue a_;
    venue b_;
};

/// The local place of a remote exchanger: an exchanger, and a count of the parties that wait there.
template <class Memory>
class counting_meeting {
    using goods = item<Memory>;
    using exchange = decltype(std::declval<exchanger<goods>&>().exchange(std::declval<goods>()));

public:
    using memory = Memory;
    static constexpr bool pairs = true;

    explicit counting_meeting(std::size_t capacity) : exchanger_(capacity) {}

    template <bool>
    auto meet(goods mine) noexcept {
        return in_turns<Memory>([&] { return operation(*this, std::move(mine)); });
    }
    template <bool>
    auto wait(goods mine) noexcept {
        arriving_.enter();
        auto got = sync_wait(exchanger_.exchange(std::move(mine)));
        arriving_.leave();
        return got;
    }
    void close() noexcept { exchanger_.close(); }

private:
    class [[nodiscard]] operation {
    public:
        operation(counting_meeting& where, goods&& mine) noexcept
            : where_(where), exchange_(where.exchanger_.exchange(std::move(mine))) {}

        bool await_ready() noexcept { return exchange_.await_ready(); }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
            counted_ = true;
            where_.arriving_.enter();
            return exchange_.await_suspend(coroutine);
        }
        auto await_resume() noexcept {
            if (counted_) {
                where_.arriving_.leave();
            }
            return exchange_.await_resume();
        }

    private:
        counting_meeting& where_;
        exchange exchange_;
        bool counted_ = false;
    };

    exchanger<goods> exchanger_;
    detail::arrivals arriving_;
};

/// A queued lock (Mellor-Crummey and Scott, "Algorithms for scalable synchronization on
/// shared-memory multiprocessors", 1991, section 2.4). Each thread waits on a line of its own.
class queued_lock {
public:
    struct alignas(detail::line_pair) place {
        detail::atomic<place*> next{nullptr};
        detail::atomic<bool> waiting{false};
    };

    void lock(place& mine) noexcept {
        mine.next.store(nullptr, std::memory_order_relaxed);
        place* const before = last_.exchange(&mine, std::memory_order_acq_rel);
        if (before == nullptr) {
            return;
        }
        mine.waiting.store(true, std::memory_order_relaxed);
        before->next.store(&mine, std::memory_order_release);
        while (mine.waiting.load(std::memory_order_acquire)) {
            detail::spin_pause();
        }
    }

    void unlock(place& mine) noexcept {
        place* next = mine.next.load(std::memory_order_acquire);
        if (next == nullptr) {
            place* seen = &mine;
            if (last_.compare_exchange_strong(seen, nullptr, std::memory_order_release,
                                              std::memory_order_relaxed)) {
                return;
            }
            while ((next = mine.next.load(std::memory_order_acquire)) == nullptr) {
                detail::spin_pause();
            }
        }
        next->waiting.store(false, std::memory_order_release);
    }

private:
    detail::atomic<place*> last_{nullptr};
};

/// The simplest exchanger. Under a lock, a party that finds a waiter swaps with it; otherwise it
/// waits.
template <class Memory>
class locked_meeting {
    using goods = item<Memory>;

    struct party : executor_node {
        explicit party(goods&& mine) noexcept : own(std::move(mine)) {}
        goods own;
        detail::atomic<bool> done{false};
        bool met = false;
        executor_ref executor;
        std::coroutine_handle<> handle;
    };

public:
    using memory = Memory;
    static constexpr bool pairs = true;

    explicit locked_meeting(std::size_t /*capacity*/) {}

    class [[nodiscard]] operation : private party {
    public:
        operation(locked_meeting& at, goods&& mine) noexcept : party(std::move(mine)), at_(at) {}

        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
            this->handle = coroutine;
            this->executor = executor_of(coroutine);
            this->run = [](executor_node* node) noexcept {
                static_cast<operation*>(node)->handle.resume();
            };
            return at_.arrive(*this);
        }
        std::optional<goods> await_resume() noexcept {
            return this->met ? std::optional<goods>(std::move(this->own)) : std::nullopt;
        }

        std::optional<goods> wait() noexcept {
            if (at_.arrive(*this)) {
                while (!this->done.load(std::memory_order_acquire)) {
                    detail::spin_pause();
                }
            }
            return await_resume();
        }

    private:
        locked_meeting& at_;
    };

    template <bool>
    auto meet(goods mine) noexcept {
        return in_turns<Memory>([&] { return operation(*this, std::move(mine)); });
    }
    template <bool>
    auto wait(goods mine) noexcept {
        return operation(*this, std::move(mine)).wait();
    }

    void close() noexcept {
        queued_lock::place here;
        lock_.lock(here);
        closed_.store(true, std::memory_order_relaxed);
        party* const last = waiting_.load(std::memory_order_relaxed);
        waiting_.store(nullptr, std::memory_order_relaxed);
        lock_.unlock(here);
        if (last != nullptr) {
            complete(*last);
        }
    }

private:
    /// @returns whether `mine` waits.
    bool arrive(party& mine) noexcept {
        queued_lock::place& here = detail::per_thread<queued_lock::place>();
        lock_.lock(here);
        party* const partner = waiting_.load(std::memory_order_relaxed);
        if (partner == nullptr) {
            const bool waits = !closed_.load(std::memory_order_relaxed);
            if (waits) {
                waiting_.store(&mine, std::memory_order_relaxed);
            }
            lock_.unlock(here);
            return waits;
        }
        waiting_.store(nullptr, std::memory_order_relaxed);
        lock_.unlock(here); // the partner is ours
        std::swap(mine.own, partner->own);
        mine.met = true;
        partner->met = true;
        complete(*partner);
        return false;
    }

    static void complete(party& partner) noexcept {
        if (const executor_ref executor = partner.executor) {
            executor.post(&partner);
        } else {
            partner.done.store(true, std::memory_order_release);
        }
    }

    // One line, so that the owner of the lock also has the data that the lock guards.
    alignas(detail::line_pair) queued_lock lock_;
    detail::atomic<party*> waiting_{nullptr};
    detail::atomic<bool> closed_{false};
};

/// Not an exchange: each party takes a ticket from one counter. Any design in which all parties
/// update one word does at least that.
template <class Memory>
class ticket_meeting {
    using goods = item<Memory>;

public:
    using memory = Memory;
    static constexpr bool pairs = false;

    explicit ticket_meeting(std::size_t /*capacity*/) {}

    class [[nodiscard]] operation : private executor_node {
    public:
        operation(ticket_meeting& at, goods&& mine) noexcept : at_(at), own_(std::move(mine)) {}

        bool await_ready() noexcept {
            // Every other party waits for its turn, as in an exchange.
            ticket_ = at_.take();
            return (ticket_ & 1U) != 0 || ticket_ >= closed;
        }
        bool await_suspend(std::coroutine_handle<> coroutine) noexcept {
            coroutine_ = coroutine;
            this->run = [](executor_node* node) noexcept {
                static_cast<operation*>(node)->coroutine_.resume();
            };
            current_executor().post(this);
            return true;
        }
        std::optional<goods> await_resume() noexcept {
            return ticket_ < closed ? std::optional<goods>(std::move(own_)) : std::nullopt;
        }

    private:
        ticket_meeting& at_;
        goods own_;
        std::uint64_t ticket_ = 0;
        std::coroutine_handle<> coroutine_;
    };

    template <bool>
    auto meet(goods mine) noexcept {
        return in_turns<Memory>([&] { return operation(*this, std::move(mine)); });
    }
    template <bool>
    std::optional<goods> wait(goods mine) noexcept {
        return take() < closed ? std::optional<goods>(std::move(mine)) : std::nullopt;
    }
    void close() noexcept { counter_.fetch_or(closed, std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t closed = std::uint64_t{1} << 63U;

    std::uint64_t take() noexcept { return counter_.fetch_add(1, std::memory_order_relaxed); }

    alignas(detail::line_pair) detail::atomic<std::uint64_t> counter_{0};
};

/// An operation that waits in an execution context.
struct listed {
    listed* previous = nullptr;
    listed* next = nullptr;
    void* list = nullptr;
};

/// The list of the operations of a context. Charges for the lines of the neighbours.
template <class Memory>
class listing {
public:
    void link(listed& added) noexcept {
        Memory::write(&added);
        added.previous = nullptr;
        added.next = std::exchange(first_, &added);
        if (added.next != nullptr) {
            Memory::write(added.next);
            added.next->previous = &added;
        }
    }
    void unlink(listed& removed) noexcept {
        Memory::read(&removed);
        if (removed.previous != nullptr) {
            Memory::write(removed.previous);
            removed.previous->next = removed.next;
        } else {
            first_ = removed.next;
        }
        if (removed.next != nullptr) {
            Memory::write(removed.next);
            removed.next->previous = removed.previous;
        }
    }

private:
    listed* first_ = nullptr;
};

/// As in asio/detail/registry.hpp, which needs Asio: each thread has one of a few lists, behind a
/// short lock. A waker enters the rundown. An operation leaves by itself.
template <class Memory>
class listed_by_thread {
public:
    void add(listed& added) noexcept {
        list& mine = lists_[detail::per_thread<own_list>().probe % lists_.size()];
        added.list = &mine;
        mine.lock();
        mine.operations.link(added);
        mine.unlock();
    }
    template <class Queue>
    void wake(listed& /*operation*/, Queue queue) noexcept {
        if (rundown_.enter()) {
            queue();
        }
        rundown_.leave();
    }
    void remove(listed& removed) noexcept {
        list& its = *static_cast<list*>(removed.list);
        its.lock();
        its.operations.unlink(removed);
        its.unlock();
    }

private:
    struct own_list {
        std::uint32_t probe;
    };
    struct alignas(detail::line_pair) list {
        void lock() noexcept {
            detail::yield_until(
                [this] { return !locked.exchange(true, std::memory_order_acquire); });
        }
        void unlock() noexcept { locked.store(false, std::memory_order_release); }

        detail::atomic<bool> locked{false};
        listing<Memory> operations;
    };

    alignas(detail::line_pair) detail::rundown rundown_;
    std::array<list, 64> lists_; // as in the registry
};

/// One list behind a mutex. A waker takes the operation out.
template <class Memory>
class listed_behind_mutex {
public:
    void add(listed& added) noexcept {
        queued_lock::place& here = detail::per_thread<queued_lock::place>();
        lock_.lock(here);
        operations_.link(added);
        lock_.unlock(here);
    }
    template <class Queue>
    void wake(listed& operation, Queue queue) noexcept {
        queued_lock::place& here = detail::per_thread<queued_lock::place>();
        lock_.lock(here);
        operations_.unlink(operation);
        queue();
        lock_.unlock(here);
    }
    void remove(listed& /*removed*/) noexcept {}

private:
    alignas(detail::line_pair) queued_lock lock_;
    listing<Memory> operations_;
};

/// Not an exchange: each party waits in one context, and is woken as if from another.
template <class Memory, class Registry>
class waiting_in_context {
    using goods = item<Memory>;

public:
    using memory = Memory;
    static constexpr bool pairs = false;

    explicit waiting_in_context(std::size_t /*capacity*/) {}

    class [[nodiscard]] operation : private executor_node, private listed {
    public:
        operation(waiting_in_context& at, goods&& mine) noexcept : at_(at), own_(std::move(mine)) {}

        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> coroutine) noexcept {
            coroutine_ = coroutine;
            this->run = [](executor_node* node) noexcept {
                static_cast<operation*>(node)->coroutine_.resume();
            };
            at_.registry_.add(*this);
            at_.registry_.wake(*this, [this] { current_executor().post(this); });
            return true;
        }
        std::optional<goods> await_resume() noexcept {
            at_.registry_.remove(*this);
            return at_.take(std::move(own_));
        }

    private:
        waiting_in_context& at_;
        goods own_;
        std::coroutine_handle<> coroutine_;
    };

    template <bool>
    auto meet(goods mine) noexcept {
        return in_turns<Memory>([&] { return operation(*this, std::move(mine)); });
    }
    template <bool>
    std::optional<goods> wait(goods mine) noexcept {
        listed place;
        registry_.add(place);
        registry_.wake(place, [] {});
        registry_.remove(place);
        return take(std::move(mine));
    }
    void close() noexcept { closed_.store(true, std::memory_order_relaxed); }

private:
    std::optional<goods> take(goods&& mine) noexcept {
        return closed_.load(std::memory_order_relaxed) ? std::nullopt
                                                       : std::optional<goods>(std::move(mine));
    }

    Registry registry_;
    alignas(detail::line_pair) detail::atomic<bool> closed_{false};
};

} // namespace tryst::scale
