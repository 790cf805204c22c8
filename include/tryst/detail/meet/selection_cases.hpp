// SPDX-License-Identifier: MIT
/// @file
/// The cases of a selection: a waiter for each, in a tuple or in an array.
/// Standard library only. `case_array` allocates in its constructor; the rest never allocates.
#pragma once

#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/event_case.hpp>
#include <tryst/detail/meet/poll_order.hpp>
#include <tryst/detail/meet/selection_case.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/select_result.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace tryst::detail {

// ---- No templates, so that they are compiled once for all selections.

/// Where a case is, and on which side.
struct case_place {
    const void* where;
    colour side;
};

/// Whether no exchanger has cases on both of its sides. For an assertion.
inline bool are_on_one_side_each(std::span<case_place> places) noexcept {
    std::ranges::sort(places, std::less<>(), &case_place::where);
    return std::ranges::adjacent_find(places, [](const case_place& a, const case_place& b) {
               return a.where == b.where && a.side != b.side && a.where != nullptr;
           }) == places.end();
}

/// As `poll_order::sort`.
inline void sort_by_place(poll_order polled, std::span<std::uint8_t> numbers,
                          std::span<const void* const> where) noexcept {
    polled.sort(numbers, [where](std::size_t of) { return where[of]; });
}

template <bool AreEqual, class Numbers, class... Cases>
class cases_together;

/// Cases of several types. Not a `std::tuple`, which takes a compiler longer.
template <std::size_t I, class Case>
struct case_leaf {
    Case one;
};
template <std::size_t... I, class... Cases>
class cases_together<false, std::index_sequence<I...>, Cases...> : case_leaf<I, Cases>... {
public:
    template <class... Given>
    explicit cases_together(std::tuple<Given&...>& given) noexcept
        : case_leaf<I, Cases>{Cases(std::move(std::get<I>(given)))}... {}

    /// Calls `f` with all cases.
    template <class F>
    decltype(auto) apply(F f) {
        return f(case_leaf<I, Cases>::one...);
    }
    /// Calls `f` with case `i`. @returns what `f` returns.
    template <class F>
    bool visit(std::size_t i, F& f) {
        if constexpr (sizeof...(Cases) <= 4) {
            return ((i == I && f(case_leaf<I, Cases>::one)) || ...);
        } else {
            using call = bool (*)(cases_together&, F&);
            static constexpr call calls[] = {[](cases_together& in, F& function) {
                return function(in.case_leaf<I, Cases>::one);
            }...};
            return calls[i](*this, f);
        }
    }
    template <class F>
    void for_each(F f) {
        (f(case_leaf<I, Cases>::one), ...);
    }
    /// Calls `f` with each case, until it returns true. @returns whether it did.
    template <class F>
    bool any_of(F& f) {
        return (f(case_leaf<I, Cases>::one) || ...);
    }
};

/// Cases of one type: the same, in loops, which is less code.
template <std::size_t... I, class Case, class... Others>
class cases_together<true, std::index_sequence<I...>, Case, Others...> {
public:
    template <class... Given>
    explicit cases_together(std::tuple<Given&...>& given) noexcept
        : all_{Case(std::move(std::get<I>(given)))...} {}

    template <class F>
    decltype(auto) apply(F f) {
        return f(all_[I]...);
    }
    template <class F>
    bool visit(std::size_t i, F& f) {
        return f(all_[i]);
    }
    template <class F>
    void for_each(F f) {
        for (Case& each : all_) {
            f(each);
        }
    }
    template <class F>
    bool any_of(F& f) {
        for (Case& each : all_) {
            if (f(each)) {
                return true;
            }
        }
        return false;
    }

private:
    std::array<Case, sizeof...(I)> all_;
};

// Two are faster apart.
template <class... Cases>
using case_tuple_base = cases_together<(sizeof...(Cases) > 2 && all_same<Cases...>),
                                       std::index_sequence_for<Cases...>, Cases...>;

/// Cases that are known at compile time.
template <class... Cases>
class case_tuple : case_tuple_base<Cases...> {
    using base = case_tuple_base<Cases...>;

public:
    using result = select_result<typename Cases::result_type...>;
    static constexpr bool has_events = (Cases::is_event || ...);
    static constexpr bool needs_timers = (is_time_case<Cases> || ...);

    template <class... Given>
    explicit case_tuple(std::tuple<Given&...> given) noexcept : base(given) {
        assert(is_on_one_side_each() &&
               "tryst: a selection must not be on both sides of one exchanger");
    }

    /// Whether a completer may leave the lists for a parked owner: it takes little time, and no
    /// list is of one thread while another may bring the completer.
    static constexpr bool is_small =
        sizeof...(Cases) <= held_cases &&
        !((Cases::is_shared || ...) && ((!Cases::is_shared && !Cases::is_event) || ...));

    static constexpr std::size_t size() noexcept { return sizeof...(Cases); }
    waiter& first() noexcept {
        return base::apply([](waiter& first, auto&...) -> waiter& { return first; });
    }

    /// The numbers of all cases.
    static constexpr auto numbers() noexcept {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return std::array{static_cast<std::uint8_t>(I)...};
        }(std::index_sequence_for<Cases...>());
    }

    using base::for_each;
    using base::visit;

    /// Calls `f` with each case in the order of registration, until it returns true.
    /// @returns whether it did.
    template <class F>
    bool register_each(poll_order polled, F& f) {
        const void* previous = nullptr;
        bool ascending = true;
        base::for_each([&](auto& each) {
            ascending = ascending && std::less<>()(previous, each.where());
            previous = each.where();
        });
        if (ascending) {
            return base::any_of(f);
        }
        const std::array where =
            base::apply([](auto&... each) { return std::array{each.where()...}; });
        auto order = numbers();
        detail::sort_by_place(polled, order, where);
        for (const std::size_t of : order) {
            if (base::visit(of, f)) {
                return true;
            }
        }
        return false;
    }

    result take_result(const waiter* selected, outcome lost) noexcept {
        std::size_t index = select_npos;
        std::size_t i = 0;
        base::for_each([&](auto& each) {
            if (&each == selected) {
                index = i;
            }
            ++i;
        });
        return base::apply([&](auto&... each) { return result(index, each.take_result(lost)...); });
    }

private:
    static_assert(sizeof...(Cases) <= 255,
                  "tryst: a select has at most 255 cases; use select_from");

    bool is_on_one_side_each() {
        std::array places = base::apply(
            [](auto&... each) { return std::array{case_place{each.where(), each.side}...}; });
        return detail::are_on_one_side_each(places);
    }
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
