// SPDX-License-Identifier: MIT
/// @file
/// What the parties of a stress test choose from: where pairs swap, where colours meet in each
/// order, and where parties select among all that. Each operation is recorded.
#pragma once

#include "stress/any_operation.hpp"
#include "stress/scene.hpp"
#include "stress/step_counts.hpp"
#include "support/history.hpp"
#include "support/short_exchanger.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tryst::test {

using detail::step;

// ---- What the parties choose from. `steps` are those that the parties of the core must take.

enum class choice : std::uint8_t { pairs, colours, selections };

struct pairs {
    using coloured = red_blue_exchanger<tracked>; // unused
    static constexpr choice choices = choice::pairs;
    static constexpr bool fifo = true;
    static constexpr std::array steps{
        step::claim_in_wait_list,  step::claim_in_arena, step::offer_in_arena,
        step::completion_in_place, step::expiry,         step::growth,
        step::shrinkage,           step::stop,           step::own_stop};
};

struct fifo_colours {
    using coloured = red_blue_exchanger<tracked>;
    static constexpr choice choices = choice::colours;
    static constexpr bool fifo = true;
    static constexpr std::array steps{step::claim_in_wait_list,
                                      step::completion_in_place,
                                      step::stop,
                                      step::own_stop,
                                      step::vacancy,
                                      step::recycling};
};

/// Segments end after every other cell.
struct short_fifo_colours : fifo_colours {
    using coloured = short_queue_exchanger<tracked>;
    static constexpr std::array steps{step::claim_in_wait_list,
                                      step::completion_in_place,
                                      step::stop,
                                      step::own_stop,
                                      step::vacancy,
                                      step::recycling,
                                      step::sweeping};
};

struct lifo_colours {
    using coloured = red_blue_exchanger<tracked, tracked, order::lifo>;
    static constexpr choice choices = choice::colours;
    static constexpr bool fifo = false;
    static constexpr std::array steps{step::claim_in_wait_list,
                                      step::claim_in_arena,
                                      step::offer_in_arena,
                                      step::expiry,
                                      step::growth,
                                      step::shrinkage,
                                      step::stop,
                                      step::own_stop,
                                      step::completion_in_place,
                                      step::vacancy,
                                      step::refill};
};

struct selections {
    using coloured = red_blue_exchanger<tracked>;
    static constexpr choice choices = choice::selections;
    static constexpr bool fifo = true;
    static constexpr std::array steps{step::commit, step::stale_claim, step::held_selection,
                                      step::stop};
};

/// Three exchangers, one with two colours, and a channel: the channels 0 to 4 of the history.
template <class Venue>
struct meeting {
    static constexpr history::channel_id sides_id = 3;
    static constexpr history::channel_id line_id = 4;

    explicit meeting(std::size_t participants)
        : record(participants + 1), left(static_cast<std::ptrdiff_t>(participants)) {
        if (Venue::fifo) {
            record.set_fifo(sides_id);
        }
        record.set_fifo(line_id);
    }

    census items;
    std::array<exchanger<tracked>, 3> ex;
    typename Venue::coloured sides;
    synchronous_channel<tracked> line;
    stop_button button;
    history record; ///< The last log is for the thread that presses and closes.
    std::latch left;
    std::atomic<unsigned> tide{10}; ///< How many in 20 are red now.
    std::atomic<bool> third_is_closed{false};
    std::atomic<bool> over{false};
    bool limits_all = false; ///< Each wait has a stop or a deadline. Set it before the first.

    // Of all scenes.
    static inline std::atomic<long> selections_begun{0};
    static inline std::atomic<long> cases_begun{0};
    static inline std::atomic<long> events{0}; ///< That took place.
};

enum class role : std::uint8_t { swaps, red, blue, sends, receives };

/// What one case gives, and where.
template <class Venue, role Role>
struct place {
    meeting<Venue>* s;
    long id;
    history::channel_id channel;

    history::call call() const {
        using enum history::colour;
        return {.given = id,
                .channel = channel,
                .colour = Role == role::swaps                        ? any
                          : Role == role::red || Role == role::sends ? red
                                                                     : blue};
    }

