// SPDX-License-Identifier: MIT
/// @file
/// Makes one exchange, one selection or one round of a set, of any exchangers, and records it. A
/// coroutine awaits it; a thread calls `wait`.
#pragma once

#include "sim/memory.hpp"
#include "sim/scene.hpp"
#include "sim/served_set.hpp"

#include <tryst/exchange_operation.hpp>
#include <tryst/select.hpp>

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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

/// What the cases of a selection are made from.
struct given_cases {
    scene& s;
    const wish& what;
    case_records& records; ///< To be filled in.
};

/// The cases of a selection, in the place of a `case_tuple`, of which there would have to be one
/// for each combination of exchangers.
class any_cases {
    template <class... Sides>
    using one_of = std::variant<std::monostate, detail::selection_case<Sides>...>;
    using any_case = of_all_sides<one_of>::type;

public:
    using result = any_cases*;

    /// Begins all cases in the scene.
    explicit any_cases(const given_cases& given) : scene_(&given.s), size_(given.what.size) {
        {
            const memory::reserve unfailing;
            order_.resize(size_);
        }
        for (std::size_t i = 0; i != size_; ++i) {
            item mine = scene_->make_item();
            records_.at(i) = &scene_->begin(given.what, i, mine.id(), records_[0]);
            given.what.where.at(i)->ex.as(given.what.colours.at(i), mine,
                                          [&](auto make, auto) { put(i, make()); });
        }
        given.records = records_;
    }

    std::size_t size() const noexcept { return size_; }
    std::vector<std::size_t>& numbers() noexcept {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        return order_;
    }
    detail::waiter& first() noexcept {
        detail::waiter* found = nullptr;
        visit(0, [&](detail::waiter& w) {
            found = &w;
            return true;
        });
        return *found;
    }

    template <class F>
    bool visit(std::size_t i, F&& f) {
        return std::visit(
            [&]<class Case>(Case& each) {
                if constexpr (std::is_same_v<Case, std::monostate>) {
                    return false;
                } else {
                    return f(each);
                }
            },
            cases_.at(i));
    }

    template <class F>
    void for_each(F f) {
        for (std::size_t i = 0; i != size_; ++i) {
            visit(i, [&](auto& each) {
                f(each);
                return false;
            });
        }
    }

    template <class F>
    bool register_each(detail::poll_order polled, F& f) {
        polled.sort(numbers(), [this](std::size_t of) {
            const void* where = nullptr;
            visit(of, [&](auto& each) {
                where = each.where();
                return true;
            });
            return where;
        });
        for (const std::size_t i : order_) {
            if (visit(i, f)) {
                return true;
            }
        }
        records_[0]->arrived = true; // from now on exchangers may be destroyed
        return false;
    }

    result take_result(const detail::waiter* /*selected*/, detail::outcome lost) noexcept {
        lost_ = lost;
        return this;
    }

    /// Enters the results in the scene. Precondition: `take_result` was called.
    void end() {
        for (std::size_t i = 0; i != size_; ++i) {
            visit(i, [&](auto& each) {
                scene_->ended(*records_.at(i), each.take_result(lost_));
                return true;
            });
        }
    }

private:
    template <class Operation>
    void put(std::size_t i, Operation operation) {
        using side = typename detail::side_of<Operation>::type;
        cases_.at(i).emplace<detail::selection_case<side>>(
            std::move(detail::operation_access::of(operation)));
    }

    scene* scene_;
    std::size_t size_;
    std::vector<std::size_t> order_; ///< Of registration.
    case_records records_{};
    detail::outcome lost_{};
    std::array<any_case, wish::most> cases_;
};

/// @tparam IsSmall  as in `case_tuple` and `case_array`.
template <bool IsSmall>
struct sized_cases : any_cases {
    using any_cases::any_cases;
    static constexpr bool is_small = IsSmall;
    static constexpr bool has_events = false;
    static constexpr bool needs_timers = false;
};

/// As `select_operation`.
template <bool IsSmall, class Limits>
class select_any : public detail::selection<sized_cases<IsSmall>, Limits> {
    using core = detail::selection<sized_cases<IsSmall>, Limits>;

public:
    using core::core;

    bool await_ready() noexcept { return core::try_match(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        return core::template start<resume>(executor_of(coroutine), coroutine.address());
    }
    any_cases& await_resume() noexcept { return *core::take_result(); }
    any_cases& wait() noexcept {
        detail::thread_wait_strategy strategy;
        return *detail::blocking_wait(static_cast<core&>(*this), strategy);
    }

private:
    static void resume(executor_node* node) noexcept {
        std::coroutine_handle<>::from_address(core::client_of(node)).resume();
    }
};

class attempt {
public:
    attempt(scene& s, const wish& what) : scene_(&s), set_(what.set) {
        const given_cases given{s, what, records_};
        if (set_ != nullptr) {
            records_ = set_->begin(what);
            limit(what, [&](auto... more) { return set_->next(std::move(more)...); });
        } else if (what.batch != wish::no_batch) {
            batch_ = s.make_batch(what.batch);
            // An empty batch needs a number, too.
            const long first = batch_.empty() ? s.make_item().id() : batch_.front().id();
            records_[0] = &s.begin(what, 0, first, nullptr);
            what.where[0]->ex.as_batch(what.colours[0], batch_,
                                       [&](auto make) { limit(what, make); });
        } else if (what.size == 1) {
            item mine = s.make_item();
            records_[0] = &s.begin(what, 0, mine.id(), nullptr);
            what.where[0]->ex.as(what.colours[0], mine,
                                 [&](auto make, auto) { limit(what, make); });
        } else if (what.is_small) {
            limit(what, [&](auto... more) { return select<true>(what, given, more...); });
        } else {
            limit(what, [&](auto... more) { return select<false>(what, given, more...); });
        }
    }
    attempt(const attempt&) = delete;
    attempt& operator=(const attempt&) = delete;
    ~attempt() {
        operation_.reset();
        for (record* const each : records_) {
            if (each != nullptr && !each->ended) {
                scene_->abandoned(*each);
            }
        }
    }

