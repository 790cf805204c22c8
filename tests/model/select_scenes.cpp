// SPDX-License-Identifier: MIT
// Selections, which wait at several exchangers.
#include "model/meeting.hpp"
#include "model/scenes.hpp"

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/select.hpp>

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tryst::model {

namespace {

using detail::colour;
using detail::step;
using enum patience;

// One cell in a segment: every arrival comes to a boundary.
using queue = detail::basic_dual_queue<0>;
using stack = detail::dual_stack;

/// A case of a party: the place where it exchanges, and its side there.
template <colour Side = colour::none>
struct at {
    std::size_t place;
};

/// How the cases of a party are chosen from.
enum class manner : std::uint8_t { fairly, in_order, from_a_range };

inline constexpr std::size_t max_cases = 4;
inline constexpr std::size_t max_places = 3;
inline constexpr std::size_t nowhere = max_places;

// Not in the model's memory: checks may look at them without being ordered after the write.

struct case_record {
    std::size_t place = 0;
    colour side = colour::none;
};
struct record {
    bool begun = false;
    bool ended = false;
    bool abandoned = false; ///< Its frame was destroyed while it waited.
    bool cancelled = false; ///< Its client cancelled it while it waited.
    patience kind{};
    std::size_t case_count = 0;
    std::array<case_record, max_cases> cases;
    std::size_t selected = select_npos;
    std::size_t mate = 0; ///< The number of the partner's parcel, if it has exchanged.
    bool exchanged = false;
    instant deadline = never;
};
std::array<record, 8> records;

struct place_record {
    bool closing = false;
    bool closed = false;
    bool destroyed = false;
};
std::array<place_record, max_places + 1> place_records;
bool closing_late = false;

/// An awaitable of a result that is there.
template <class Result>
struct ready {
    Result got;

    static bool await_ready() noexcept { return true; }
    static void await_suspend(std::coroutine_handle<> /*party*/) noexcept {}
    Result await_resume() noexcept { return std::move(got); }
};

/// One party: a selection if it has several cases, otherwise a plain exchange.
template <patience Kind, manner Manner, class... Sides>
struct party {
    std::size_t mine;
    std::tuple<Sides...> cases;
    std::size_t destroys = nowhere; ///< The place that it destroys when it has returned,
    bool surely = false; ///< even if it has not exchanged.

    party and_destroys(std::size_t place) const { return {mine, cases, place}; }
    party and_surely_destroys(std::size_t place) const { return {mine, cases, place, true}; }
};

/// Several exchangers, in ascending order of their addresses, and their parties.
template <class WaitList = detail::single_slot>
class market {
    using protocol = detail::protocol<WaitList>;

public:
    static constexpr std::chrono::nanoseconds wait{10};
    static constexpr instant end_of_time = 2'000'000;

    explicit market(std::size_t places) : place_count_(places) {
        records.fill({});
        place_records.fill({});
        closing_late = false;
        for (std::size_t i = 0; i != places; ++i) {
            places_.at(i) = new protocol(0);
        }
        std::sort(places_.begin(), places_.begin() + places, std::less<>());
    }
    ~market() {
        for (std::size_t i = 0; i != place_count_; ++i) {
            destroy(i);
        }
    }
    market(const market&) = delete;
    market& operator=(const market&) = delete;

    // ---- Parties

    template <patience Kind, manner Manner = manner::fairly, colour... Sides>
    auto comes(at<Sides>... cases) {
        record& its = records.at(count_);
        its.kind = Kind;
        its.case_count = sizeof...(cases);
        its.cases = {case_record{cases.place, Sides}...};
        if (Kind == until_deadline || Kind == until_either) {
            its.deadline = the_checker().os().time() + wait.count();
        }
        return party<Kind, Manner, at<Sides>...>{count_++, {cases...}};
    }
    template <colour... Sides>
    auto waits(at<Sides>... cases) {
        return comes<endless>(cases...);
    }

    // ---- Threads of a scene

    /// A loop on which a coroutine is started for each party.
    template <class... Parties>
    auto loop(Parties... parties) {
        return [this, parties..., on = loops_++] {
            serial_loop& here = loop_.at(on);
            here.run([&] {
                ((static_cast<void>(parties), here.begin_work()), ...);
                (in_turn(*this, &here, parties), ...);
            });
        };
    }
    /// A loop whose one coroutine is one party after the other.
    template <class... Parties>
    auto loop_in_turn(Parties... parties) {
        return [this, parties..., on = loops_++] {
            serial_loop& here = loop_.at(on);
            here.run([&] {
                here.begin_work();
                in_turn(*this, &here, parties...);
            });
        };
    }
    /// A coroutine without executor, which is one party after the other.
    template <class... Parties>
    auto bare(Parties... parties) {
        return [this, parties...] { in_turn(*this, nullptr, parties...); };
    }
    /// A plain thread, likewise.
    template <class... Parties>
    auto thread(Parties... parties) {
        return [this, parties...] { (by_thread(parties), ...); };
    }

    /// A loop whose one coroutine may be destroyed while it waits: by `killer`, or `at_once`,
    /// before its check runs. Coroutines for the `others` follow on the loop.
    template <class Party, class... Others>
    auto doomed_loop(Party p, bool at_once = false, Others... others) {
        doom_.loop = &loop_.at(loops_++);
        doom_.party = p.mine;
        doom_.run = [](executor_node* node) noexcept {
            auto& order = *static_cast<doom*>(node);
            order.coroutine.destroy();
            order.loop->end_work();
            if (!records.at(order.party).ended) {
                records.at(order.party).abandoned = true;
            }
        };
        return [this, p, at_once, others...] {
            serial_loop& here = *doom_.loop;
            here.run([&] {
                here.begin_work();
                if (at_once) {
                    here.executor().post(&doom_);
                }
                doom_.coroutine = to_be_destroyed(*this, p).coroutine;
                ((here.begin_work(), in_turn(*this, &here, others)), ...);
            });
        };
    }
    auto killer() {
        return [this] { doom_.loop->executor().post(&doom_); };
    }

    /// A loop whose one coroutine starts its selection as cancellable, which `requester` cancels on
    /// the loop.
    template <class Party>
    auto cancellable_loop(Party p) {
        request_.loop = &loop_.at(loops_++);
        request_.party = p.mine;
        request_.run = [](executor_node* node) noexcept {
            const auto& made = *static_cast<cancel_request*>(node);
            if (made.operation != nullptr) {
                records.at(made.party).cancelled = true;
                made.request(made.operation);
            }
        };
        return [this, p] {
            serial_loop& here = *request_.loop;
            here.run([&] {
                here.begin_work();
                cancellable(*this, p);
            });
        };
    }
    auto requester() {
        return [this] { request_.loop->executor().post(&request_); };
    }

    auto canceller() {
        return [this] {
            what_canceller_did_ = true;
            stop_.request_stop();
        };
    }
    template <class... Places>
    auto closer(Places... places) {
        return [this, places...] { (close(places.place), ...); };
    }
    /// The time goes on until every deadline has passed.
    static auto time() {
        return [] { the_checker().os().advance(end_of_time / 2, site::current()); };
    }

    /// A party without an executor, which arrives now, before the threads start.
    template <class... Parties>
    void before(Parties... parties) {
        in_turn(*this, nullptr, parties...);
    }

    /// A party arrives now, then calls `f`, then withdraws.
    template <colour Side, class F>
    void leave_behind(std::size_t place, F f) {
        typename detail::side<WaitList, parcel, parcel, Side>::waiter guest{parcel(0)};
        require(places_.at(place)->arrive(guest, false) == detail::arrival::waiting,
                "a guest has met somebody");
        f();
        places_[place]->withdraw(guest, detail::outcome::cancelled);
    }

    /// Runs the threads until nothing can go on, closes the exchangers, lets all end, and checks.
    template <class... Body>
    void run(Body... bodies) {
        start(bodies...);
        the_checker().settle();
        the_checker().os().advance(end_of_time, site::current());
        the_checker().settle();
        require_quiescence();
        for (std::size_t i = 0; i != place_count_; ++i) {
            if (!place_records[i].destroyed) {
                place_records[i].closing = true;
                closing_late = true;
                places_[i]->close(); // uses what a selection that has ended has left there
            }
        }
        the_checker().join();
        verify();
    }

    /// For after `run`, where nobody can miss the others.
    void require_that_all_have_met() const {
        for (std::size_t i = 0; i != count_; ++i) {
            require(records[i].exchanged, "a party has missed another");
        }
    }
    static void require_selected(std::size_t who, std::size_t which) {
        require(records.at(who).selected == which, "another case was selected");
    }

private:
    template <colour Side>
    using factory = detail::factory<detail::side<WaitList, parcel, parcel, Side>>;

    struct doom : executor_node {
        serial_loop* loop = nullptr;
        std::coroutine_handle<> coroutine;
        std::size_t party = 0;
    };
    struct cancel_request : executor_node {
        serial_loop* loop = nullptr;
        void* operation = nullptr; ///< Null unless it is in progress.
        void (*request)(void* operation) noexcept = nullptr;
        std::size_t party = 0;
    };

    static std::size_t number_of(std::size_t who, std::size_t which) {
        return who * max_cases + which;
    }

    template <colour Side, class... Limit>
    auto offer(std::size_t who, std::size_t which, at<Side> where, Limit... limit) {
        auto& there = *places_.at(where.place);
        parcel gift(number_of(who, which));
        return factory<Side>::make_exchange(there, std::move(gift), std::move(limit)...);
    }

    /// What the party awaits.
    template <patience Kind, manner Manner, class... Sides>
    auto operate(const party<Kind, Manner, Sides...>& p) {
        records.at(p.mine).begun = true;
        return operate(p, std::index_sequence_for<Sides...>());
    }
    template <patience Kind, manner Manner, class... Sides, std::size_t... I>
    auto operate(const party<Kind, Manner, Sides...>& p, std::index_sequence<I...> /*all*/) {
        const auto given = [&](auto which) {
            return offer(p.mine, which(), std::get<which()>(p.cases));
        };
        if constexpr (Kind == none) {
            auto got = try_select(given(std::integral_constant<std::size_t, I>())...);
            return ready<decltype(got)>{std::move(got)};
        } else if constexpr (Manner == manner::from_a_range) {
            using first = std::tuple_element_t<0, std::tuple<Sides...>>;
            const std::array range{std::pair{I, std::get<I>(p.cases)}...};
            const auto make = [&](const std::pair<std::size_t, first>& each) {
                return offer(p.mine, each.first, each.second);
            };
            if constexpr (Kind == until_stop) {
                return select_from(range, make, token());
            } else {
                return select_from(range, make);
            }
        } else if constexpr (Manner == manner::in_order) {
            return select_biased(given(std::integral_constant<std::size_t, I>())...);
        } else if constexpr (sizeof...(Sides) == 1) {
            if constexpr (Kind == until_stop) {
                return offer(p.mine, 0, std::get<0>(p.cases), token());
            } else if constexpr (Kind == until_deadline) {
                return offer(p.mine, 0, std::get<0>(p.cases), wait);
            } else {
                return offer(p.mine, 0, std::get<0>(p.cases));
            }
        } else if constexpr (Kind == until_stop) {
            return select(given(std::integral_constant<std::size_t, I>())..., token());
        } else if constexpr (Kind == until_deadline) {
            return select(given(std::integral_constant<std::size_t, I>())..., wait);
        } else if constexpr (Kind == until_either) {
            return select(given(std::integral_constant<std::size_t, I>())..., wait, token());
        } else {
            return select(given(std::integral_constant<std::size_t, I>())...);
        }
    }

    template <class... Parties>
    static detached in_turn(market& m, serial_loop* on, Parties... parties) {
        (m.enter(parties, co_await m.operate(parties)), ...);
        if (on != nullptr) {
            on->end_work();
        }
    }

    template <patience Kind, manner Manner, class... Sides>
    void by_thread(const party<Kind, Manner, Sides...>& p) {
        if constexpr (Kind == none) {
            enter(p, operate(p).await_resume());
        } else {
            enter(p, sync_wait(operate(p)));
        }
    }

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
    template <class Party>
    static owned to_be_destroyed(market& m, Party p) {
        m.enter(p, co_await m.operate(p));
    }

    /// Awaits a selection as an adapter does that cancels it itself.
    template <class Core>
    struct cancellable_wait {
        market& m;
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
    template <class Party>
    static detached cancellable(market& m, Party p) {
        auto operation = m.operate(p);
        auto& core = detail::operation_access::of(operation);
        m.enter(p, co_await cancellable_wait<std::remove_reference_t<decltype(core)>>{m, core});
        m.request_.loop->end_work();
    }

    detail::stop_token token() noexcept { return detail::stop_token(stop_); }

    void close(std::size_t place) {
        what_closer_did_.at(place) = true;
        place_records.at(place).closing = true;
        places_[place]->close();
        place_records[place].closed = true;
    }

    void destroy(std::size_t place) noexcept {
        if (!std::exchange(place_records.at(place).destroyed, true)) {
            place_records[place].closing = true;
            closing_late = true;
            delete places_[place];
        }
    }

    // ---- Results

    /// Enters a result for case `which` of a party.
    template <class Result>
    void enter_case(std::size_t who, std::size_t which, Result&& got, exchange_errc lost) {
        record& its = records.at(who);
        if (which != its.selected) {
            require(!got, "a case that was not selected has exchanged");
            require(got.error() == lost, "a case was lost for another reason");
            require(got.returned().from() == number_of(who, which),
                    "a case has returned another's parcel");
            return;
        }
        if (got) {
            its.exchanged = true;
            its.mate = (*got).from();
            return;
        }
        require(got.returned().from() == number_of(who, which),
                "a failed exchange has returned another's parcel");
        require(got.error() == exchange_errc::closed, "a selected case has failed");
        const std::size_t place = its.cases.at(which).place;
        // A plain access: the close happens-before the result, if posts order it.
        require(
            place_records.at(place).closing &&
                (closing_late || the_checker().limits().bare_posts || what_closer_did_.at(place)),
            "a party finds closed what is not");
    }

    void check_reason(std::size_t who, exchange_errc reason) {
        const record& its = records.at(who);
        const bool may =
            reason == exchange_errc::timed_out ? the_checker().os().time() >= its.deadline
            : reason == exchange_errc::cancelled
                ? its.cancelled || (stop_.requested() &&
                                    (the_checker().limits().bare_posts || what_canceller_did_))
                : reason == exchange_errc::no_partner && its.kind == none;
        require(may, "a wait has ended for a reason that is not there");
    }

    record& end(std::size_t who, std::size_t selected) {
        record& its = records.at(who);
        require(!its.ended, "a party has ended twice");
        its.ended = true;
        its.selected = selected;
        return its;
    }

    template <class... Results>
    void enter_all(std::size_t who, select_result<Results...>&& got) {
        end(who, got.index());
        const auto lost = got ? exchange_errc::not_selected
                              : static_cast<exchange_errc>(got.template get<0>().error().value());
        if (!got) {
            check_reason(who, lost);
        }
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (enter_case(who, I, got.template get<I>(), lost), ...);
        }(std::index_sequence_for<Results...>());
    }
    template <class Cases>
    void enter_all(std::size_t who, select_from_result<Cases>&& got) {
        end(who, got.index());
        auto first = got[0];
        const auto lost =
            got ? exchange_errc::not_selected : static_cast<exchange_errc>(first.error().value());
        if (!got) {
            check_reason(who, lost);
        }
        enter_case(who, 0, std::move(first), lost);
        for (std::size_t i = 1; i != got.size(); ++i) {
            enter_case(who, i, got[i], lost);
        }
    }
    template <class Theirs, class Own>
    void enter_all(std::size_t who, exchange_result<Theirs, Own>&& got) {
        const bool fails = !got && got.error() != exchange_errc::closed;
        end(who, fails ? select_npos : 0);
        const auto lost =
            fails ? static_cast<exchange_errc>(got.error().value()) : exchange_errc::not_selected;
        if (fails) {
            check_reason(who, lost);
        }
        enter_case(who, 0, std::move(got), lost);
    }

    template <class Party, class Result>
    void enter(const Party& p, Result got) {
        enter_all(p.mine, std::move(got));
        if (p.destroys != nowhere && (p.surely || records.at(p.mine).exchanged)) {
            destroy(p.destroys);
        }
    }

    static bool matches(const case_record& a, const case_record& b) {
        return a.place == b.place && b.side == detail::opposite(a.side);
    }

    /// I3: no two waiters could have met each other, and nothing that ends a wait was lost.
    void require_quiescence() const {
        const auto waiting = [](const record& each) {
            return each.begun && !each.ended && !each.abandoned;
        };
        for (std::size_t i = 0; i != count_; ++i) {
            const record& each = records[i];
            if (!waiting(each)) {
                continue;
            }
            require(!each.cancelled, "a request to cancel was lost");
            require(each.kind == endless || (each.kind == until_stop && !stop_.requested()),
                    "a stop or a deadline was lost");
            for (std::size_t c = 0; c != each.case_count; ++c) {
                require(!place_records.at(each.cases[c].place).closed,
                        "a party waits where all is closed");
            }
            for (std::size_t j = i + 1; j != count_; ++j) {
                for (std::size_t c = 0; waiting(records[j]) && c != each.case_count; ++c) {
                    for (std::size_t d = 0; d != records[j].case_count; ++d) {
                        require(!matches(each.cases[c], records[j].cases[d]),
                                "two parties wait for ever for each other");
                    }
                }
            }
        }
    }

    /// Conservation: whoever exchanged got what its partner brought to the same place, for the case
    /// that its partner has selected, and the partner got ours.
    void verify() const {
        for (std::size_t i = 0; i != count_; ++i) {
            const record& its = records[i];
            if (its.abandoned || !its.begun) {
                continue;
            }
            require(its.ended, "a party has never ended");
            if (!its.exchanged) {
                continue;
            }
            const std::size_t partner = its.mate / max_cases;
            const std::size_t theirs = its.mate % max_cases;
            require(partner != i && partner < count_ && theirs < records[partner].case_count,
                    "a party has got no other's parcel");
            require(matches(its.cases.at(its.selected), records[partner].cases.at(theirs)),
                    "a parcel has come from another place");
            require(records[partner].abandoned ||
                        (records[partner].exchanged && records[partner].selected == theirs &&
                         records[partner].mate == number_of(i, its.selected)),
                    "an exchange is one-sided");
        }
    }

    std::size_t place_count_;
    std::array<protocol*, max_places> places_{};
    doom doom_;
    cancel_request request_;
    stop_source stop_;
    std::size_t count_ = 0;
    std::size_t loops_ = 0;
    bool what_canceller_did_ = false; ///< To be seen by whoever gets `cancelled`.
    std::array<bool, max_places> what_closer_did_{}; ///< Likewise, `closed`.
    std::array<serial_loop, 4> loop_;
};

using at_place = at<colour::none>;
using red = at<colour::red>;
using blue = at<colour::blue>;
constexpr at_place a{0};
constexpr at_place b{1};
constexpr at_place c{2};

// ---- Two selections, and rings

void opposite_orders() {
    market m(2);
    m.run(m.loop(m.waits(a, b)), m.loop(m.waits(b, a)));
    m.require_that_all_have_met();
}

void opposite_orders_by_threads() {
    market m(2);
    m.run(m.thread(m.waits(a, b)), m.thread(m.waits(b, a)));
    m.require_that_all_have_met();
}

void opposite_orders_below() {
    market m(2);
    m.run(m.bare(m.waits(a, b)), m.bare(m.waits(b, a)));
    m.require_that_all_have_met();
}

void ring() {
    market m(3);
    m.run(m.loop(m.waits(a, b)), m.loop(m.waits(b, c)), m.loop(m.waits(c, a)));
}

void ring_below() {
    market m(3);
    m.run(m.bare(m.waits(a, b)), m.bare(m.waits(b, c)), m.bare(m.waits(c, a)));
}

void three_selections() {
    market m(2);
    m.run(m.bare(m.waits(a, b)), m.thread(m.waits(b, a)), m.loop(m.waits(a, b)));
}

void two_selections_and_canceller() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b)), m.loop(m.waits(b, a)), m.canceller());
}

