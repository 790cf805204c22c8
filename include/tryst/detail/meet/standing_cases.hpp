// SPDX-License-Identifier: MIT
/// @file
/// The cases of a set.
/// Standard library only. `standing_cases::add` allocates; the rest never allocates or throws.
#pragma once

#include <tryst/case_set_result.hpp>
#include <tryst/detail/meet/case_registry.hpp>
#include <tryst/detail/meet/standing_case.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/linked_list.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// All cases of a set.
template <class Token, class... Sides>
class standing_cases {
    template <class Side>
    using case_of = standing_case<Token, Side>;
    using first_case = case_of<std::tuple_element_t<0, std::tuple<Sides...>>>;

public:
    using result = case_set_result<Token, typename Sides::result...>;

    standing_cases() = default;
    standing_cases(const standing_cases&) = delete;
    standing_cases& operator=(const standing_cases&) = delete;
    ~standing_cases() {
        assert(round_ == nullptr && "tryst: a case_set must outlive the call to next");
        while (auto* const each = all_.empty() ? leaving_.front() : all_.front()) {
            visit(*each->one, [this](auto& known) {
                this->withdraw(known);
                const outcome how = known.self->result; // it may have met a partner in the round
                known.end_wait(how == outcome::pending ? outcome::not_selected : how);
                this->drop(known);
            });
        }
    }

    std::size_t size() const noexcept { return size_; }
    standing_word& word() noexcept { return word_; }

    /// @throws std::bad_alloc. Then nothing has been moved from.
    template <class Side>
    case_node& add(typename Side::protocol& where, typename Side::own&& item, Token&& token) {
        assert_between_rounds();
        case_registry& registry = where.cases().registry();
        auto made = std::make_unique<case_of<Side>>(where, std::move(item), std::move(token));
        made->set = &word_;
        made->index = index_of<Side>();
        registry.join(*made, Side::waiter::side);
        made->owned.one = made.get();
        if constexpr (case_of<Side>::leaves_each_round) {
            leaving_.push_back(made->owned);
        } else {
            all_.push_front(made->owned);
        }
        unlisted_.push_back(*made);
        ++size_;
        ++armed_;
        return *made.release();
    }

    /// @returns  what `next` would have returned for it, if it was decided in a round that was
    ///   abandoned; `not_selected`, with its item; or nothing, if it is idle.
    template <class Result>
    std::optional<Result> remove(case_node& one) noexcept {
        assert_between_rounds();
        std::optional<Result> left;
        visit(one, [&](auto& known) {
            this->withdraw(known);
            if (!one.is_idle) {
                if (one.self->result == outcome::pending) {
                    one.self->result = outcome::not_selected;
                }
                if constexpr (std::is_same_v<
                                  typename std::remove_reference_t<decltype(known)>::result,
                                  Result>) {
                    left = known.take_result();
                }
            }
            this->drop(known);
        });
        return left;
    }

    template <class Result, class Item>
    void rearm(case_node& one, Item& item) noexcept {
        assert_between_rounds();
        assert(one.is_idle && "tryst: the case has an item");
        visit(one, [&](auto& known) {
            using known_case = std::remove_reference_t<decltype(known)>;
            if constexpr (std::is_same_v<typename known_case::result, Result>) {
                known.renew(std::move(item));
                known.is_idle = false;
                unlisted_.push_back(known);
                ++armed_;
            }
        });
    }

    // ---- One round.

    /// Offers all cases that are in no wait list and not idle.
    /// @param by  identifies the round.
    /// @returns whether the round is decided, or about to be.
    bool register_cases(const void* by) noexcept {
        assert_between_rounds();
        if (has_kept()) {
            return true;
        }
        round_ = by;
        take_back(word_.begin());
        if (armed_ == 0) {
            word_.decide_none(outcome::no_partner);
            return true;
        }
        for (std::size_t registered = 0; case_node* const one = unlisted_.front(); ++registered) {
            if (registered == held_cases) {
                registered = 0;
                if (!word_.reopen()) {
                    return true;
                }
            }
            unlisted_.remove(*one); // before a party may hand it back
            const bool decided = visit(*one, [this](auto& known) {
                this->note_offer(known);
                known.self->waits_at = word_.node.waits_at;
                return known.enlist();
            });
            if (decided) {
                return true;
            }
            take_back(word_.end_yield());
        }
        return false;
    }

    /// As above, but does not wait.
    void try_once(const void* by, outcome otherwise) noexcept {
        if (!register_cases(by)) {
            word_.decide_none(otherwise);
        }
    }

