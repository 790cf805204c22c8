// SPDX-License-Identifier: MIT
/// @file
/// One case of a set.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/case_registry.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/trace.hpp>
#include <tryst/executor.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// One case of a set.
template <class Token, class Side>
class standing_case : public case_node {
    using protocol = typename Side::protocol;

public:
    using own = typename Side::own;
    using result = typename Side::result;

    static constexpr bool is_shared = protocol::is_shared;

    /// Whether it must not stay in the list between two rounds, where it would hold others up.
    static constexpr bool leaves_each_round =
        protocol::template leave_admits<typename Side::waiter>;

    /// Whether it can be offered again without a new item.
    static constexpr bool renews_itself = std::is_same_v<own, nothing>;

    standing_case(protocol& where, own&& item, Token&& given) noexcept
        : token(std::move(given)), protocol_(&where) {
        make_waiter(std::move(item));
    }
    standing_case(const standing_case&) = delete;
    standing_case& operator=(const standing_case&) = delete;
    ~standing_case() { std::destroy_at(std::addressof(waiting)); }

    /// Prepares the case for another meeting.
    void renew(own&& item) noexcept {
        std::destroy_at(std::addressof(waiting));
        make_waiter(std::move(item));
    }

    /// Claims a partner, or waits in the wait list.
    /// @returns whether the case is decided.
    bool enlist() noexcept {
        if (registry->has_ended()) {
            waiting.result = outcome::closed;
            waiting.decide();
            return true;
        }
        return protocol_->arrive(waiting, false) == arrival::completed;
    }

    /// Leaves the registry.
    /// @param listed  whether the waiter may be in the wait list. It is taken out, unless it has
    ///   been claimed.
    /// @returns false if it has been claimed.
    bool leave(bool listed) noexcept {
        const auto pin = [&] {
            if (listed) {
                protocol_->pin_case();
            }
        };
        const bool is_there = registry->leave(*this, pin);
        return !listed || (is_there && protocol_->withdraw_case(waiting));
    }

    /// Takes the waiter out of the wait list, if it has not been claimed, and the object is there.
    bool unlist() noexcept {
        return registry->pin_object([this] { protocol_->pin_case(); }) &&
               protocol_->withdraw_case(waiting);
    }

    /// Ends the case's wait, if it has begun. The case may begin another.
    void end_wait(outcome how) noexcept {
        if (waiting.at != stage::created) {
            TRYST_TRACE(wait_end, std::addressof(waiting), static_cast<int>(how));
            Side::observer::end_wait(waiting, how);
            Side::observer::renew(waiting);
            waiting.at = stage::created;
        }
    }

    result take_result() noexcept {
        end_wait(waiting.result);
        return Side::result_of(waiting);
    }

    Token token;

private:
    struct standing_waiter : Side::waiter {
        explicit standing_waiter(own&& item) noexcept : Side::waiter(std::move(item)) {
            this->kind = waiter::kind_type::standing;
            this->run = post_owner;
        }

        /// The protocol calls these for the owner's own steps.
        void decide() noexcept { standing_word::of(*this).decide(*this); }
        void yield_to(const waiter& q) noexcept { standing_word::of(*this).yield_to(q); }

        /// It has no executor, so that its completer calls this.
        static void post_owner(executor_node* node) noexcept {
            detail::post(standing_word::of(*static_cast<waiter*>(node)).node);
        }
    };

    void make_waiter(own&& item) noexcept {
        std::construct_at(std::addressof(waiting), std::move(item));
        waiting.owner = static_cast<case_node*>(this);
        self = std::addressof(waiting);
    }

    protocol* protocol_;
    union {
        standing_waiter waiting;
    };
};

} // namespace tryst::detail