void two_selections_on_one_loop() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b), m.waits(b)), m.loop(m.waits(b, a)), m.canceller());
}

void two_rounds() {
    market m(2);
    m.run(m.loop_in_turn(m.waits(a, b), m.waits(b, a)), m.loop_in_turn(m.waits(a), m.waits(b)));
}

// ---- A selection, and parties that exchange at one place

void two_partners() {
    market m(2);
    m.run(m.loop(m.waits(a, b)), m.loop(m.waits(a)), m.loop(m.waits(b)));
}

void two_partners_of_a_thread() {
    market m(2);
    m.run(m.thread(m.waits(a, b)), m.bare(m.waits(a)), m.bare(m.waits(b)));
}

void two_partners_below() {
    market m(2);
    m.run(m.bare(m.waits(a, b)), m.thread(m.waits(a)), m.bare(m.waits(b)));
}

void partner_before() {
    market m(2);
    m.before(m.waits(b));
    const auto selection = m.waits(a, b);
    m.run(m.bare(selection), m.bare(m.waits(a)));
    require(records.at(selection.mine).exchanged, "a selection has missed a partner");
}

// The selection waits before its partners come.
void selection_before() {
    market m(2);
    m.before(m.waits(a, b));
    m.run(m.bare(m.waits(a)), m.bare(m.waits(b)), m.bare(m.comes<none>(b, a)));
}