    template <class... Limits>
    auto operation(Limits... limits) const {
        if constexpr (Role == role::swaps) {
            return s->ex.at(channel).exchange(item(), std::move(limits)...);
        } else if constexpr (Role == role::red) {
            return s->sides.red(item(), std::move(limits)...);
        } else if constexpr (Role == role::blue) {
            return s->sides.blue(item(), std::move(limits)...);
        } else if constexpr (Role == role::sends) {
            return s->line.send(item(), std::move(limits)...);
        } else {
            return s->line.receive(std::move(limits)...);
        }
    }

    auto tried() const {
        if constexpr (Role == role::swaps) {
            return s->ex.at(channel).try_exchange(item());
        } else if constexpr (Role == role::red) {
            return s->sides.try_red(item());
        } else {
            return s->sides.try_blue(item());
        }
    }

    tracked item() const { return {s->items, id}; }
};

/// A case that takes no part.
template <class Place>
struct absent_case {
    Place place;

    history::call call() const { return {.given = place.id, .channel = nowhere}; }
    auto operation() const { return case_if(false, place.operation()); }

private:
    static constexpr history::channel_id nowhere = 5;
};

/// An event as a case.
template <class Make>
struct event_case {
    history::call known;
    Make operation;

    history::call call() const { return known; }
};

/// Makes operations that coroutines and threads of the core wait for.
struct any_operations {
    using operation = std::unique_ptr<any_operation>;

    template <class Make, class End>
    static operation make(const wait_limits& limits, const Make& make, const End& end) {
        return make_operation(limits, make, end);
    }
};

/// Chooses and records what one participant does.
/// @tparam Maker  its `make(limits, make, end)` returns an `operation`, for which the participant
///   waits. It begins what `make(limits...)` returns, and calls `end` with the result.
template <class Venue, class Maker = any_operations>
class chooser {
public:
    using operation = typename Maker::operation;

    chooser(meeting<Venue>& s, std::size_t number, Maker maker = {})
        : s_(&s), log_(&s.record[number]), random_(number), next_(first_item(number)),
          maker_(std::move(maker)) {}

    /// Sometimes, an attempt that does not wait.
    bool has_tried() {
        if (random_.roll() != 0) {
            return false;
        }
        common_ = {.way = history::way::tries};
        if constexpr (Venue::choices == choice::selections) {
            common_.selection = s_->record.tick();
            const auto receiver = some<role::receives>();
            const auto swapper = some<role::swaps>();
            begin_all(receiver, swapper);
            end_all(try_select(receiver.operation(), swapper.operation()));
        } else if constexpr (Venue::choices == choice::pairs) {
            try_one(some<role::swaps>());
        } else {
            is_red() ? try_one(some<role::red>()) : try_one(some<role::blue>());
        }
        return true;
    }

    operation choose() {
        using enum role;
        if constexpr (Venue::choices == choice::selections) {
            if (random_.roll() < 4) {
                if (prepare_round()) {
                    return serve();
                }
            }
        }
        if constexpr (Venue::choices == choice::pairs) {
            return one(some<swaps>());
        } else if constexpr (Venue::choices == choice::colours) {
            return is_red() ? one(some<red>()) : one(some<blue>());
        } else {
            switch (random_.roll() % 10) {
            case 0:
                return one(some<swaps>());
            case 1:
                return is_red() ? one(some<red>()) : one(some<blue>());
            case 2:
                return is_red() ? one(some<sends>()) : one(some<receives>());
            case 3:
                return several(exchanger_at(0), exchanger_at(1));
            case 4:
                return several(exchanger_at(1), exchanger_at(0));
            case 5:
                return several(some<red>(), some<receives>(), some_time());
            case 6:
                return several(some<sends>(), absent_case{exchanger_at(0)}, some<blue>(),
                               some_stop());
            case 7:
                return several(some<receives>(), some<swaps>(), some<red>());
            case 8:
                return several(exchanger_at(0), exchanger_at(0)); // one takes part
            default:
                return from_range();
            }
        }
    }

    /// The operation has suspended its coroutine, on an executor where nobody else could have
    /// resumed it. So it has its place in a queue, if it is one case.
    void has_suspended() {
        if (common_.selection == 0) {
            entries_.front().queued(s_->record.tick());
        }
    }

private:
    bool is_red() { return random_.roll() < s_->tide.load(std::memory_order_relaxed); }

