// SPDX-License-Identifier: MIT
#include "model/meeting.hpp"

#include "support/opened.hpp"

#include <type_traits>

namespace tryst::test {

constexpr members<model::parcel> members_of(std::type_identity<model::parcel> of) noexcept;

template struct opened<model::parcel, &exchanger<model::parcel>::protocol_,
                       &test::protocol::arena_>;

} // namespace tryst::test

namespace tryst::model {

namespace {

// Not in the model's memory: checks may look at it without being ordered after the write.
struct result {
    bool begun = false;
    bool ended = false;
    bool cancelled = false; ///< Its client cancelled it while it waited.
    bool abandoned = false; ///< Its frame was destroyed while it waited.
    bool exchanged = false;
    exchange_errc error{};
    std::size_t parcel = 0;
};
std::array<result, meeting::max_parties> results;
bool destroyed = false;

} // namespace

meeting::meeting(std::size_t slots, bool grown) : ex_(new channel(slots)) {
    results.fill({});
    request_.run = [](executor_node* node) noexcept {
        const auto& made = *static_cast<cancel_request*>(node);
        if (made.operation != nullptr) {
            results.at(made.party).cancelled = true;
            made.request(made.operation);
        }
    };
    destroyed = false;
    closing = false;
    closing_late = false;
    if (grown) {
        constexpr auto members = test::members_of(std::type_identity<parcel>());
        ((*(ex_->*members.inside)).*members.slots).collided();
    }
}

detached meeting::coroutine_party(meeting& m, serial_loop* on, std::size_t mine, patience kind) {
    channel& ex = *m.ex_;
    parcel gift(mine);
    results.at(mine).begun = true;
    switch (kind) {
    case patience::endless:
        m.enter(mine, co_await ex.exchange(std::move(gift)));
        break;
    case patience::until_stop:
        m.enter(mine, co_await ex.exchange(std::move(gift), m.token()));
        break;
    case patience::until_deadline:
        m.enter(mine, co_await ex.exchange(std::move(gift), wait));
        break;
    case patience::until_either:
        m.enter(mine, co_await ex.exchange(std::move(gift), wait, m.token()));
        break;
    case patience::none:
        m.enter(mine, ex.try_exchange(std::move(gift)));
        break;
    case patience::over:
        m.enter(mine, co_await ex.exchange(std::move(gift), wait - wait));
        break;
    }
    if (on != nullptr) {
        on->end_work();
    }
}

detached meeting::busy_party(meeting& m, serial_loop& on, std::size_t first, std::size_t rounds) {
    for (std::size_t mine = first; mine != first + rounds; ++mine) {
        results.at(mine).begun = true;
        m.enter(mine, co_await m.ex_->exchange(parcel(mine)));
    }
    on.end_work();
}

/// Awaits an operation as an adapter does that cancels it itself.
template <class Core>
struct meeting::cancellable_wait {
    meeting& m;
    Core& core;

    bool await_ready() const noexcept { return core.try_match(); }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> party) const noexcept {
        m.request_.operation = &core;
        m.request_.request = [](void* operation) noexcept {
            static_cast<Core*>(operation)->request_cancel();
        };
        return core.template start<resume>(m.request_.loop->executor(), party.address(), true);
    }
    auto await_resume() const noexcept {
        m.request_.operation = nullptr;
        return core.take_result();
    }

private:
    static void resume(executor_node* node) noexcept {
        std::coroutine_handle<>::from_address(Core::client_of(node)).resume();
    }
};

detached meeting::cancellable_party(meeting& m, std::size_t mine, patience kind) {
    const auto wait_for = [&m](auto& operation) {
        auto& core = detail::operation_access::of(operation);
        return cancellable_wait<std::remove_reference_t<decltype(core)>>{m, core};
    };
    parcel gift(mine);
    results.at(mine).begun = true;
    m.request_.party = mine;
    if (kind == patience::until_stop) {
        auto operation = m.ex_->exchange(std::move(gift), m.token());
        auto got = co_await wait_for(operation);
        m.enter(mine, got);
    } else if (kind == patience::until_deadline) {
        auto operation = m.ex_->exchange(std::move(gift), wait);
        auto got = co_await wait_for(operation);
        m.enter(mine, got);
    } else {
        auto operation = m.ex_->exchange(std::move(gift));
        auto got = co_await wait_for(operation);
        m.enter(mine, got);
    }
    m.request_.loop->end_work();
}

detached meeting::destroying_party(meeting& m, serial_loop* on, std::size_t mine) {
    results.at(mine).begun = true;
    m.enter(mine, co_await m.ex_->exchange(parcel(mine)));
    if (results.at(mine).exchanged) {
        m.destroy();
    }
    if (on != nullptr) {
        on->end_work();
    }
}