void tries() {
    market m(2);
    m.run(m.thread(m.comes<none>(b, a)), m.loop(m.waits(a, b)), m.bare(m.waits(b)));
}

// It must find the one that waits.
void tries_over_waiter() {
    market m(2);
    m.before(m.waits(b));
    const auto selection = m.comes<none>(a, b);
    m.run(m.thread(selection), m.thread(m.comes<none>(a)));
    m.require_selected(selection.mine, 1);
}

void in_order() {
    market m(2);
    m.before(m.waits(b));
    m.before(m.waits(a));
    const auto selection = m.comes<endless, manner::in_order>(b, a);
    m.run(m.bare(selection), m.bare(m.comes<none>(a)));
    m.require_selected(selection.mine, 0);
}

// Of the cases at one exchanger, one takes part.
void duplicates() {
    market m(2);
    m.run(m.loop(m.waits(a, a, b)), m.bare(m.waits(b, a, b)), m.bare(m.waits(a)));
}

// ---- Stops, deadlines and closes

void stopped() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b)), m.canceller());
}

void stopped_and_partner() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b)), m.loop(m.waits(b)), m.canceller());
}

void stopped_and_two_partners() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b)), m.bare(m.waits(a)), m.bare(m.waits(b)), m.canceller());
}

void thread_stopped_and_partner() {
    market m(2);
    m.run(m.thread(m.comes<until_either>(a, b)), m.bare(m.waits(b)), m.canceller(), m.time());
}

