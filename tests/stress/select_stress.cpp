// SPDX-License-Identifier: MIT
// Selections against each other, against plain parties, and against every way to end a wait, for as
// long as TRYST_STRESS_SECONDS says (default 5). What they did must have been possible, no item may
// be lost, and no party may wait forever.
#include "stress/any_operation.hpp"
#include "stress/play.hpp"
#include "stress/race.hpp"
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/select.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using detail::step;

// ---- Every kind of party and every way to end a wait.

/// Three exchangers, one with two colours, and a channel: the channels 0 to 4 of the history.
struct selecting_scene {
    static constexpr history::channel_id pair_id = 3;
    static constexpr history::channel_id line_id = 4;

    explicit selecting_scene(std::size_t participants)
        : record(participants + 1), left(static_cast<std::ptrdiff_t>(participants)) {
        record.set_fifo(pair_id);
        record.set_fifo(line_id);
    }

    census items;
    std::array<exchanger<tracked>, 3> ex;
    red_blue_exchanger<tracked> pair;
    synchronous_channel<tracked> line;
    stop_button button;
    history record; ///< The last log is for the thread that presses and closes.
    std::latch left;
    std::atomic<bool> third_is_closed{false};
    std::atomic<bool> over{false};
    std::atomic<long> selections{0};
    std::atomic<long> cases{0};
};

enum class role : std::uint8_t { swaps, red, blue, sends, receives };

/// What one case gives, and where.
template <role Role>
struct place {
    selecting_scene* s;
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
            return s->ex.at(channel).exchange(tracked(s->items, id), std::move(limits)...);
        } else if constexpr (Role == role::red) {
            return s->pair.red(tracked(s->items, id), std::move(limits)...);
        } else if constexpr (Role == role::blue) {
            return s->pair.blue(tracked(s->items, id), std::move(limits)...);
        } else if constexpr (Role == role::sends) {
            return s->line.send(tracked(s->items, id), std::move(limits)...);
        } else {
            return s->line.receive(std::move(limits)...);
        }
    }
};

/// Chooses and records what one participant does.
class chooser {
public:
    chooser(selecting_scene& s, std::size_t number)
        : s_(&s), log_(&s.record[number]), random_(number), next_(first_item(number)) {}

    /// Sometimes, a selection that does not wait.
    bool has_tried() {
        if (random_.roll() != 0) {
            return false;
        }
        common_ = {.way = history::way::tries, .selection = s_->record.tick()};
        const auto receiver = some<role::receives>();
        const auto swapper = some<role::swaps>();
        begin_all(receiver, swapper);
        end_all(try_select(receiver.operation(), swapper.operation()));
        return true;
    }

    std::unique_ptr<any_operation> choose() {
        using enum role;
        const bool first = random_.roll() % 2 == 0;
        switch (random_.roll() % 10) {
        case 0:
            return one(some<swaps>());
        case 1:
            return first ? one(some<red>()) : one(some<blue>());
        case 2:
            return first ? one(some<sends>()) : one(some<receives>());
        case 3:
            return several(exchanger_at(0), exchanger_at(1));
        case 4:
            return several(exchanger_at(1), exchanger_at(0));
        case 5:
            return several(some<red>(), some<receives>());
        case 6:
            return several(some<sends>(), some<swaps>(), some<blue>());
        case 7:
            return several(some<receives>(), some<swaps>(), some<red>());
        case 8:
            return several(exchanger_at(0), exchanger_at(0)); // one takes part
        default:
            return from_range();
        }
    }

private:
    place<role::swaps> exchanger_at(history::channel_id which) { return {s_, next_++, which}; }

    template <role Role>
    place<Role> some() {
        if constexpr (Role == role::swaps) {
            const bool all = !s_->third_is_closed.load(std::memory_order_relaxed);
            return exchanger_at(random_.roll() % (all ? 3 : 2));
        } else {
            constexpr bool has_colour = Role == role::red || Role == role::blue;
            return {s_, next_++, has_colour ? s_->pair_id : s_->line_id};
        }
    }

