// SPDX-License-Identifier: MIT
/// @file
/// One operation of any kind, made and watched: to be awaited by a coroutine, or to `wait` for on a thread.
#pragma once

#include "sim/scene.hpp"

#include <tryst/exchange_operation.hpp>

#include <chrono>
#include <coroutine>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tryst::sim {

class attempt {
    using side = detail::side<detail::single_home, item>;
    using plain = exchange_operation<side, detail::limits<false>>;
    using stoppable = exchange_operation<side, detail::limits<false, detail::stop_token>>;
    using timed = exchange_operation<side, detail::limits<true>>;
    using limited = exchange_operation<side, detail::limits<true, detail::stop_token>>;

    template <class Visitor>
    std::invoke_result_t<Visitor, plain&> visit(Visitor visitor) {
        if (timed_) {
            return stoppable_ ? visitor(as_limited) : visitor(as_timed);
        }
        return stoppable_ ? visitor(as_stoppable) : visitor(as_plain);
    }

public:
    attempt(scene& s, meeting& where, const wish& what) : scene_(&s), timed_(is_timed(what)) {
        item mine = s.make_item();
        record_ = &s.begin(where, what, mine.id());
        stoppable_ = what.stop != nullptr;
        make(*where.ex, what, std::move(mine));
    }
    attempt(const attempt&) = delete;
    attempt& operator=(const attempt&) = delete;
    ~attempt() {
        visit([](auto& op) noexcept { std::destroy_at(&op); });
        if (!record_->ended) {
            scene_->abandoned(*record_);
        }
    }

    bool await_ready() noexcept {
        return visit([](auto& op) noexcept { return op.await_ready(); });
    }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        record& known = *record_; // outlives us
        const bool suspended =
            visit([&](auto& op) noexcept { return op.await_suspend(coroutine); });
        known.arrived = true;
        return suspended;
    }

    exchange_result<item> await_resume() {
        exchange_result<item> result = visit([](auto& op) noexcept { return op.await_resume(); });
        scene_->ended(*record_, result);
        if (where_ && current_executor() != where_) {
            fail("a coroutine goes on elsewhere than it awaited");
        }
        return result;
    }

    exchange_result<item> wait() {
        tell_when_waiting(&record_->arrived);
        exchange_result<item> result = visit([](auto& op) noexcept { return op.wait(); });
        tell_when_waiting(nullptr);
        scene_->ended(*record_, result);
        return result;
    }

private:
    static bool is_timed(const wish& what) noexcept { return what.how != wish::way::waits; }

    void make(exchanger<item>& ex, const wish& what, item mine) {
        const detail::clock::time_point deadline(what.patience);
        switch (what.how) {
        case wish::way::tries:
            fail("whoever tries does not wait");
        case wish::way::waits:
            stoppable_
                ? build(as_stoppable, [&] { return ex.exchange(std::move(mine), record_->stop); })
                : build(as_plain, [&] { return ex.exchange(std::move(mine)); });
            break;
        case wish::way::waits_for:
            stoppable_
                ? build(as_limited,
                        [&] {
                            return ex.exchange_for(std::move(mine), what.patience, record_->stop);
                        })
                : build(as_timed, [&] { return ex.exchange_for(std::move(mine), what.patience); });
            break;
        case wish::way::waits_until:
            stoppable_
                ? build(as_limited,
                        [&] { return ex.exchange_until(std::move(mine), deadline, record_->stop); })
                : build(as_timed, [&] { return ex.exchange_until(std::move(mine), deadline); });
            break;
        }
    }

    template <class Operation, class Make>
    static void build(Operation& place, Make make) {
        ::new (static_cast<void*>(&place)) Operation(make());
    }

    scene* scene_;
    record* record_ = nullptr;
    executor_ref where_ = current_executor();
    bool timed_;
    bool stoppable_ = false;
    union {
        plain as_plain;
        stoppable as_stoppable;
        timed as_timed;
        limited as_limited;
    };
};

} // namespace tryst::sim