void stopped_below() {
    market m(2);
    m.run(m.bare(m.comes<until_stop>(a, b)), m.bare(m.waits(b)), m.canceller());
}

void timed_out() {
    market m(2);
    m.run(m.loop(m.comes<until_deadline>(a, b)), m.bare(m.waits(b)), m.time());
}

void cancelled() {
    market m(2);
    m.run(m.cancellable_loop(m.waits(a, b)), m.requester(), m.bare(m.waits(b)));
}

void cancelled_and_canceller() {
    market m(2);
    m.run(m.cancellable_loop(m.comes<until_stop>(a, b)), m.requester(), m.bare(m.waits(b)),
          m.canceller());
}

void one_closed() {
    market m(2);
    m.run(m.loop(m.waits(a, b)), m.bare(m.waits(b)), m.closer(a));
}

void both_closed() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b)), m.closer(a), m.closer(b));
}

void thread_closed_and_canceller() {
    market m(2);
    m.run(m.thread(m.comes<until_stop>(a, b)), m.closer(b, a), m.canceller());
}

// ---- Frames destroyed while they wait, and exchangers destroyed by a party that has exchanged

void abandoned() {
    market m(2);
    m.run(m.doomed_loop(m.waits(a, b)), m.killer(), m.bare(m.waits(b)));
}