    bool await_ready() noexcept {
        return operation_->visit([](auto& op) noexcept { return op.await_ready(); });
    }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        const case_records known = records_; // outlives us
        for (record* const each : known) {
            if (each != nullptr) {
                each->frame = where_ ? nullptr : coroutine.address();
            }
        }
        scene& s = *scene_;
        const bool suspended =
            operation_->visit([&](auto& op) noexcept { return op.await_suspend(coroutine); });
        for (record* const each : known) {
            if (suspended && each != nullptr) {
                s.suspended(*each);
            }
        }
        if (known[1] == nullptr) { // a selection says when it has arrived
            known[0]->arrived = true;
        }
        return suspended;
    }

    /// @returns the partner's number, or 0.
    long await_resume() {
        const long partner = operation_->visit([&](auto& op) {
            auto&& result = op.await_resume();
            return end(result);
        });
        if (where_ && current_executor() != where_) {
            fail("a coroutine goes on elsewhere than it awaited");
        }
        return partner;
    }

    long wait() {
        tell_when_waiting(records_[1] == nullptr ? &records_[0]->arrived : nullptr);
        return operation_->visit([&](auto& op) {
            auto&& result = op.wait();
            tell_when_waiting(nullptr);
            return end(result);
        });
    }

private:
    template <class T, class Own>
    long end(const exchange_result<T, Own>& result) {
        scene_->ended(*records_[0], result);
        if constexpr (!std::is_void_v<T>) {
            return result ? result->id() : 0;
        }
        return 0;
    }
    long end(const exchange_result<void, std::span<item>>& result) {
        scene_->ended(*records_[0], result, batch_);
        return 0;
    }
    long end(const exchange_result<std::size_t, void>& result) {
        scene_->ended(*records_[0], result, batch_);
        return 0;
    }
    long end(any_cases& results) {
        results.end();
        return 0;
    }
    long end(served_set::result& result) {
        set_->end(records_, result);
        return 0;
    }

    /// Makes the operation that has these limits.
    template <class Make>
    void limit(const wish& what, Make make) {
        const bool stops = what.stop != nullptr;
        const detail::stop_token stop = stops ? stop_token(*what.stop->source) : stop_token();
        const detail::clock::time_point deadline(what.patience);
        switch (what.how) {
        case wish::way::tries:
            fail("a try does not wait");
        case wish::way::waits:
            stops ? build([&] { return make(stop); }) : build([&] { return make(); });
            break;
        case wish::way::waits_for:
            stops ? build([&] { return make(what.patience, stop); })
                  : build([&] { return make(what.patience); });
            break;
        case wish::way::waits_until:
            stops ? build([&] { return make(deadline, stop); })
                  : build([&] { return make(deadline); });
            break;
        }
    }

    template <bool IsSmall, class... Limit>
    static auto select(const wish& what, const given_cases& given, Limit... limit) {
        return select_any<IsSmall, detail::limits_of<Limit...>>(what.is_biased, given,
                                                                std::move(limit)...);
    }

    template <class Make>
    void build(Make make) {
        operation_.emplace();
        operation_->emplace(make);
    }

    using stop_limit = detail::stop_token;
    template <class... Sides>
    using any_operation =
        some_operation<exchange_operation<Sides, detail::limits<false>>...,
                       exchange_operation<Sides, detail::limits<false, stop_limit>>...,
                       exchange_operation<Sides, detail::limits<true>>...,
                       exchange_operation<Sides, detail::limits<true, stop_limit>>...,
                       select_any<true, detail::limits<false>>,
                       select_any<true, detail::limits<false, stop_limit>>,
                       select_any<true, detail::limits<true>>,
                       select_any<true, detail::limits<true, stop_limit>>,
                       select_any<false, detail::limits<false>>,
                       select_any<false, detail::limits<false, stop_limit>>,
                       select_any<false, detail::limits<true>>,
                       select_any<false, detail::limits<true, stop_limit>>,
                       decltype(std::declval<served_set&>().next()),
                       decltype(std::declval<served_set&>().next(stop_limit())),
                       decltype(std::declval<served_set&>().next(instant())),
                       decltype(std::declval<served_set&>().next(instant(), stop_limit()))>;

    scene* scene_;
    served_set* set_;
    executor_ref where_ = current_executor();
    case_records records_{};
    std::vector<item> batch_;
    std::optional<
        of_all_sides<any_operation, light_sides::batch_sender, light_sides::batch_receiver,
                     heavy_sides::batch_sender, heavy_sides::batch_receiver>::type>
        operation_;
};

/// Exchanges, selects or looks at a set, but does not wait.
inline void try_once(scene& s, const wish& what) {
    if (what.set != nullptr) {
        what.set->try_next(what);
        return;
    }
    if (what.size == 1) {
        s.try_once(*what.where[0], what.colours[0]);
        return;
    }
    case_records records{};
    const given_cases given{s, what, records};
    detail::selection<sized_cases<true>, detail::limits<false>> polled(what.is_biased, given);
    polled.try_once(detail::outcome::no_partner);
    polled.take_result()->end();
}

} // namespace tryst::sim