    template <class... Cases>
    void begin_all(const Cases&... cases) {
        entries_.clear();
        const auto begin = [this](history::call call) {
            call.stop = common_.stop;
            call.deadline = common_.deadline;
            call.relative = common_.relative;
            call.way = common_.way;
            call.selection = common_.selection;
            entries_.push_back(log_->begin(call));
        };
        (begin(cases.call()), ...);
        if (common_.selection != 0) {
            s_->selections.fetch_add(1, std::memory_order_relaxed);
            s_->cases.fetch_add(sizeof...(cases), std::memory_order_relaxed);
        }
    }

    template <class... Results>
    void end_all(const select_result<Results...>& got) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (entries_[I].returned(got.template get<I>()), ...);
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
        const unsigned roll = random_.roll();
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
    std::unique_ptr<any_operation> one(Case single) {
        common_ = {};
        const wait_limits limits = some_limits();
        begin_all(single);
        return make_operation(
            limits, [&](auto... each) { return single.operation(each...); },
            [this](const auto& got) { entries_.front().returned(got); });
    }

    template <class... Cases>
    std::unique_ptr<any_operation> several(Cases... cases) {
        common_ = {.selection = s_->record.tick()};
        const wait_limits limits = some_limits();
        begin_all(cases...);
        const auto fair = [&](auto... each) { return select(cases.operation()..., each...); };
        const auto biased = [&](auto... each) {
            return select_biased(cases.operation()..., each...);
        };
        const auto end = [this](const auto& got) { this->end_all(got); };
        return random_.roll() % 2 == 0 ? make_operation(limits, fair, end)
                                       : make_operation(limits, biased, end);
    }

    std::unique_ptr<any_operation> from_range() {
        common_ = {.selection = s_->record.tick()};
        wait_limits limits;
        limit_by_stop(limits);
        const std::array all{exchanger_at(1), some<role::swaps>(), exchanger_at(0)};
        begin_all(all[0], all[1], all[2]);
        const auto select_among = [&](auto... each) {
            return select_from(all, [](const auto& at) { return at.operation(); }, each...);
        };
        return make_operation(limits, select_among, [this](auto&& got) {
            for (std::size_t i = 0; i != got.size(); ++i) {
                entries_[i].returned(got[i]);
            }
        });
    }

    selecting_scene* s_;
    history::log* log_;
    dice random_;
    long next_;
    history::call common_; ///< What the cases have in common.
    std::vector<history::operation> entries_;
};

template <class Coroutine>
Coroutine coroutine_party(selecting_scene& s, std::size_t number) {
    {
        chooser mine(s, number);
        while (!s.over.load(std::memory_order_relaxed)) {
            if (!mine.has_tried()) {
                const std::unique_ptr<any_operation> next = mine.choose();
                any_operation& operation = *next; // g++ 12 would copy *next
                co_await operation;
            }
        }
    }
    s.left.count_down();
}

void thread_party(selecting_scene& s, std::size_t number) {
    {
        chooser mine(s, number);
        while (!s.over.load(std::memory_order_relaxed)) {
            if (!mine.has_tried()) {
                mine.choose()->wait();
            }
        }
    }
    s.left.count_down();
}

void press_for(selecting_scene& s, history::log& log, std::chrono::milliseconds time) {
    for (const auto end = steady::now() + time; steady::now() < end;) {
        s.button.press(log);
        std::this_thread::yield();
    }
}

/// Presses the stop button for a moment, and closes one exchanger, then all.
void press_and_close(selecting_scene& s, history::log& log) {
    press_for(s, log, 20ms);
    s.third_is_closed.store(true, std::memory_order_relaxed);
    log.close(2, [&s] { s.ex[2].close(); });
    press_for(s, log, 20ms);
    s.over.store(true, std::memory_order_relaxed);
    log.close(0, [&s] { s.ex[0].close(); });
    log.close(1, [&s] { s.ex[1].close(); });
    log.close(s.pair_id, [&s] { s.pair.close(); });
    log.close(s.line_id, [&s] { s.line.close(); });
}

