// SPDX-License-Identifier: MIT
/// @file
/// The cases of a selection: a waiter for each, in a tuple or in an array.
/// Standard library only. `case_array` allocates in its constructor; the rest never allocates.
#pragma once

#include <tryst/detail/meet/awaitable_operation.hpp>
#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/event_case.hpp>
#include <tryst/detail/meet/operation.hpp>
#include <tryst/detail/meet/poll_order.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/select_result.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <ranges>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace tryst::detail {

/// What `case_if` returns: an exchange that has not begun, and whether it takes part.
template <class Side>
struct conditional_case {
    exchange_proposal<Side> made;
    bool enabled;
};

/// One case: an exchange that takes place only if its selection decides for it.
template <class Side>
class selection_case : public Side::waiter {
public:
    using result_type = typename Side::result;
    static constexpr bool is_event = false;
    static constexpr bool is_shared = Side::protocol::is_shared;

    /// Takes the item and the place of an exchange that has not begun.
    explicit selection_case(operation<Side, limits<false>>&& given) noexcept
        : selection_case(&given.where(), given.take_item()) {}
    explicit selection_case(conditional_case<Side>&& given) noexcept
        : selection_case(given.enabled ? given.made.with : nullptr, std::move(given.made.item)) {}

    /// Takes the item and the place of a case that has not begun, or copies them.
    selection_case(selection_case&& other) noexcept
        : selection_case(other.protocol_, std::move(other.own())) {}
    selection_case(const selection_case& other)
        requires(std::copy_constructible<typename Side::own>)
        : selection_case(other.protocol_, typename Side::own(std::as_const(
                                              const_cast<selection_case&>(other).own()))) {}
    selection_case& operator=(const selection_case&) = delete;

    /// Identifies the exchanger; null if the case takes no part.
    const void* where() const noexcept { return protocol_; }

    bool is_closed() const noexcept { return protocol_ != nullptr && protocol_->is_closed(); }

    bool try_match() noexcept {
        return protocol_ != nullptr && protocol_->try_match_in_list(*this);
    }
    bool try_match_all() noexcept {
        return protocol_ != nullptr && protocol_->try_match_all(*this);
    }

    /// Claims a partner, or waits in the wait list.
    /// @returns whether the case is decided.
    bool enlist() noexcept {
        const bool completed = protocol_->arrive(*this, false) == arrival::completed;
        this->at = completed ? stage::finished : stage::offered;
        return completed;
    }

    /// Leaves the wait list, if the case is there.
    void leave() noexcept {
        if (this->at == stage::offered) {
            this->at = stage::finished;
            protocol_->withdraw(*this, outcome::not_selected);
        }
    }

    /// Ends the case's wait, on the owner's side. `lost` is as in `take_result`.
    void end_wait(outcome lost) noexcept {
        if (this->at != stage::created) {
            const outcome how = this->result == outcome::pending ? lost : this->result;
            TRYST_TRACE(wait_end, this, static_cast<int>(how));
            Side::observer::end_span(*this, how);
        }
    }

    /// The protocol calls this when the case takes place by the owner's own step.
    void decide() noexcept { static_cast<commitment*>(this->owner)->decide(*this); }

    /// Moves the result out. Precondition: the selection is over.
    /// @param lost  the outcome if the case did not take place.
    result_type take_result(outcome lost) noexcept {
        if (this->result == outcome::pending) {
            this->result = lost;
        }
        return Side::result_of(*this);
    }

private:
    selection_case(typename Side::protocol* with, typename Side::own&& item) noexcept
        : Side::waiter(std::move(item)), protocol_(with) {
        this->kind = waiter::kind_type::selecting;
    }

    typename Side::protocol* protocol_; ///< Null if the case takes no part.
};

/// What a case is made of: an operation or an event.
template <class Given>
auto& proposed_case(Given& given) noexcept {
    if constexpr (requires { operation_access::of(given); }) {
        return operation_access::of(given);
    } else {
        return given;
    }
}

/// Cases that are known at compile time.
template <class... Cases>
class case_tuple {
public:
    using result = select_result<typename Cases::result_type...>;
    static constexpr bool has_events = (Cases::is_event || ...);
    static constexpr bool needs_timers = (is_time_case<Cases> || ...);

    template <class... Given>
    explicit case_tuple(std::tuple<Given&...> given) noexcept
        : cases_(std::apply([](auto&... each) { return std::forward_as_tuple(std::move(each)...); },
                            given)) {
        assert(is_on_one_side_each() &&
               "tryst: a selection must not be on both sides of one exchanger");
    }

    /// Whether a completer may leave the lists for a parked owner: it takes little time, and no
    /// list is of one thread while another may bring the completer.
    static constexpr bool is_small =
        sizeof...(Cases) <= held_cases &&
        !((Cases::is_shared || ...) && ((!Cases::is_shared && !Cases::is_event) || ...));

    static constexpr std::size_t size() noexcept { return sizeof...(Cases); }
    waiter& first() noexcept { return std::get<0>(cases_); }