    place<Venue, role::swaps> exchanger_at(history::channel_id which) {
        return {s_, next_++, which};
    }

    template <role Role>
    place<Venue, Role> some() {
        if constexpr (Role != role::swaps) {
            constexpr bool has_colour = Role == role::red || Role == role::blue;
            return {s_, next_++, has_colour ? s_->sides_id : s_->line_id};
        } else if constexpr (Venue::choices == choice::pairs) {
            return exchanger_at(0);
        } else {
            const bool all = !s_->third_is_closed.load(std::memory_order_relaxed);
            return exchanger_at(random_.roll() % (all ? 3 : 2));
        }
    }

    auto some_time() {
        const auto patience = random_.patience();
        return event_case{{.given = next_++,
                           .deadline = steady::now() + patience,
                           .relative = true,
                           .way = history::way::comes},
                          [patience] { return sleep_for(patience); }};
    }

    auto some_stop() {
        const stop_button::wire wire = s_->button.current();
        return event_case{{.given = next_++, .stop = wire.source, .way = history::way::comes},
                          [token = wire.token] { return stopped(token); }};
    }

    void begin_one(history::call call, history::stamp place_since = history::never) {
        if (call.way != history::way::comes) {
            call.stop = common_.stop;
            call.deadline = common_.deadline;
            call.relative = common_.relative;
            call.way = common_.way;
        }
        call.selection = common_.selection;
        call.place_since = place_since;
        entries_.push_back(log_->begin(call));
    }

    template <class... Cases>
    void begin_all(const Cases&... cases) {
        entries_.clear();
        (begin_one(cases.call()), ...);
        if (common_.selection != 0) {
            count_cases();
        }
    }

    void count_cases() {
        s_->selections_begun.fetch_add(1, std::memory_order_relaxed);
        s_->cases_begun.fetch_add(static_cast<long>(entries_.size()), std::memory_order_relaxed);
    }

    template <class Result>
    static constexpr bool is_event = std::is_same_v<Result, exchange_result<void, void>>;