/// As above, and adds up what the selections of all scenes were.
struct counted_scene : selecting_scene {
    using selecting_scene::selecting_scene;
    ~counted_scene() {
        all_selections += selections.load();
        all_cases += cases.load();
    }
    counted_scene(const counted_scene&) = delete;
    counted_scene& operator=(const counted_scene&) = delete;

    static inline long all_selections = 0;
    static inline long all_cases = 0;
};

TEST(SelectStress, ConservesEveryItemHoweverTheWaitsEnd) {
    constexpr std::array steps{step::commit, step::stale_claim, step::held_selection, step::stop};
    forget_steps();
    counted_scene::all_selections = counted_scene::all_cases = 0;
    tally all;
    const stress_time time;
    while (time.goes_on([&] {
        return !all.is_complete() || all.not_selected == 0 ||
               std::ranges::any_of(steps, [](step s) { return count_of(s) == 0; });
    }) && !::testing::Test::HasFailure()) {
        play<counted_scene>({.loops = 2, .coroutines = 8}, all);
        play<counted_scene>({.loops = 2, .coroutines = 3, .bare = 3, .threads = 2}, all);
        play<counted_scene>({.loops = 1, .coroutines = 2, .bare = 1, .threads = 1}, all);
        play<counted_scene>({.loops = 0, .bare = 2, .threads = 3}, all);
    }
    expect_exchanges_and_all_failures(all);
    EXPECT_GT(all.not_selected, 0U);
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
    // Each case waits in one list, where it is claimed at most once: so there is no livelock in
    // which parties hand a case back and claim it again. And each selection is decided once.
    EXPECT_LE(count_of(step::stale_claim), counted_scene::all_cases);
    EXPECT_LE(count_of(step::commit), counted_scene::all_selections);
}

// ---- Ends of life, in races between two threads.

/// Two exchangers, at which one party waits in a selection.
struct selection_race {
    selection_race(census& kept, history& done) : items(kept), record(done) {
        for (auto& each : ex) {
            each = std::make_unique<exchanger<tracked>>(0);
        }
    }

    history::operation begin(history::channel_id at, history::selection_id selection,
                             bool limited) {
        return record[waiter].begin({.given = at,
                                     .channel = at,
                                     .stop = limited ? history::stop_id{1} : 0,
                                     .selection = selection});
    }
    auto wait_at(std::size_t at) {
        return ex.at(at)->exchange(tracked(items, static_cast<long>(at)));
    }
    auto wait_at_both(auto... limits) { return select(wait_at(0), wait_at(1), limits...); }

    /// @param log  its own, if another partner is on another thread.
    bool try_at(history::channel_id at, party log = partner) {
        const long mine = 2 + static_cast<long>(at);
        auto op = record[log].begin({.given = mine, .channel = at, .way = history::way::tries});
        const auto got = ex.at(at)->try_exchange(tracked(items, mine));
        op.returned(got);
        return static_cast<bool>(got);
    }
    void request_stop() {
        record[stopper].stop(1, [&] { stop.request_stop(); });
    }
    void destroy(history::channel_id at) {
        record[destroyer].close(at, [&] { ex.at(at).reset(); });
    }

    census& items;
    history& record;
    std::array<std::unique_ptr<exchanger<tracked>>, 2> ex;
    std::stop_source stop;
    std::atomic<bool> has_met{false}; ///< The partner on the other thread.
};

task<> wait_for_both(selection_race& r, bool limited) {
    const auto selection = r.record.tick();
    auto a = r.begin(0, selection, limited);
    auto b = r.begin(1, selection, limited);
    if (limited) {
        const auto got = co_await r.wait_at_both(r.stop.get_token());
        a.returned(got.get<0>());
        b.returned(got.get<1>());
    } else {
        const auto got = co_await r.wait_at_both();
        a.returned(got.get<0>());
        b.returned(got.get<1>());
    }
}

class SelectLifetimeStress : public Races<selection_race> {
protected:
    /// With a stop or without.
    void wait_in_either_way(selection_race& r) {
        wait_on_loop(wait_for_both(r, items_.created.load() % 2 == 0));
    }
};