    /// The numbers of all cases.
    static constexpr auto numbers() noexcept {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return std::array{static_cast<std::uint8_t>(I)...};
        }(std::index_sequence_for<Cases...>());
    }

    /// Calls `f` with case `i`. @returns what `f` returns.
    template <class F>
    bool visit(std::size_t i, F& f) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            if constexpr (sizeof...(Cases) <= 4) {
                return ((i == I && f(std::get<I>(cases_))) || ...);
            } else {
                using call = bool (*)(case_tuple&, F&);
                static constexpr call calls[] = {[](case_tuple& in, F& function) {
                    return function(std::get<I>(in.cases_));
                }...};
                return calls[i](*this, f);
            }
        }(std::index_sequence_for<Cases...>());
    }

    template <class F>
    void for_each(F f) {
        std::apply([&](auto&... each) { (f(each), ...); }, cases_);
    }

    /// Calls `f` with each case in the order of registration, until it returns true.
    /// @returns whether it did.
    template <class F>
    bool register_each(poll_order polled, F& f) {
        std::array<const void*, sizeof...(Cases)> where;
        std::size_t i = 0;
        for_each([&](auto& each) { where[i++] = each.where(); });
        if (std::ranges::adjacent_find(where, std::greater_equal<>()) == where.end()) {
            return std::apply([&](auto&... each) { return (f(each) || ...); }, cases_);
        }
        auto order = numbers();
        polled.sort(order, [&](std::size_t of) { return where[of]; });
        return std::any_of(order.begin(), order.end(),
                           [&](std::size_t of) { return visit(of, f); });
    }

    result take_result(const waiter* selected, outcome lost) noexcept {
        std::size_t index = select_npos;
        std::size_t i = 0;
        for_each([&](auto& each) {
            if (&each == selected) {
                index = i;
            }
            ++i;
        });
        return std::apply([&](auto&... each) { return result(index, each.take_result(lost)...); },
                          cases_);
    }

private:
    static_assert(sizeof...(Cases) <= 255,
                  "tryst: a select has at most 255 cases; use select_from");

    /// Whether no exchanger has cases on both of its sides. For an assertion.
    bool is_on_one_side_each() const {
        struct place {
            const void* where;
            colour side;
        };
        auto places = std::apply(
            [](const auto&... each) { return std::array{place{each.where(), each.side}...}; },
            cases_);
        std::ranges::sort(places, std::less<>(), &place::where);
        return std::ranges::adjacent_find(places, [](const place& a, const place& b) {
                   return a.where == b.where && a.side != b.side && a.where != nullptr;
               }) == places.end();
    }

    std::tuple<Cases...> cases_;
};

/// Cases of one type, and so of one side, as many as a range has elements.
template <class Case>
class case_array {
    using element = Case;

public:
    using result = select_from_result<case_array>;
    using result_type = typename element::result_type;

    /// @param make  makes the exchange of an element.
    /// @throws std::bad_alloc, and what `make` throws.
    template <class Range, class Make>
    explicit case_array(std::tuple<Range&, Make&> given)
        : case_array(std::get<0>(given), std::get<1>(given)) {}
    template <class Range, class Make>
    case_array(Range& range, Make& make)
        : order_(static_cast<std::size_t>(std::ranges::distance(range))),
          cases_(std::allocator<element>().allocate(order_.size()), deleter{order_.size()}) {
        for (auto&& each : range) {
            auto given = std::invoke(make, std::forward<decltype(each)>(each));
            std::construct_at(cases_.get() + cases_.get_deleter().made,
                              std::move(detail::proposed_case(given)));
            ++cases_.get_deleter().made;
        }
    }

    static constexpr bool is_small = false;
    static constexpr bool has_events = Case::is_event;
    static constexpr bool needs_timers = is_time_case<Case>;

    std::size_t size() const noexcept { return order_.size(); }
    waiter& first() noexcept { return cases_.get()[0]; }

    auto& numbers() noexcept {
        std::iota(order_.begin(), order_.end(), 0U);
        return order_;
    }

    template <class F>
    bool visit(std::size_t i, F& f) {
        return f(cases_.get()[i]);
    }

    template <class F>
    void for_each(F f) {
        std::for_each_n(cases_.get(), size(), f);
    }

    template <class F>
    bool register_each(poll_order polled, F& f) {
        polled.sort(numbers(), [this](std::size_t of) { return cases_.get()[of].where(); });
        return std::any_of(order_.begin(), order_.end(),
                           [&](std::size_t of) { return visit(of, f); });
    }

    std::error_code error_of(std::size_t selected, outcome lost) const noexcept {
        const outcome how = selected == select_npos ? lost : cases_.get()[selected].result;
        return how == outcome::exchanged ? std::error_code()
                                         : make_error_code(static_cast<exchange_errc>(how));
    }
    result_type take_result_of(std::size_t i, outcome lost) noexcept {
        return cases_.get()[i].take_result(lost);
    }

    result take_result(const waiter* selected, outcome lost) noexcept {
        const std::size_t index =
            selected == nullptr
                ? select_npos
                : static_cast<std::size_t>(static_cast<const element*>(selected) - cases_.get());
        return result(index, lost, std::move(*this));
    }

private:
    struct deleter {
        std::size_t allocated;
        std::size_t made = 0;
        void operator()(element* cases) noexcept {
            std::destroy_n(cases, made);
            std::allocator<element>().deallocate(cases, allocated);
        }
    };

    std::vector<std::uint32_t> order_;
    std::unique_ptr<element[], deleter> cases_;
};

} // namespace tryst::detail