    template <class... Results>
    void end_all(const select_result<Results...>& got) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (entries_[I].returned(got.template get<I>()), ...);
            const bool came = ((I == got.index() && is_event<Results>) || ...);
            s_->events.fetch_add(came ? 1 : 0, std::memory_order_relaxed);
        }(std::index_sequence_for<Results...>());
    }

    void limit_by_stop(wait_limits& limits) {
        stop_button::wire wire = s_->button.current();
        limits.stop = std::move(wire.token);
        common_.stop = wire.source;
    }

    /// Chooses the limits.
    wait_limits some_limits() {
        wait_limits limits;
        const unsigned roll = s_->limits_all ? random_.roll() % 8 : random_.roll();
        if (roll < 6) {
            limit_by_stop(limits);
        }
        if (roll >= 3 && roll < 8) {
            limits.patience = random_.patience();
            common_.way = *limits.patience > 0us ? history::way::waits : history::way::overdue;
            common_.deadline = steady::now() + *limits.patience;
            common_.relative = true;
        }
        return limits;
    }

    template <class Case>
    void try_one(Case single) {
        begin_all(single);
        entries_.front().returned(single.tried());
    }

    template <class Case>
    operation one(Case single) {
        common_ = {};
        const wait_limits limits = some_limits();
        begin_all(single);
        return maker_.make(
            limits, [single](auto... each) { return single.operation(each...); },
            [this](const auto& got) { entries_.front().returned(got); });
    }

    template <class... Cases>
    operation several(Cases... cases) {
        common_ = {.selection = s_->record.tick()};
        const wait_limits limits = some_limits();
        begin_all(cases...);
        const auto fair = [=](auto... each) { return select(cases.operation()..., each...); };
        const auto biased = [=](auto... each) {
            return select_biased(cases.operation()..., each...);
        };
        const auto end = [this](const auto& got) { this->end_all(got); };
        return random_.roll() % 2 == 0 ? maker_.make(limits, fair, end)
                                       : maker_.make(limits, biased, end);
    }

    operation from_range() {
        common_ = {.selection = s_->record.tick()};
        wait_limits limits;
        limit_by_stop(limits);
        const std::array all{exchanger_at(1), some<role::swaps>(), exchanger_at(0)};
        begin_all(all[0], all[1], all[2]);
        const auto select_among = [all](auto... each) {
            return select_from(all, [](const auto& at) { return at.operation(); }, each...);
        };
        return maker_.make(limits, select_among, [this](auto&& got) {
            for (std::size_t i = 0; i != got.size(); ++i) {
                entries_[i].returned(got[i]);
            }
        });
    }

    // ---- A set of cases.

    using swap = exchange_case<exchanger<tracked>>;
    using send = send_case<synchronous_channel<tracked>>;
    using receive = receive_case<synchronous_channel<tracked>>;
    template <role Role>
    using operation_at = decltype(std::declval<place<Venue, Role>>().operation());
    using red = operation_at<role::red>;
    using blue = operation_at<role::blue>;
    using set = case_set<std::size_t, swap, send, receive, red, blue>;

    /// A case of the set.
    struct served {
        history::call call{};
        bool is_there = false;
        bool is_idle = false;
        bool brings_nothing = false;
        history::stamp place_since = history::never;
        std::variant<typename set::template handle<swap>, typename set::template handle<send>,
                     typename set::template handle<receive>>
            handle{};
    };

    template <role Role>
    void add(std::size_t i) {
        auto made = some<Role>();
        for (const served& each : cases_) {
            const bool is_same = each.is_there && each.call.channel == made.channel;
            if (is_same && (Role == role::swaps || each.call.colour != made.call().colour)) {
                return; // not on both sides of one exchanger
            }
        }
        cases_.at(i) = {
            .call = made.call(), .is_there = true, .brings_nothing = Role == role::receives};
        cases_.at(i).handle = set_.add(made.operation(), i);
    }

    void add_some(std::size_t i) {
        switch (random_.roll() % 4) {
        case 0:
            return add<role::swaps>(i);
        case 1:
            return is_red() ? add<role::sends>(i) : add<role::receives>(i);
        default:
            return is_red() ? add<role::red>(i) : add<role::blue>(i);
        }
    }

    /// Between two rounds.
    void change(std::size_t i) {
        served& mine = cases_.at(i);
        if (!mine.is_there) {
            return add_some(i);
        }
        const bool leaves = random_.roll() == 0;
        std::visit(
            [&](auto handle) {
                if (leaves) {
                    const auto left = set_.remove(handle);
                    EXPECT_EQ(left.has_value(), !mine.is_idle);
                    EXPECT_TRUE(!left || left->error() == exchange_errc::not_selected);
                } else if constexpr (requires { set_.rearm(handle, std::declval<tracked>()); }) {
                    if (mine.is_idle) {
                        mine.call.given = next_++;
                        set_.rearm(handle, tracked(s_->items, mine.call.given));
                        mine.is_idle = false;
                    }
                }
            },
            mine.handle);
        mine.is_there = !leaves;
    }

    /// Changes the set. @returns whether it has a case.
    bool prepare_round() {
        for (std::size_t i = 0; i != cases_.size(); ++i) {
            change(i);
        }
        return std::ranges::any_of(
            cases_, [](const served& each) { return each.is_there && !each.is_idle; });
    }

    /// The next round of the set.
    operation serve() {
        common_ = {.selection = s_->record.tick()};
        const wait_limits limits = some_limits();
        const history::stamp now = s_->record.tick();
        entries_.clear();
        in_round_.clear();
        for (std::size_t i = 0; i != cases_.size(); ++i) {
            served& mine = cases_.at(i);
            if (!mine.is_there || mine.is_idle) {
                continue;
            }
            if (mine.brings_nothing) {
                mine.call.given = next_++; // another number in each round
            }
            mine.place_since = std::min(mine.place_since, now);
            begin_one(mine.call, mine.place_since);
            in_round_.push_back(i);
        }
        count_cases();
        return maker_.make(
            limits, [this](auto... each) { return set_.next(each...); },
            [this](auto got) { this->end_round(got); });
    }

    void end_round(typename set::result_type& got) {
        const auto reason =
            got ? exchange_errc::not_selected : static_cast<exchange_errc>(got.error().value());
        for (std::size_t k = 0; k != in_round_.size(); ++k) {
            served& mine = cases_.at(in_round_[k]);
            if (!got || got.token() != in_round_[k]) {
                entries_[k].failed(reason, mine.call.given);
                continue;
            }
            got.visit([&](auto& result) { entries_[k].returned(result); });
            mine.is_there = got.error() != exchange_errc::closed;
            mine.is_idle = !mine.brings_nothing;
            mine.place_since = history::never;
        }
    }

    meeting<Venue>* s_;
    history::log* log_;
    dice random_;
    long next_;
    history::call common_; ///< What the cases have in common.
    std::vector<history::operation> entries_;
    set set_;
    std::array<served, 4> cases_{};
    std::vector<std::size_t> in_round_; ///< The cases of `entries_`.
    Maker maker_;
};