namespace {

/// A coroutine that its owner destroys.
struct owned {
    struct promise_type {
        owned get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<> coroutine;
};

owned party_to_be_destroyed(meeting& m, std::size_t mine, patience kind) {
    results.at(mine).begun = true;
    if (kind == patience::until_stop) {
        m.enter(mine, co_await m.ex().exchange(parcel(mine), m.token()));
    } else if (kind == patience::until_deadline) {
        m.enter(mine, co_await m.ex().exchange(parcel(mine), meeting::wait));
    } else {
        m.enter(mine, co_await m.ex().exchange(parcel(mine)));
    }
}

} // namespace

void meeting::doomed_party(meeting& m, std::size_t mine, patience kind, bool at_once) {
    m.doom_.run = [](executor_node* node) noexcept {
        auto& order = *static_cast<doom*>(node);
        order.coroutine.destroy();
        order.loop->end_work();
        if (!results[order.party].ended) {
            results[order.party].abandoned = true;
        }
    };
    m.doom_.party = mine;
    if (at_once) {
        m.doom_.loop->executor().post(&m.doom_);
    }
    m.doom_.coroutine = party_to_be_destroyed(m, mine, kind).coroutine;
}

void meeting::begin_to_close() noexcept {
    closing = true;
    closing_late = true;
}

void meeting::destroy() noexcept {
    if (!std::exchange(destroyed, true)) {
        delete ex_;
    }
}

void meeting::thread_party(std::size_t mine, patience kind) {
    channel& ex = *ex_;
    parcel gift(mine);
    results.at(mine).begun = true;
    switch (kind) {
    case patience::endless:
        return enter(mine, sync_wait(ex.exchange(std::move(gift))));
    case patience::until_stop:
        return enter(mine, sync_wait(ex.exchange(std::move(gift), token())));
    case patience::until_deadline:
        return enter(mine, sync_wait(ex.exchange(std::move(gift), wait)));
    case patience::until_either:
        return enter(mine, sync_wait(ex.exchange(std::move(gift), wait, token())));
    case patience::none:
        return enter(mine, ex.try_exchange(std::move(gift)));
    case patience::over:
        return enter(mine, sync_wait(ex.exchange(std::move(gift), wait - wait)));
    }
}

void meeting::enter(std::size_t party, const exchange_result<parcel>& got) {
    result& mine = results.at(party);
    require(!mine.ended, "a party has ended twice");
    mine.ended = true;
    mine.exchanged = got.has_value();
    if (got) {
        mine.parcel = (*got).from();
        return;
    }
    mine.parcel = got.returned().from();
    mine.error = static_cast<exchange_errc>(got.error().value());
    const bool may = [&] {
        switch (mine.error) {
        case exchange_errc::timed_out:
            return the_checker().os().time() >= deadlines_.at(party);
        case exchange_errc::cancelled:
            return mine.cancelled || (stop_.requested() &&
                                      (the_checker().limits().bare_posts || what_canceller_did_));
        case exchange_errc::closed:
            // A plain access: the close happens-before the result, if posts order it.
            return closing &&
                   (closing_late || the_checker().limits().bare_posts || what_closer_did_);
        case exchange_errc::no_partner:
            return true;
        case exchange_errc::out_of_memory:
        case exchange_errc::not_selected:
        case exchange_errc::unavailable:
        case exchange_errc::in_doubt:
            return false;
        }
        return false;
    }();
    require(may, "a wait has ended for a reason that is not there");
}

/// I3: no two waiters could have met each other.
void meeting::close_at_quiescence() {
    std::size_t waiting = 0;
    for (std::size_t i = 0; i != parties_; ++i) {
        const result& each = results[i];
        if (each.begun && !each.ended && !each.abandoned) {
            ++waiting;
            require(!each.cancelled, "a request to cancel was lost");
            require(kinds_[i] == patience::endless ||
                        (kinds_[i] == patience::until_stop && !stop_.requested()),
                    "a stop or a deadline was lost");
        }
    }
    require(waiting <= 1, "two parties wait for ever for each other");
    begin_to_close();
    if (!destroyed) {
        ex_->close();
    }
}

/// Conservation: whoever exchanged got what its partner brought, and the partner got ours; who did
/// not has its own.
void meeting::verify() const {
    for (std::size_t i = 0; i != parties_; ++i) {
        const result& mine = results[i];
        if (mine.abandoned) {
            continue;
        }
        require(mine.ended, "a party has never ended");
        if (!mine.exchanged) {
            require(mine.parcel == i, "a failed exchange has returned another's parcel");
            continue;
        }
        require(mine.parcel != i && mine.parcel < parties_, "a party has got no other's parcel");
        const result& partner = results[mine.parcel];
        require(partner.abandoned || (partner.exchanged && partner.parcel == i),
                "an exchange is one-sided");
    }
}

void meeting::require_that_all_have_met() const {
    for (std::size_t i = 0; i != parties_; ++i) {
        require(results[i].exchanged, "a party has missed another");
    }
}

} // namespace tryst::model
