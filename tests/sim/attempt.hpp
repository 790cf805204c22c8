// SPDX-License-Identifier: MIT
/// @file
/// Makes one operation of any kind, and records it. A coroutine awaits it; a thread calls `wait`.
#pragma once

#include "sim/scene.hpp"

#include <tryst/exchange_operation.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tryst::sim {

/// Holds an operation of one of several types, in place.
template <class... Operations>
class some_operation {
public:
    some_operation() = default;
    some_operation(const some_operation&) = delete;
    some_operation& operator=(const some_operation&) = delete;
    ~some_operation() {
        visit([](auto& op) noexcept { std::destroy_at(&op); });
    }

    /// What `make` makes. Once.
    template <class Make>
    void emplace(Make make) {
        using operation = std::invoke_result_t<Make>;
        static_assert((std::is_same_v<operation, Operations> || ...));
        ::new (static_cast<void*>(room_.data())) operation(make());
        std::size_t index = 0;
        static_cast<void>(((std::is_same_v<operation, Operations> || (++index, false)) || ...));
        which_ = index;
    }

    template <class Visitor>
    auto visit(Visitor visitor) {
        using first = std::tuple_element_t<0, std::tuple<Operations...>>;
        using result = std::invoke_result_t<Visitor, first&>;
        using call = result (*)(void*, Visitor&);
        static constexpr std::array<call, sizeof...(Operations)> calls{
            [](void* op, Visitor& v) -> result { return v(*static_cast<Operations*>(op)); }...};
        return calls.at(which_)(room_.data(), visitor);
    }

private:
    std::size_t which_ = 0;
    alignas(Operations...) std::array<std::byte, std::max({sizeof(Operations)...})> room_;
};

class attempt {
    using colour = detail::colour;
    template <class Side>
    using plain = exchange_operation<Side, detail::limits<false>>;
    template <class Side>
    using stoppable = exchange_operation<Side, detail::limits<false, detail::stop_token>>;
    template <class Side>
    using timed = exchange_operation<Side, detail::limits<true>>;
    template <class Side>
    using limited = exchange_operation<Side, detail::limits<true, detail::stop_token>>;

    template <class... Sides>
    using all_of =
        some_operation<plain<Sides>..., stoppable<Sides>..., timed<Sides>..., limited<Sides>...>;
    template <class WaitList, colour Colour>
    using side = detail::side<WaitList, item, item, Colour>;
    using counting = detail::observer<counted>;

public:
    attempt(scene& s, meeting& where, const wish& what) : scene_(&s) {
        item mine = s.make_item();
        record_ = &s.begin(where, what, mine.id());
        where.ex.visit([&](auto& ex) { make(ex, what, std::move(mine)); });
    }
    attempt(const attempt&) = delete;
    attempt& operator=(const attempt&) = delete;
    ~attempt() {
        operation_.reset();
        if (!record_->ended) {
            scene_->abandoned(*record_);
        }
    }

    bool await_ready() noexcept {
        return operation_->visit([](auto& op) noexcept { return op.await_ready(); });
    }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        record& known = *record_; // outlives us
        known.frame = where_ ? nullptr : coroutine.address();
        scene& s = *scene_;
        const bool suspended =
            operation_->visit([&](auto& op) noexcept { return op.await_suspend(coroutine); });
        if (suspended) {
            s.suspended(known);
        }
        known.arrived = true;
        return suspended;
    }

    /// @returns the partner's number, or 0.
    long await_resume() {
        const long partner = operation_->visit([&](auto& op) { return end(op.await_resume()); });
        if (where_ && current_executor() != where_) {
            fail("a coroutine goes on elsewhere than it awaited");
        }
        return partner;
    }

    long wait() {
        tell_when_waiting(&record_->arrived);
        return operation_->visit([&](auto& op) {
            auto result = op.wait();
            tell_when_waiting(nullptr);
            return end(result);
        });
    }

private:
    template <class T, class Own>
    long end(const exchange_result<T, Own>& result) {
        scene_->ended(*record_, result);
        if constexpr (!std::is_void_v<T>) {
            return result ? result->id() : 0;
        }
        return 0;
    }

    /// Makes the operation that has these limits.
    template <class Endless, class Lasting, class Until>
    void limit(const wish& what, Endless endless, Lasting lasting, Until until) {
        const detail::clock::time_point deadline(what.patience);
        switch (what.how) {
        case wish::way::tries:
            fail("a try does not wait");
        case wish::way::waits:
            if (what.stop != nullptr) {
                build([&] { return endless(record_->stop); });
            } else {
                build([&] { return endless(); });
            }
            break;
        case wish::way::waits_for:
            if (what.stop != nullptr) {
                build([&] { return lasting(what.patience, record_->stop); });
            } else {
                build([&] { return lasting(what.patience); });
            }
            break;
        case wish::way::waits_until:
            if (what.stop != nullptr) {
                build([&] { return until(deadline, record_->stop); });
            } else {
                build([&] { return until(deadline); });
            }
            break;
        }
    }

    template <class Make>
    void build(Make make) {
        operation_.emplace();
        operation_->emplace(make);
    }

    template <without_colours Exchanger>
    void make(Exchanger& ex, const wish& what, item&& mine) {
        limit(
            what, [&](auto... more) { return ex.exchange(std::move(mine), more...); },
            [&](auto... more) { return ex.exchange(std::move(mine), more...); },
            [&](auto... more) { return ex.exchange(std::move(mine), more...); });
    }
    template <class Exchanger>
    void make(Exchanger& ex, const wish& what, item&& mine) {
        if (what.colour == history::colour::red) {
            limit(
                what, [&](auto... more) { return ex.red(std::move(mine), more...); },
                [&](auto... more) { return ex.red(std::move(mine), more...); },
                [&](auto... more) { return ex.red(std::move(mine), more...); });
        } else {
            limit(
                what, [&](auto... more) { return ex.blue(std::move(mine), more...); },
                [&](auto... more) { return ex.blue(std::move(mine), more...); },
                [&](auto... more) { return ex.blue(std::move(mine), more...); });
        }
    }
    void make(item_channel& ex, const wish& what, item&& mine) {
        if (what.colour == history::colour::red) {
            limit(
                what, [&](auto... more) { return ex.send(std::move(mine), more...); },
                [&](auto... more) { return ex.send(std::move(mine), more...); },
                [&](auto... more) { return ex.send(std::move(mine), more...); });
        } else {
            limit(
                what, [&](auto... more) { return ex.receive(more...); },
                [&](auto... more) { return ex.receive(more...); },
                [&](auto... more) { return ex.receive(more...); });
        }
    }

    scene* scene_;
    record* record_ = nullptr;
    executor_ref where_ = current_executor();
    std::optional<all_of<
        detail::side<detail::single_slot, item>, side<detail::dual_queue, colour::red>,
        side<detail::dual_queue, colour::blue>, side<detail::basic_dual_queue<1>, colour::red>,
        side<detail::basic_dual_queue<1>, colour::blue>, side<detail::dual_stack, colour::red>,
        side<detail::dual_stack, colour::blue>,
        detail::side<detail::dual_queue, item, void, colour::red>,
        detail::side<detail::dual_queue, void, item, colour::blue>,
        detail::side<detail::single_slot, item, item, colour::none, counting>,
        detail::side<detail::dual_stack, item, item, colour::red, counting>,
        detail::side<detail::dual_stack, item, item, colour::blue, counting>>>
        operation_;
};

} // namespace tryst::sim
