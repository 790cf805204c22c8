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

template <class...>
struct types {};
template <class... First, class... Second>
types<First..., Second...> operator+(types<First...>, types<Second...>);

/// Holds an operation of one of several types, in place.
template <class>
class some_operation;
template <class... Operations>
class some_operation<types<Operations...>> {
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
    using one_of =
        std::variant<std::monostate, detail::stop_case<stop_token>, detail::time_case<instant>,
                     detail::time_case<detail::clock::time_point>,
                     detail::selection_case<Sides>...>;
    using any_case = of_all_sides<one_of>::type;

public:
    using result = any_cases*;

    /// Begins all cases in the scene.
    explicit any_cases(const given_cases& given) : scene_(&given.s) {
        const wish& what = given.what;
        {
            const memory::reserve unfailing;
            order_.reserve(cases_.size());
        }
        for (; size_ != what.size; ++size_) {
            item mine = scene_->make_item();
            records_.at(size_) = &scene_->begin(what, size_, mine.id(), records_[0]);
            what.where.at(size_)->ex.as(what.colours.at(size_), mine,
                                        [&](auto make, auto) { put(make()); });
        }
        if (what.event != event::none) {
            records_.at(size_) = &scene_->begin_event(what, *records_[0]);
            put_event(what);
            ++size_;
        }
        if (what.absent != nullptr) {
            item mine = scene_->make_item();
            absent_ = mine.id();
            what.absent->ex.as(what.absent_colour, mine,
                               [&](auto make, auto) { put(case_if(false, make())); });
            ++size_;
        }
        given.records = records_;
    }

    std::size_t size() const noexcept { return size_; }
    std::vector<std::size_t>& numbers() noexcept {
        order_.resize(size_); // within its capacity
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
                auto ended = each.take_result(lost_);
                records_.at(i) != nullptr ? scene_->ended(*records_.at(i), ended)
                                          : check_absent(ended);
                return true;
            });
        }
    }

private:
    template <class Given>
    void put(Given given) {
        cases_.at(size_).emplace<typename detail::case_type<Given>::type>(
            std::move(detail::proposed_case(given)));
    }

    void put_event(const wish& what) {
        if (what.event == event::stop) {
            put(stopped(stop_token(*what.event_stop->source)));
        } else if (what.event_is_relative) {
            put(sleep_for(what.event_time));
        } else {
            using time_point = detail::clock::time_point;
            put(detail::sleep<time_point>(time_point(what.event_time)));
        }
    }

    template <class T, class Own>
    void check_absent(const exchange_result<T, Own>& ended) const {
        if (ended || ended.error() == exchange_errc::closed) {
            fail("a case that takes no part took place");
        }
        if constexpr (!std::is_void_v<Own>) {
            if (ended.returned().id() != absent_) {
                fail("a case that takes no part has another item than its own");
            }
        }
    }

    scene* scene_;
    std::size_t size_ = 0;
    std::vector<std::size_t> order_; ///< Of registration.
    case_records records_{};
    long absent_ = 0; ///< What the case holds that takes no part.
    detail::outcome lost_{};
    std::array<any_case, wish::most + 2> cases_;
};

/// @tparam IsSmall  as in `case_tuple` and `case_array`.
template <bool IsSmall, event Event>
struct sized_cases : any_cases {
    using any_cases::any_cases;
    static constexpr bool is_small = IsSmall;
    static constexpr bool has_events = Event != event::none;
    static constexpr bool needs_timers = Event == event::time;
};

/// As `select_operation`.
template <bool IsSmall, event Event, class Limits>
class select_any : public detail::selection<sized_cases<IsSmall, Event>, Limits> {
    using core = detail::selection<sized_cases<IsSmall, Event>, Limits>;

public:
    using core::core;