void abandoned_and_two_partners() {
    market m(2);
    m.run(m.doomed_loop(m.waits(a, b)), m.killer(), m.bare(m.waits(a)), m.bare(m.waits(b)));
}

void abandoned_and_canceller() {
    market m(2);
    m.run(m.doomed_loop(m.comes<until_stop>(a, b)), m.killer(), m.bare(m.waits(b)), m.canceller());
}

void abandoned_at_once() {
    market m(2);
    m.run(m.doomed_loop(m.comes<until_stop>(a, b), true, m.waits(a)), m.bare(m.waits(b)));
}

void abandoned_and_closer() {
    market m(2);
    m.run(m.doomed_loop(m.comes<until_deadline>(a, b)), m.killer(), m.closer(b), m.time());
}

// The other may still be withdrawing its waiter from the exchanger that the first one destroys.
void destroyed() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b)), m.loop(m.waits(b, a).and_destroys(0)));
}

void destroyed_by_thread() {
    market m(2);
    m.run(m.loop(m.comes<until_stop>(a, b)), m.thread(m.waits(b, a).and_destroys(0)),
          m.canceller());
}

void destroyed_below() {
    market m(2);
    m.run(m.bare(m.waits(a, b)), m.bare(m.waits(b, a).and_destroys(0)));
}