    /// @param otherwise  why the round did not begin; `pending` if it did.
    result take_result(outcome otherwise) noexcept {
        waiter* const won = word_.decided();
        if (won == nullptr) {
            return result(static_cast<exchange_errc>(otherwise == outcome::pending ? word_.reason()
                                                                                   : otherwise));
        }
        case_node& one = case_node::of(*won);
        return visit(one, [&](auto& known) {
            const bool is_closed = won->result == outcome::closed;
            result taken(known, one.index, is_closed);
            word_.forget();
            if (is_closed) {
                this->withdraw(known);
                this->drop(known);
            } else if constexpr (std::remove_reference_t<decltype(known)>::renews_itself) {
                known.renew({});
                unlisted_.push_back(known);
            } else {
                known.is_idle = true;
                --armed_;
            }
            return taken;
        });
    }

    /// Whether a round that was abandoned has left a result.
    bool has_kept() const noexcept { return round_ == nullptr && word_.decided() != nullptr; }

    /// Ends the round. If a case was decided and its result was not taken, the next round gets it.
    void end(const void* by) noexcept {
        if (round_ != by) {
            return;
        }
        round_ = nullptr;
        if constexpr ((case_of<Sides>::leaves_each_round || ...)) {
            for (auto* each = leaving_.front(); each != nullptr; each = each->following) {
                visit(*each->one, [this](auto& known) { this->unlist(known); });
            }
        }
    }

private:
    void assert_between_rounds() const noexcept {
        assert(round_ == nullptr && "tryst: a case_set must not be used during a call to next");
    }

    template <class Side>
    static constexpr std::uint8_t index_of() noexcept {
        std::uint8_t i = 0;
        static_cast<void>(((std::is_same_v<Side, Sides> || (++i, false)) || ...));
        return i;
    }

    /// Calls `f` with the case as its own type. @returns what `f` returns.
    template <class F>
    auto visit(case_node& one, F f) {
        if constexpr (sizeof...(Sides) == 1) {
            return f(static_cast<first_case&>(one));
        } else {
            using call = std::invoke_result_t<F&, first_case&> (*)(case_node&, F&);
            static constexpr call calls[] = {[](case_node& any, F& function) {
                return function(static_cast<case_of<Sides>&>(any));
            }...};
            return calls[one.index](one, f);
        }
    }

    /// Puts the cases that were handed back into `unlisted_`, the first one first.
    void take_back(executor_node* latest) noexcept {
        executor_node* first = nullptr;
        while (latest != nullptr) { // those that were handed back first come first
            executor_node* const earlier = std::exchange(latest->next, first);
            first = std::exchange(latest, earlier);
        }
        while (first != nullptr) {
            case_node& one = case_node::of(*static_cast<waiter*>(first));
            first = first->next; // before the case is offered again
            visit(one, [](auto& known) { known.end_wait(outcome::not_selected); });
            unlisted_.push_back(one);
        }
    }

    /// So that those that leave their lists after the round are offered in the same order again.
    template <class Known>
    void note_offer(Known& one) noexcept {
        if constexpr (Known::leaves_each_round) {
            leaving_.remove(one.owned);
            leaving_.push_back(one.owned);
        }
    }

    /// Whether it may be in its object's list.
    static bool is_listed(const case_node& one) noexcept {
        return one.self->result == outcome::pending && !one.is_linked();
    }

    /// Takes the case out of its object's list, if it is there and has not been claimed.
    template <class Known>
    void unlist(Known& one) noexcept {
        if constexpr (Known::leaves_each_round) {
            if (is_listed(one) && one.unlist()) {
                one.end_wait(outcome::not_selected);
                unlisted_.push_back(one);
            }
        }
    }

    /// Takes the case out of its object's list, or waits until it is handed back.
    template <class Known>
    void withdraw(Known& one) noexcept {
        if (!one.leave(is_listed(one))) {
            detail::spin_until([&] {
                take_back(word_.take_handed_back());
                return one.is_linked();
            });
        }
    }

    template <class Known>
    void drop(Known& one) noexcept {
        if (word_.decided() == one.self) {
            word_.forget();
        }
        if (one.is_linked()) {
            unlisted_.remove(one);
        }
        if constexpr (Known::leaves_each_round) {
            leaving_.remove(one.owned);
        } else {
            linked_list<case_node::member>::remove(one.owned);
        }
        --size_;
        armed_ -= one.is_idle ? 0 : 1;
        delete &one;
    }

    standing_word word_{(case_of<Sides>::is_shared || ...)};
    linked_queue<case_node> unlisted_; ///< To be offered in the next round, in this order.
    linked_list<case_node::member> all_; ///< But those that leave their lists after each round,
    linked_queue<case_node::member> leaving_; ///< which are here, in the order of their offers.
    std::size_t size_ = 0;
    std::size_t armed_ = 0; ///< How many are not idle.
    const void* round_ = nullptr; ///< The one in progress.
};

/// If an assertion of `case_set` failed.
template <class Token>
class standing_cases<Token> {
public:
    using result = case_set_result<Token>;
};

} // namespace tryst::detail