    bool await_ready() noexcept { return core::try_match(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        return core::template start<resume>(executor_of(coroutine), coroutine.address());
    }
    any_cases& await_resume() noexcept { return *core::take_result(); }
    any_cases& wait(detail::location) noexcept {
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
        } else if (!what.selects()) {
            item mine = s.make_item();
            records_[0] = &s.begin(what, 0, mine.id(), nullptr);
            what.where[0]->ex.as(what.colours[0], mine,
                                 [&](auto make, auto) { limit(what, make); });
        } else {
            select(given);
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

    long wait(detail::location where) {
        tell_when_waiting(records_[1] == nullptr ? &records_[0]->arrived : nullptr);
        return operation_->visit([&](auto& op) {
            auto&& result = op.wait(where);
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
    /// @tparam AlwaysStops  a token that never stops takes the place of none.
    template <bool AlwaysStops = false, class Make>
    void limit(const wish& what, Make make) {
        switch (what.how) {
        case wish::way::tries:
            fail("a try does not wait");
        case wish::way::waits:
            return limit_stop<AlwaysStops>(what, make);
        case wish::way::waits_for:
            return limit_stop<AlwaysStops>(what, make, what.patience);
        case wish::way::waits_until:
            return limit_stop<AlwaysStops>(what, make, detail::clock::time_point(what.patience));
        }
    }
    template <bool AlwaysStops, class Make, class... Time>
    void limit_stop(const wish& what, Make& make, Time... time) {
        if constexpr (!AlwaysStops) {
            if (what.stop == nullptr) {
                return build([&] { return make(time...); });
            }
        }
        build([&] {
            return make(time...,
                        what.stop == nullptr ? stop_token() : stop_token(*what.stop->source));
        });
    }

    void select(const given_cases& given) {
        switch (given.what.event) { // not all combinations, so that it compiles faster
        case event::none:
            given.what.is_small ? select<true, event::none>(given)
                                : select<false, event::none>(given);
            break;
        case event::stop:
            select<true, event::stop>(given);
            break;
        case event::time:
            select<false, event::time>(given);
            break;
        }
    }
    template <bool IsSmall, event Event>
    void select(const given_cases& given) {
        limit<Event != event::none>(given.what, [&](auto... more) {
            return select_any<IsSmall, Event, detail::limits_of<decltype(more)...>>(
                given.what.is_biased, given, std::move(more)...);
        });
    }

    template <class Make>
    void build(Make make) {
        operation_.emplace();
        operation_->emplace(make);
    }

    template <template <class> class Of>
    using with_each_limits = types<Of<detail::limits<false>>, Of<detail::limits<false, stop_token>>,
                                   Of<detail::limits<true>>, Of<detail::limits<true, stop_token>>>;
    template <template <class> class Of>
    using with_each_time =
        types<Of<detail::limits<false, stop_token>>, Of<detail::limits<true, stop_token>>>;
    template <event Event>
    struct selections {
        template <class Limits>
        using small = select_any<true, Event, Limits>;
        template <class Limits>
        using large = select_any<false, Event, Limits>;
    };
    template <class Side>
    struct exchanges {
        template <class Limits>
        using with = exchange_operation<Side, Limits>;
    };
    template <class... Sides>
    using any_operation =
        decltype((with_each_limits<exchanges<Sides>::template with>() + ...) +
                 with_each_limits<selections<event::none>::template small>() +
                 with_each_limits<selections<event::none>::template large>() +
                 with_each_time<selections<event::stop>::template small>() +
                 with_each_time<selections<event::time>::template large>() +
                 types<decltype(std::declval<served_set&>().next()),
                       decltype(std::declval<served_set&>().next(stop_token())),
                       decltype(std::declval<served_set&>().next(instant())),
                       decltype(std::declval<served_set&>().next(instant(), stop_token()))>());

    scene* scene_;
    served_set* set_;
    executor_ref where_ = current_executor();
    case_records records_{};
    std::vector<item> batch_;
    std::optional<some_operation<
        of_all_sides<any_operation, light_sides::batch_sender, light_sides::batch_receiver,
                     heavy_sides::batch_sender, heavy_sides::batch_receiver>::type>>
        operation_;
};

/// Exchanges, selects or looks at a set, but does not wait.
inline void try_once(scene& s, const wish& what) {
    if (what.set != nullptr) {
        what.set->try_next(what);
        return;
    }
    if (!what.selects()) {
        s.try_once(*what.where[0], what.colours[0]);
        return;
    }
    case_records records{};
    const given_cases given{s, what, records};
    detail::selection<sized_cases<true, event::time>, detail::limits<false>> polled(what.is_biased,
                                                                                    given);
    polled.try_once(detail::outcome::no_partner);
    polled.take_result()->end();
}

} // namespace tryst::sim
