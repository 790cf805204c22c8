// SPDX-License-Identifier: MIT
/// @file
/// The parties of a scene, what they bring and get, and what must be true in the end.
#pragma once

#include "model/checker.hpp"
#include "model/scenes.hpp"
#include "model/serial_loop.hpp"

#include <tryst/tryst.hpp>

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace tryst::model {

/// An item: the number of the party that brought it, in memory of its own, which only its owner may
/// touch. Where posts order nothing, the number alone.
class parcel {
public:
    explicit parcel(std::size_t from)
        : box_(the_checker().limits().bare_posts ? nullptr : new std::size_t(from)), from_(from) {}
    parcel(parcel&& other) noexcept
        : box_(std::exchange(other.box_, nullptr)), from_(other.from_) {}
    parcel& operator=(parcel&&) = delete;
    ~parcel() { delete box_; }

    std::size_t from() const noexcept { return box_ == nullptr ? from_ : *box_; }

private:
    std::size_t* box_;
    std::size_t from_;
};

/// How a party waits.
enum class patience : std::uint8_t {
    endless,
    until_stop,
    until_deadline,
    until_either,
    none, ///< try_exchange
    over, ///< a deadline that has passed
};

/// A coroutine whose frame goes with its last statement.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// One exchanger, its parties, and their results.
class meeting {
public:
    static constexpr std::size_t max_parties = 8;
    static constexpr std::chrono::nanoseconds wait{10};
    static constexpr instant end_of_time = 2'000'000;

    /// @param slots  above slot 0; `grown` if arrivals use them from the start.
    explicit meeting(std::size_t slots = 0, bool grown = false);
    ~meeting() { destroy(); }
    meeting(const meeting&) = delete;
    meeting& operator=(const meeting&) = delete;

    using channel = exchanger<parcel>;
    channel& ex() noexcept { return *ex_; }

    // ---- Threads of a scene

    /// A loop on which one coroutine after the other is started, each a party that exchanges once.
    auto loop(std::initializer_list<patience> kinds) {
        const std::size_t first = parties_;
        std::array<patience, 4> each{};
        std::ranges::copy(kinds, each.begin());
        for (const patience kind : kinds) {
            add(kind);
        }
        return [this, first, each, count = kinds.size(), on = loops_++] {
            serial_loop& here = loop_[on];
            here.run([&] {
                for (std::size_t i = 0; i != count; ++i) {
                    here.begin_work();
                    coroutine_party(*this, &here, first + i, each[i]);
                }
            });
        };
    }

    /// A loop whose one coroutine exchanges `rounds` times, as `rounds` parties.
    auto busy_loop(std::size_t rounds) {
        const std::size_t first = parties_;
        for (std::size_t i = 0; i != rounds; ++i) {
            add(patience::endless);
        }
        return [this, first, rounds, on = loops_++] {
            serial_loop& here = loop_[on];
            here.run([&] {
                here.begin_work();
                busy_party(*this, here, first, rounds);
            });
        };
    }

    /// A coroutine without executor.
    auto bare(patience kind) {
        return [this, mine = add(kind), kind] { coroutine_party(*this, nullptr, mine, kind); };
    }

    /// A loop whose one coroutine may be destroyed while it waits: by `killer`, or `at_once`,
    /// before its check runs.
    auto doomed_loop(patience kind, bool at_once = false) {
        doom_.loop = &loop_.at(loops_++);
        return [this, mine = add(kind), kind, at_once] {
            serial_loop& here = *doom_.loop;
            here.run([&] {
                here.begin_work();
                doomed_party(*this, mine, kind, at_once);
            });
        };
    }
    auto killer() {
        return [this] { doom_.loop->executor().post(&doom_); };
    }

    /// A loop whose one coroutine starts its exchange as cancellable. The exchange is cancelled on
    /// the loop: by `requester`, or `at_once`, before its check runs.
    auto cancellable_loop(patience kind, bool at_once = false) {
        request_.loop = &loop_.at(loops_++);
        return [this, mine = add(kind), kind, at_once] {
            serial_loop& here = *request_.loop;
            here.run([&] {
                here.begin_work();
                if (at_once) {
                    here.executor().post(&request_);
                }
                cancellable_party(*this, mine, kind);
            });
        };
    }
    auto requester() {
        return [this] { request_.loop->executor().post(&request_); };
    }

    /// A loop whose one coroutine destroys the exchanger, if it has met somebody there.
    auto destroying_loop() {
        return [this, mine = add(patience::endless), on = loops_++] {
            serial_loop& here = loop_[on];
            here.run([&] {
                here.begin_work();
                destroying_party(*this, &here, mine);
            });
        };
    }
    auto destroying_bare() {
        return [this, mine = add(patience::endless)] { destroying_party(*this, nullptr, mine); };
    }

    /// A loop like `loop`, of one coroutine, and whoever destroys the exchanger as soon as all such
    /// have begun to wait; that they have is ordered before.
    auto watched_loop(patience kind) {
        ++watched_;
        return [this, mine = add(kind), kind, on = loops_++] {
            serial_loop& here = loop_[on];
            here.run([&] {
                here.begin_work();
                coroutine_party(*this, &here, mine, kind);
                the_checker().publish(waiting_, "has begun to wait", site::current());
            });
        };
    }
    auto destroyer() {
        return [this] {
            the_checker().await(waiting_, watched_, "all have begun to wait", site::current());
            begin_to_close();
            destroy();
        };
    }

    /// A plain thread.
    auto thread(patience kind) {
        return [this, mine = add(kind), kind] { thread_party(mine, kind); };
    }

    auto canceller() {
        return [this] {
            what_canceller_did_ = true;
            stop_.request_stop();
        };
    }
    auto closer() {
        return [this] {
            closing = true;
            what_closer_did_ = true;
            ex_->close();
        };
    }
    /// The time goes on until every deadline has passed.
    static auto time() {
        return [] { the_checker().os().advance(end_of_time / 2, site::current()); };
    }

    /// Runs the threads until nothing can go on, closes the exchanger, lets all end, and checks.
    template <class... Body>
    void run(Body... bodies) {
        start(bodies...);
        the_checker().settle();
        the_checker().os().advance(end_of_time, site::current());
        the_checker().settle();
        close_at_quiescence();
        the_checker().join();
        verify();
    }

    /// As above, without the close: all must end by themselves.
    template <class... Body>
    void run_to_end(Body... bodies) {
        start(bodies...);
        the_checker().join();
        verify();
    }

    /// For after `run`, where nobody can miss the others.
    void require_that_all_have_met() const;

    // ---- For parties

    void enter(std::size_t party, const exchange_result<parcel>& got);
    detail::stop_token token() noexcept { return detail::stop_token(stop_); }

private:
    /// Enters one more party, with the time before which it must not give up.
    std::size_t add(patience kind) {
        const bool timed = kind == patience::until_deadline || kind == patience::until_either;
        const instant start = the_checker().os().time();
        kinds_.at(parties_) = kind;
        deadlines_.at(parties_) = kind == patience::over ? 0 : timed ? start + wait.count() : never;
        return parties_++;
    }

    static detached coroutine_party(meeting& m, serial_loop* on, std::size_t mine, patience kind);
    static detached busy_party(meeting& m, serial_loop& on, std::size_t first, std::size_t rounds);
    void thread_party(std::size_t mine, patience kind);

    static detached cancellable_party(meeting& m, std::size_t mine, patience kind);
    static detached destroying_party(meeting& m, serial_loop* on, std::size_t mine);
    static void doomed_party(meeting& m, std::size_t mine, patience kind, bool at_once);
    void destroy() noexcept;
    static void begin_to_close() noexcept;
    void close_at_quiescence();
    void verify() const;

    /// The order to destroy a coroutine, on its loop.
    struct doom : executor_node {
        serial_loop* loop = nullptr;
        std::coroutine_handle<> coroutine;
        std::size_t party = 0;
    };

    /// The request to cancel an operation, on its loop.
    struct cancel_request : executor_node {
        serial_loop* loop = nullptr;
        void* operation = nullptr; ///< Null unless it is in progress.
        void (*request)(void* operation) noexcept = nullptr;
        std::size_t party = 0;
    };
    template <class Core>
    struct cancellable_wait;

    shared_object waiting_; // its version counts who of `watched_` has begun
    std::uint32_t watched_ = 0;
    channel* ex_;
    doom doom_;
    cancel_request request_;
    stop_source stop_;
    std::size_t parties_ = 0;
    std::size_t loops_ = 0;
    bool what_canceller_did_ = false; ///< To be seen by whoever gets `cancelled`.
    bool what_closer_did_ = false; ///< To be seen by whoever gets `closed` by it.
    static inline bool closing = false; ///< Not in the model's memory, so not ordered by anything.
    static inline bool closing_late = false;
    std::array<serial_loop, 4> loop_;
    std::array<patience, max_parties> kinds_{};
    std::array<instant, max_parties> deadlines_{}; ///< No timeout before.
};

} // namespace tryst::model