// The other may have claimed the selection's waiter, and handed it back, while the selection
// withdraws it.
void destroyed_after_hand_back() {
    market m(2);
    m.before(m.waits(a, b));
    m.run(m.bare(m.waits(a)), m.thread(m.comes<none>(b).and_surely_destroys(1)));
}

// ---- A partner that resumes inline, and arrives at other places of the selection

void inline_partner() {
    market m(2);
    m.run(m.bare(m.waits(a, b)), m.bare(m.waits(b), m.waits(a)));
}

void inline_partner_of_a_loop() {
    market m(2);
    m.run(m.loop(m.waits(a, b)), m.bare(m.waits(b), m.comes<none>(a)));
}

void inline_selection() {
    market m(3);
    m.run(m.bare(m.waits(a, b)), m.bare(m.waits(b, c), m.waits(a, c)), m.bare(m.waits(c)));
}

// ---- More cases than are registered at a time

void from_three() {
    market m(3);
    m.run(m.bare(m.comes<endless, manner::from_a_range>(a, b, c)), m.bare(m.waits(a)),
          m.bare(m.waits(c)));
}

void from_three_against_three() {
    market m(3);
    m.run(m.bare(m.comes<endless, manner::from_a_range>(a, b, c)),
          m.bare(m.comes<endless, manner::from_a_range>(c, b, a)));
    m.require_that_all_have_met();
}

void from_three_and_canceller() {
    market m(3);
    m.run(m.loop(m.comes<until_stop, manner::from_a_range>(a, b, c)), m.bare(m.waits(b)),
          m.canceller());
}

// ---- Two colours