TEST_F(SelectLifetimeStress, OfTwoPartnersOneMeetsTheSelection) {
    race_for_a_while({.prepare = [&](auto& r) { wait_on_loop(wait_for_both(r, false)); },
                      .here =
                          [&](auto& r) {
                              if (r.try_at(1)) {
                                  saw("second");
                              }
                          },
                      .there = [](auto& r) { r.has_met = r.try_at(0, stopper); },
                      .finish =
                          [&](auto& r) {
                              if (r.has_met) {
                                  saw("first");
                              }
                              loop_->run_until_idle();
                              EXPECT_EQ(record_.exchanged(), 2U);
                              EXPECT_EQ(record_.failed(exchange_errc::not_selected), 1U);
                          },
                      .must_take = {step::commit, step::stale_claim},
                      .must_see = {"first", "second"}});
}

TEST_F(SelectLifetimeStress, OneExchangerMayBeDestroyedWhileAPartnerComesToTheOther) {
    race_for_a_while(
        {.prepare = [&](auto& r) { wait_in_either_way(r); },
         .here =
             [&](auto& r) {
                 saw(r.try_at(0) ? "met" : "closed");
                 loop_->run_until_idle(); // the selection withdraws from the second one
             },
         .there = [](auto& r) { r.destroy(1); },
         .finish = [&](auto&) { loop_->run_until_idle(); },
         .must_take = {step::commit, step::stale_claim},
         .must_see = {"met", "closed"}});
}

TEST_F(SelectLifetimeStress, BothExchangersMayBeDestroyedWhileAStopReachesForTheSelection) {
    race_for_a_while({.prepare = [&](auto& r) { wait_on_loop(wait_for_both(r, true)); },
                      .here =
                          [&](auto& r) {
                              r.request_stop();
                              loop_->run_until_idle();
                          },
                      .there =
                          [](auto& r) {
                              r.destroy(1);
                              r.destroy(0);
                          },
                      .finish = [&](auto&) { loop_->run_until_idle(); },
                      .must_take = {step::stop, step::commit}});
}

TEST_F(SelectLifetimeStress, AFrameMayBeDestroyedWhileAPartnerClaimsItsCase) {
    race_for_a_while({.prepare =
                          [&](auto& r) {
                              wait_in_either_way(r);
                              keep_loop_busy();
                          },
                      .here = [&](auto&) { loop_.reset(); },
                      .there =
                          [](auto& r) {
                              const bool first = r.try_at(0);
                              const bool second = r.try_at(1);
                              EXPECT_FALSE(first && second);
                              r.has_met = first || second;
                          },
                      .finish = [&](auto& r) { saw(r.has_met ? "claimed" : "withdrawn"); },
                      .must_see = {"claimed", "withdrawn"}});
}

TEST_F(SelectLifetimeStress, AThreadThatSleepsMayBeStoppedAndPairedAtOnce) {
    std::optional<std::thread> sleeper;
    race_for_a_while({.prepare =
                          [&](auto& r) {
                              sleeper.emplace([&r] {
                                  const auto selection = r.record.tick();
                                  auto a = r.begin(0, selection, true);
                                  auto b = r.begin(1, selection, true);
                                  const auto got = sync_wait(r.wait_at_both(r.stop.get_token()));
                                  a.returned(got.template get<0>());
                                  b.returned(got.template get<1>());
                              });
                              for (int i = 0; i != 20; ++i) {
                                  std::this_thread::yield();
                              }
                          },
                      .here = [](auto& r) { r.request_stop(); },
                      .there =
                          [](auto& r) {
                              if (!r.try_at(1)) {
                                  r.try_at(0);
                              }
                          },
                      .finish =
                          [&](auto&) {
                              sleeper->join();
                              saw(record_.exchanged() != 0 ? "exchanged" : "cancelled");
                          },
                      .must_see = {"exchanged", "cancelled"}});
}

} // namespace
} // namespace tryst::test
