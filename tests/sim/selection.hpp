// SPDX-License-Identifier: MIT
/// @file
/// Makes one selection between exchangers of any kinds, and records it. A coroutine awaits it; a
/// thread calls `wait`.
#pragma once

#include "sim/attempt.hpp"
#include "sim/memory.hpp"
#include "sim/scene.hpp"

#include <tryst/select.hpp>

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tryst::sim {

/// What the cases of a selection are made from.
struct given_cases {
    scene& s;
    const selection_wish& what;
    std::array<record*, selection_wish::most>& records; ///< To be filled in.
};

/// The cases of a selection, in the place of a `case_tuple`, of which there would have to be one
/// for each combination of exchangers.
class any_cases {
    using colour = detail::colour;
    template <class WaitList, class Own, class Theirs, colour Colour,
              class Observer = detail::observer<>>
    using one_of = detail::selection_case<detail::side<WaitList, Own, Theirs, Colour, Observer>>;
    using counting = detail::observer<counted>;
    template <class WaitList>
    using red = one_of<WaitList, item, item, colour::red>;
    template <class WaitList>
    using blue = one_of<WaitList, item, item, colour::blue>;
    using any_case =
        std::variant<std::monostate, one_of<detail::single_slot, item, item, colour::none>,
                     red<detail::dual_queue>, blue<detail::dual_queue>,
                     red<detail::basic_dual_queue<1>>, blue<detail::basic_dual_queue<1>>,
                     red<detail::dual_stack>, blue<detail::dual_stack>,
                     one_of<detail::dual_queue, item, void, colour::red>,
                     one_of<detail::dual_queue, void, item, colour::blue>,
                     one_of<detail::single_slot, item, item, colour::none, counting>,
                     one_of<detail::dual_stack, item, item, colour::red, counting>,
                     one_of<detail::dual_stack, item, item, colour::blue, counting>>;

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
            records_.at(i) = &scene_->begin_case(given.what, i, mine.id(), records_[0]);
            given.what.where.at(i)->ex.visit(
                [&](auto& ex) { make(i, ex, given.what.colours.at(i), std::move(mine)); });
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

    template <without_colours Exchanger>
    void make(std::size_t i, Exchanger& ex, history::colour, item&& mine) {
        put(i, ex.exchange(std::move(mine)));
    }
    template <class Exchanger>
    void make(std::size_t i, Exchanger& ex, history::colour as, item&& mine) {
        as == history::colour::red ? put(i, ex.red(std::move(mine)))
                                   : put(i, ex.blue(std::move(mine)));
    }
    void make(std::size_t i, item_channel& ex, history::colour as, item&& mine) {
        as == history::colour::red ? put(i, ex.send(std::move(mine))) : put(i, ex.receive());
    }

    scene* scene_;
    std::size_t size_;
    std::vector<std::size_t> order_; ///< Of registration.
    std::array<record*, selection_wish::most> records_{};
    detail::outcome lost_{};
    std::array<any_case, selection_wish::most> cases_;
};

/// @tparam IsSmall  as in `case_tuple` and `case_array`.
template <bool IsSmall>
struct sized_cases : any_cases {
    using any_cases::any_cases;
    static constexpr bool is_small = IsSmall;
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

class selection_attempt {
public:
    selection_attempt(scene& s, const selection_wish& what) : scene_(&s) {
        const given_cases given{s, what, records_};
        const wish& limits = what.limits;
        const detail::clock::time_point deadline(limits.patience);
        const bool stops = limits.stop != nullptr;
        switch (limits.how) {
        case wish::way::tries:
            fail("a try does not wait");
        case wish::way::waits:
            stops ? build<false, detail::stop_token>(what, given, token(what))
                  : build<false>(what, given);
            break;
        case wish::way::waits_for:
            stops ? build<true, detail::stop_token>(what, given, limits.patience, token(what))
                  : build<true>(what, given, limits.patience);
            break;
        case wish::way::waits_until:
            stops ? build<true, detail::stop_token>(what, given, deadline, token(what))
                  : build<true>(what, given, deadline);
            break;
        }
    }
    selection_attempt(const selection_attempt&) = delete;
    selection_attempt& operator=(const selection_attempt&) = delete;
    ~selection_attempt() {
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
        const auto known = records_; // outlives us
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
        return suspended;
    }

    void await_resume() {
        operation_->visit([](auto& op) { op.await_resume().end(); });
        if (where_ && current_executor() != where_) {
            fail("a coroutine goes on elsewhere than it awaited");
        }
    }

    void wait() {
        operation_->visit([](auto& op) { op.wait().end(); });
    }

private:
    static detail::stop_token token(const selection_wish& what) {
        return what.limits.stop->source.get_token();
    }

    template <bool Timed, class... Stop, class... Limit>
    void build(const selection_wish& what, const given_cases& given, Limit... limit) {
        using limits = detail::limits<Timed, Stop...>;
        operation_.emplace();
        if (what.is_small) {
            operation_->emplace([&] {
                return select_any<true, limits>(what.is_biased, given, std::move(limit)...);
            });
        } else {
            operation_->emplace([&] {
                return select_any<false, limits>(what.is_biased, given, std::move(limit)...);
            });
        }
    }

    scene* scene_;
    executor_ref where_ = current_executor();
    std::array<record*, selection_wish::most> records_{};
    template <class... Limits>
    using all_of = some_operation<select_any<true, Limits>..., select_any<false, Limits>...>;
    std::optional<all_of<detail::limits<false>, detail::limits<false, detail::stop_token>,
                         detail::limits<true>, detail::limits<true, detail::stop_token>>>
        operation_;
};

/// A selection that does not wait.
inline void try_select_once(scene& s, const selection_wish& what) {
    std::array<record*, selection_wish::most> records{};
    const given_cases given{s, what, records};
    detail::selection<sized_cases<true>, detail::limits<false>> polled(what.is_biased, given);
    polled.try_once(detail::outcome::no_partner);
    polled.take_result()->end();
}

} // namespace tryst::sim