constexpr red red_a{0};
constexpr red red_b{1};
constexpr blue blue_a{0};
constexpr blue blue_b{1};

template <class WaitList>
void colours() {
    market<WaitList> m(2);
    m.run(m.bare(m.waits(red_a, blue_b)), m.bare(m.waits(blue_a, red_b)));
    m.require_that_all_have_met();
}

template <class WaitList>
void colours_and_two_partners() {
    market<WaitList> m(2);
    m.run(m.bare(m.waits(red_a, red_b)), m.bare(m.waits(blue_a)), m.bare(m.waits(blue_b)));
}

// One that is behind the selection is met although the selection has gone.
template <class WaitList>
void colours_behind_selection() {
    market<WaitList> m(2);
    if constexpr (std::is_same_v<WaitList, stack>) {
        m.before(m.waits(red_a));
        m.before(m.waits(red_a, red_b));
    } else {
        m.before(m.waits(red_a, red_b));
        m.before(m.waits(red_a));
    }
    m.run(m.bare(m.waits(blue_b)), m.bare(m.waits(blue_a)));
}

template <class WaitList>
void colours_and_canceller() {
    market<WaitList> m(2);
    m.run(m.loop(m.template comes<until_stop>(red_a, blue_b)), m.bare(m.waits(blue_a)),
          m.canceller());
}

template <class WaitList>
void colours_and_closer() {
    market<WaitList> m(2);
    m.run(m.bare(m.waits(red_a, red_b)), m.bare(m.waits(blue_b)), m.closer(red_a));
}

template <class WaitList>
void colours_destroyed() {
    market<WaitList> m(2);
    m.run(m.bare(m.waits(red_a, red_b)), m.bare(m.waits(blue_b, blue_a).and_destroys(0)));
}

// A closer completes a party that goes on inline, and decides there for the selection that the
// closer is about to complete.
template <class WaitList>
void closer_resumes_partner() {
    market<WaitList> m(2);
    m.template leave_behind<colour::red>(0, [&] { m.before(m.waits(red_a), m.waits(blue_b)); });
    m.run(m.bare(m.waits(red_a, red_b)), m.closer(red_a));
}

