// SPDX-License-Identifier: MIT
/// @file
/// One round of a set of cases.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/decided_wait.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/location.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <utility>

namespace tryst::detail {

/* A round
 * Has the interface of an `operation`, so it has the same clients. */
template <class Cases, class Limits>
class case_set_round : public decided_wait<case_set_round<Cases, Limits>, Limits> {
    using base = decided_wait<case_set_round, Limits>;
    friend base;
    friend pending<case_set_round, Limits>;
    friend wait_limits<case_set_round, Limits>;

public:
    using result = typename Cases::result;
    using limits_type = Limits;
    static constexpr bool needs_timers = Limits::timed;
    template <class Other>
    using with_limits = case_set_round<Cases, Other>;
    using proposal = Cases*;

    /// @param limits  as in `operation`.
    template <class... Limit>
    explicit case_set_round(proposal of, Limit&&... limits) noexcept
        : base(std::forward<Limit>(limits)...), cases_(of) {}
    case_set_round(const case_set_round&) = delete;
    case_set_round& operator=(const case_set_round&) = delete;
    ~case_set_round() {
        if (at_ != stage::finished) {
            base::release();
        }
        if (in_round_) {
            cases_->end(this);
        }
    }

    static void* client_of(executor_node* node) noexcept { return from(node).client_; }

    bool try_match() noexcept {
        assert(at_ == stage::created && "tryst: a call to next can be awaited only once");
        if (cases_->has_kept()) {
            return true;
        }
        if (base::stop_was_requested()) {
            complete_own(outcome::cancelled);
            return true;
        }
        return false;
    }

    void try_once(outcome otherwise) noexcept {
        in_round_ = true;
        cases_->try_once(this, otherwise);
        base::await_settled();
    }

    void finish() noexcept {
        if (at_ != stage::finished) {
            base::end_limits();
        }
    }

    /// For a call that does not wait.
    void try_now() noexcept {
        if (!try_match()) {
            try_once(outcome::no_partner);
        }
    }

    proposal take_proposal() noexcept { return cases_; }

    bool was_cancelled() const noexcept {
        return word().decided() == nullptr &&
               (lost_ == outcome::pending ? word().reason() : lost_) == outcome::cancelled;
    }

    result take_result() noexcept {
        finish();
        if (std::exchange(in_round_, false)) {
            cases_->end(this);
        }
        return cases_->take_result(lost_);
    }

private:
    static case_set_round& from(executor_node* node) noexcept {
        return *static_cast<case_set_round*>(static_cast<waiter*>(node)->owner);
    }

    standing_word& word() const noexcept { return cases_->word(); }
    waiter& wait_node() noexcept { return word().node; }
    void locate(location where) noexcept {
        where_.set(where);
        wait_node().waits_at.set(where);
    }
    stage& wait_stage() noexcept { return at_; }
    executor_ref wait_executor() noexcept { return word().node.executor; }
    static constexpr bool has_events = false;
    static constexpr bool has_timed_events = false;
    static void start_events() noexcept {}

    void set_executor(executor_ref on) noexcept {
        word().node.executor = on;
        word().node.run = nullptr;
        word().node.owner = this;
    }

    template <completion Done>
    void begin_on(executor_ref on, void* client) noexcept {
        client_ = client;
        set_executor(on);
        word().node.run = Done;
    }

    bool register_cases() noexcept {
        at_ = stage::offered;
        in_round_ = true;
        if (!cases_->register_cases(this)) {
            return false;
        }
        base::await_settled();
        return true;
    }

    static bool sees_close() noexcept { return false; }
    void complete_own(outcome how) noexcept { lost_ = how; }

    void abandon_wait() noexcept { base::decide_none_or_await(); }
    waiter* posted() noexcept {
        const bool for_none = word().is_settled() && word().decided() == nullptr;
        return for_none ? nullptr : &wait_node();
    }

    Cases* cases_;
    void* client_ = nullptr;
    location_slot where_; // directly behind `client_`, for debuggers
    outcome lost_ = outcome::pending; ///< Why the round did not begin.
    stage at_ = stage::created;
    bool in_round_ = false;
};

} // namespace tryst::detail