/// Awaits what its party has chosen, and tells it when the coroutine has suspended.
template <class Venue>
class watched {
public:
    explicit watched(chooser<Venue>& party) : party_(&party), operation_(party.choose()) {}

    bool await_ready() noexcept { return operation_->await_ready(); }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        const bool stays_here = executor_of(coroutine).alone_here();
        chooser<Venue>& party = *party_; // in the coroutine, which may be gone soon
        if (!operation_->await_suspend(coroutine)) {
            return false;
        }
        if (stays_here) {
            party.has_suspended();
        }
        return true;
    }

    void await_resume() { operation_->await_resume(); }

private:
    chooser<Venue>* party_;
    std::unique_ptr<any_operation> operation_;
};

template <class Coroutine, class Venue>
Coroutine coroutine_party(meeting<Venue>& s, std::size_t number) {
    {
        chooser<Venue> mine(s, number);
        while (!s.over.load(std::memory_order_relaxed)) {
            if (!mine.has_tried()) {
                watched<Venue> next(mine);
                co_await next;
            }
        }
    }
    s.left.count_down();
}

template <class Venue>
void thread_party(meeting<Venue>& s, std::size_t number) {
    {
        chooser<Venue> mine(s, number);
        while (!s.over.load(std::memory_order_relaxed)) {
            if (!mine.has_tried()) {
                mine.choose()->wait();
            }
        }
    }
    s.left.count_down();
}

/// Presses the stop button for a moment, while the tide turns. On a busy machine, the moment lasts
/// until the tide has turned in each way, because the parties run between two presses.
template <class Venue>
void press_for(meeting<Venue>& s, history::log& log, std::chrono::milliseconds time) {
    constexpr std::array tides{10U, 2U, 18U, 10U, 0U, 20U, 10U};
    constexpr unsigned presses = 16; // at each tide
    const auto end = steady::now() + time;
    for (unsigned i = 0; i < presses * tides.size() || steady::now() < end; ++i) {
        s.tide.store(tides.at(i / presses % tides.size()), std::memory_order_relaxed);
        s.button.press(log);
        std::this_thread::yield();
    }
}

template <class Venue>
void close_all(meeting<Venue>& s, history::log& log) {
    s.over.store(true, std::memory_order_relaxed);
    for (const history::channel_id i : {0U, 1U, 2U}) {
        log.close(i, [&s, i] { s.ex.at(i).close(); });
    }
    log.close(s.sides_id, [&s] { s.sides.close(); });
    log.close(s.line_id, [&s] { s.line.close(); });
}

/// Closes one exchanger after a moment, and later all.
template <class Venue>
void press_and_close(meeting<Venue>& s, history::log& log) {
    press_for(s, log, 20ms);
    s.third_is_closed.store(true, std::memory_order_relaxed);
    log.close(2, [&s] { s.ex[2].close(); });
    press_for(s, log, 20ms);
    close_all(s, log);
}

struct venue_names {
    template <class Venue>
    static std::string GetName(int /*index*/) { // NOLINT(readability-identifier-naming)
        return std::is_same_v<Venue, pairs>                ? "pairs"
               : std::is_same_v<Venue, fifo_colours>       ? "fifo"
               : std::is_same_v<Venue, short_fifo_colours> ? "short_fifo"
               : std::is_same_v<Venue, lifo_colours>       ? "lifo"
                                                           : "selections";
    }
};

} // namespace tryst::test