constexpr std::array all{
    scene{"select_opposite", "two selections, in opposite orders", opposite_orders,
          reaches(step::commit, step::held_selection)},
    scene{"select_opposite_threads", "the same, by threads", opposite_orders_by_threads,
          reaches(step::commit, step::held_selection)},
    scene{"select_opposite_bare", "the same, without executors", opposite_orders_below,
          reaches(step::commit, step::held_selection)},
    scene{"select_ring", "three selections, each of two of three places", ring,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_ring_bare", "the same, without executors", ring_below,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_three", "three selections of the same places", three_selections,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_two_canceller", "two selections, one of which is stopped",
          two_selections_and_canceller, reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_two_on_one_loop",
          "a selection and its partner on one loop, a selection elsewhere",
          two_selections_on_one_loop, reaches(step::commit, step::stale_claim)},
    scene{"select_two_rounds", "a loop selects twice; its partner exchanges twice", two_rounds,
          reaches(step::commit)},

    scene{"select_partners", "a selection, and a partner at each of its places", two_partners,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_partners_thread", "the same, and the selection is a thread's",
          two_partners_of_a_thread, reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_partners_bare", "the same, and the selection has no executor", two_partners_below,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_partner_before", "a partner waits before the selection begins", partner_before,
          reaches(step::claim_in_wait_list)},
    scene{"select_before", "the selection waits before its partners come", selection_before,
          reaches(step::commit, step::stale_claim)},
    scene{"select_try", "a selection that only tries, a selection and a partner", tries,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_try_waiter", "a selection that only tries, over one that waits",
          tries_over_waiter, reaches(step::claim_in_wait_list)},
    scene{"select_biased", "the first of two waiters is preferred", in_order,
          reaches(step::claim_in_wait_list)},
    scene{"select_duplicates", "selections with two cases at one place", duplicates,
          reaches(step::commit, step::stale_claim, step::held_selection)},

    scene{"select_stopped", "a selection, and a stop", stopped, reaches(step::stop)},
    scene{"select_stop", "a selection, a partner and a stop", stopped_and_partner,
          reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_stop_partners", "the same, with two partners", stopped_and_two_partners,
          reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_stop_thread", "a thread selects, with a deadline; a partner and a stop",
          thread_stopped_and_partner, reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_stop_bare", "a selection without an executor, a partner and a stop",
          stopped_below, reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_deadline", "a selection with a deadline, and a partner", timed_out,
          reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_cancelled", "a selection that its client cancels, and a partner", cancelled,
          reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_cancelled_stop", "the same, with a stop", cancelled_and_canceller,
          reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_closer", "a selection, a partner, and a close of the other place", one_closed,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_closers", "a selection, and closes of both places", both_closed,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_closer_thread", "a thread selects; a close of both places, and a stop",
          thread_closed_and_canceller, reaches(step::commit, step::stale_claim, step::stop)},

    scene{"select_abandoned", "the frame of a selection is destroyed while it waits", abandoned,
          reaches(step::commit, step::stale_claim)},
    scene{"select_abandoned_partners", "the same, with two partners", abandoned_and_two_partners,
          reaches(step::commit, step::stale_claim)},
    scene{"select_abandoned_stop", "the same, with a stop", abandoned_and_canceller,
          reaches(step::commit, step::stale_claim, step::stop)},
    scene{"select_abandoned_at_once", "the same, before its check runs", abandoned_at_once,
          reaches(step::commit, step::stale_claim)},
    scene{"select_abandoned_closer", "the same, with a close and a deadline", abandoned_and_closer,
          reaches(step::commit, step::stale_claim)},
    scene{"select_destroyed", "a selection that has returned destroys a place of the other one",
          destroyed, reaches(step::commit)},
    scene{"select_destroyed_thread", "the same, by a thread; a stop", destroyed_by_thread,
          reaches(step::pinned)},
    scene{"select_destroyed_bare", "the same, without executors", destroyed_below,
          reaches(step::commit)},
    scene{"select_destroyed_claim", "a party that has handed a waiter back destroys the place",
          destroyed_after_hand_back, reaches(step::stale_claim, step::pinned)},

    scene{"select_inline", "a partner resumes within the registration, and arrives again",
          inline_partner, reaches(step::commit, step::stale_claim)},
    scene{"select_inline_loop", "the same, and the selection is on a loop",
          inline_partner_of_a_loop, reaches(step::commit, step::stale_claim)},
    scene{"select_inline_select", "the same, and the partner selects, too", inline_selection,
          reaches(step::commit, step::stale_claim)},

    scene{"select_from", "three cases, registered by two, and two partners", from_three,
          reaches(step::commit, step::stale_claim, step::held_selection)},
    scene{"select_from_two", "two such selections", from_three_against_three,
          reaches(step::commit, step::held_selection)},
    scene{"select_from_stop", "one, a partner and a stop", from_three_and_canceller,
          reaches(step::commit, step::stale_claim, step::stop)},

    scene{"select_fifo", "dual queues: two selections, each of both colours", colours<queue>,
          reaches(step::commit)},
    scene{"select_fifo_partners", "dual queues: a selection and two partners",
          colours_and_two_partners<queue>, reaches(step::commit, step::stale_claim)},
    scene{"select_fifo_behind", "dual queues: a party waits behind a selection",
          colours_behind_selection<queue>, reaches(step::commit, step::stale_claim)},
    scene{"select_fifo_canceller", "dual queues: a selection, a partner and a stop",
          colours_and_canceller<queue>, reaches(step::commit, step::stop)},
    scene{"select_fifo_closer", "dual queues: a selection, a partner and a close",
          colours_and_closer<queue>, reaches(step::commit)},
    scene{"select_fifo_destroyed", "dual queues: a party that has returned destroys one",
          colours_destroyed<queue>, reaches(step::commit)},
    scene{"select_fifo_closer_inline",
          "a closer resumes a party that decides for a selection in the closer's way",
          closer_resumes_partner<queue>},
    scene{"select_lifo", "dual stacks: two selections, each of both colours", colours<stack>,
          reaches(step::commit)},
    scene{"select_lifo_partners", "dual stacks: a selection and two partners",
          colours_and_two_partners<stack>, reaches(step::commit, step::stale_claim)},
    scene{"select_lifo_behind", "dual stacks: a party waits below a selection",
          colours_behind_selection<stack>, reaches(step::commit, step::stale_claim)},
    scene{"select_lifo_canceller", "dual stacks: a selection, a partner and a stop",
          colours_and_canceller<stack>, reaches(step::commit, step::stop)},
    scene{"select_lifo_closer", "dual stacks: a selection, a partner and a close",
          colours_and_closer<stack>, reaches(step::commit)},
    scene{"select_lifo_destroyed", "dual stacks: a party that has returned destroys one",
          colours_destroyed<stack>, reaches(step::commit)},
    scene{"select_lifo_closer_inline",
          "a closer resumes a party that decides for a selection in the closer's way",
          closer_resumes_partner<stack>, reaches(step::refill)},
};

} // namespace

std::span<const scene> select_scenes() {
    return all;
}

} // namespace tryst::model
