// SPDX-License-Identifier: MIT
// Selections against each other, against plain parties, and against every way to end a wait, for as
// long as TRYST_STRESS_SECONDS says (default 5). What they did must have been possible, no item may
// be lost, and no party may wait forever.
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
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using detail::step;

/// Each case waits in one list, where it is claimed at most once: so there is no livelock in which
/// parties hand a case back and claim it again. And each selection is decided once.
void expect_few_retries(long selections, long cases) {
    EXPECT_LE(count_of(step::stale_claim), cases);
    EXPECT_LE(count_of(step::commit), selections);
}

// ---- Every kind of party and every way to end a wait.

/// An operation of any type: a coroutine awaits it, or a thread calls `wait`.
class wish {
public:
    wish() = default;
    wish(const wish&) = delete;
    wish& operator=(const wish&) = delete;
    virtual ~wish() = default;

    virtual bool await_ready() noexcept = 0;
    virtual bool await_suspend(std::coroutine_handle<task<>::promise_type>) noexcept = 0;
    virtual bool
        await_suspend(std::coroutine_handle<detached_coroutine::promise_type>) noexcept = 0;
    virtual void await_resume() = 0;
    virtual void wait() = 0;
};

/// @tparam End  called with the result.
template <class Operation, class End>
class wish_of final : public wish {
public:
    template <class Make>
    wish_of(Make make, End end) : operation_(make()), end_(std::move(end)) {}

    bool await_ready() noexcept override { return operation_.await_ready(); }
    bool await_suspend(std::coroutine_handle<task<>::promise_type> party) noexcept override {
        return operation_.await_suspend(party);
    }
    bool
    await_suspend(std::coroutine_handle<detached_coroutine::promise_type> party) noexcept override {
        return operation_.await_suspend(party);
    }
    void await_resume() override { end_(operation_.await_resume()); }
    void wait() override { end_(operation_.wait()); }

private:
    Operation operation_;
    End end_;
};

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

// What one case gives, and where.

struct at_exchanger {
    selecting_scene* s;
    long id;
    history::channel_id channel;

    history::call call() const { return {.given = id, .channel = channel}; }
    template <class... Stop>
    auto waiting(Stop... stop) const {
        return s->ex.at(channel).exchange(tracked(s->items, id), std::move(stop)...);
    }
    template <class... Stop>
    auto lasting(std::chrono::microseconds patience, Stop... stop) const {
        return s->ex.at(channel).exchange(tracked(s->items, id), patience, std::move(stop)...);
    }
};

struct as_red {
    selecting_scene* s;
    long id;

    history::call call() const {
        return {.given = id, .channel = s->pair_id, .colour = history::colour::red};
    }
    template <class... Stop>
    auto waiting(Stop... stop) const {
        return s->pair.red(tracked(s->items, id), std::move(stop)...);
    }
    template <class... Stop>
    auto lasting(std::chrono::microseconds patience, Stop... stop) const {
        return s->pair.red(tracked(s->items, id), patience, std::move(stop)...);
    }
};

struct as_blue {
    selecting_scene* s;
    long id;

    history::call call() const {
        return {.given = id, .channel = s->pair_id, .colour = history::colour::blue};
    }
    template <class... Stop>
    auto waiting(Stop... stop) const {
        return s->pair.blue(tracked(s->items, id), std::move(stop)...);
    }
    template <class... Stop>
    auto lasting(std::chrono::microseconds patience, Stop... stop) const {
        return s->pair.blue(tracked(s->items, id), patience, std::move(stop)...);
    }
};

struct as_sender {
    selecting_scene* s;
    long id;

    history::call call() const {
        return {.given = id, .channel = s->line_id, .colour = history::colour::red};
    }
    template <class... Stop>
    auto waiting(Stop... stop) const {
        return s->line.send(tracked(s->items, id), std::move(stop)...);
    }
    template <class... Stop>
    auto lasting(std::chrono::microseconds patience, Stop... stop) const {
        return s->line.send(tracked(s->items, id), patience, std::move(stop)...);
    }
};

struct as_receiver {
    selecting_scene* s;
    long id;

    history::call call() const {
        return {.given = id, .channel = s->line_id, .colour = history::colour::blue};
    }
    template <class... Stop>
    auto waiting(Stop... stop) const {
        return s->line.receive(std::move(stop)...);
    }
    template <class... Stop>
    auto lasting(std::chrono::microseconds patience, Stop... stop) const {
        return s->line.receive(patience, std::move(stop)...);
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
        const as_receiver receiver = some<as_receiver>();
        const at_exchanger swapper = some_exchanger();
        begin_all(receiver, swapper);
        end_all(try_select(receiver.waiting(), swapper.waiting()));
        return true;
    }

    std::unique_ptr<wish> choose() {
        switch (random_.roll() % 10) {
        case 0:
            return one(some_exchanger());
        case 1:
            return random_.roll() % 2 == 0 ? one(some<as_red>()) : one(some<as_blue>());
        case 2:
            return random_.roll() % 2 == 0 ? one(some<as_sender>()) : one(some<as_receiver>());
        case 3:
            return several(some_exchanger(0), some_exchanger(1));
        case 4:
            return several(some_exchanger(1), some_exchanger(0));
        case 5:
            return several(some<as_red>(), some<as_receiver>());
        case 6:
            return several(some<as_sender>(), some_exchanger(), some<as_blue>());
        case 7:
            return several(some<as_receiver>(), some_exchanger(), some<as_red>());
        case 8:
            return several(some_exchanger(0), some_exchanger(0)); // one takes part
        default:
            return from_range();
        }
    }

private:
    template <class Case>
    Case some() {
        return {s_, next_++};
    }
    at_exchanger some_exchanger(history::channel_id which) { return {s_, next_++, which}; }
    at_exchanger some_exchanger() {
        const bool all = !s_->third_is_closed.load(std::memory_order_relaxed);
        return some_exchanger(random_.roll() % (all ? 3 : 2));
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

    /// Chooses the limits, begins the cases, and makes the operation.
    template <class Waiting, class Lasting, class End, class... Cases>
    std::unique_ptr<wish> limited(Waiting waiting, Lasting lasting, End end,
                                  const Cases&... cases) {
        const unsigned roll = random_.roll();
        std::stop_token stop;
        if (roll < 6) {
            stop_button::wire wire = s_->button.current();
            stop = std::move(wire.token);
            common_.stop = wire.source;
        }
        std::chrono::microseconds patience{};
        if (roll >= 3 && roll < 8) {
            patience = random_.patience();
            common_.way = patience > 0us ? history::way::waits : history::way::overdue;
            common_.deadline = steady::now() + patience;
            common_.relative = true;
        }
        begin_all(cases...);
        if (roll < 3) {
            return make([&] { return waiting(stop); }, end);
        }
        if (roll < 6) {
            return make([&] { return lasting(patience, stop); }, end);
        }
        if (roll < 8) {
            return make([&] { return lasting(patience); }, end);
        }
        return make([&] { return waiting(); }, end);
    }

    template <class Make, class End>
    static std::unique_ptr<wish> make(Make make, End end) {
        return std::make_unique<wish_of<std::invoke_result_t<Make>, End>>(make, end);
    }

    template <class Case>
    std::unique_ptr<wish> one(Case single) {
        common_ = {};
        return limited(
            [&](auto... stop) { return single.waiting(stop...); },
            [&](auto patience, auto... stop) { return single.lasting(patience, stop...); },
            [this](const auto& got) { entries_.front().returned(got); }, single);
    }

    template <class... Cases>
    std::unique_ptr<wish> several(Cases... cases) {
        common_ = {.selection = s_->record.tick()};
        const auto lasting = [&](auto patience, auto... stop) {
            return select(cases.waiting()..., patience, std::move(stop)...);
        };
        const auto end = [this](const auto& got) { this->end_all(got); };
        return random_.roll() % 2 == 0
                   ? limited(
                         [&](auto... stop) {
                             return select(cases.waiting()..., std::move(stop)...);
                         },
                         lasting, end, cases...)
                   : limited(
                         [&](auto... stop) {
                             return select_biased(cases.waiting()..., std::move(stop)...);
                         },
                         lasting, end, cases...);
    }

    std::unique_ptr<wish> from_range() {
        common_ = {.selection = s_->record.tick()};
        stop_button::wire wire = s_->button.current();
        common_.stop = wire.source;
        const std::array all{some_exchanger(1), some_exchanger(), some_exchanger(0)};
        begin_all(all[0], all[1], all[2]);
        return make(
            [&] {
                return select_from(
                    all, [](const at_exchanger& each) { return each.waiting(); }, wire.token);
            },
            [this](auto&& got) {
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
                const std::unique_ptr<wish> next = mine.choose();
                wish& operation = *next; // g++ 12 would copy *next
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
    expect_few_retries(counted_scene::all_selections, counted_scene::all_cases);
}

// ---- Rings, in which each party could wait for the next.

/// Channels in a ring. Worker i sends to channel i and receives from the one before.
struct ring_scene {
    ring_scene(std::size_t size, long wanted)
        : channels(size), record(size + 1), exchanges_left(wanted),
          left(static_cast<std::ptrdiff_t>(size)) {
        for (std::size_t i = 0; i != size; ++i) {
            record.set_fifo(static_cast<history::channel_id>(i));
        }
    }

    std::vector<synchronous_channel<tracked>> channels;
    census items;
    history record; ///< The last log is for the close.
    std::atomic<long> exchanges_left; ///< The party that takes the last one closes.
    std::latch left;
    std::atomic<long> selections{0};
};

/// What worker `number` of a ring does, one selection at a time.
class ring_worker {
public:
    ring_worker(ring_scene& s, std::size_t number)
        : s_(&s), log_(&s.record[number]), next_channel_(number),
          previous_channel_((number + s.channels.size() - 1) % s.channels.size()),
          next_(first_item(number)) {}

    /// Half of the workers name their cases in the opposite order.
    bool sends_first() const noexcept { return next_channel_ % 2 == 0; }

    auto send_first() { return select_biased(send(), receive()); }
    auto receive_first() { return select_biased(receive(), send()); }

    void begin() {
        const auto selection = s_->record.tick();
        given_ = next_++;
        sent_.emplace(log_->begin({.given = given_,
                                   .channel = static_cast<history::channel_id>(next_channel_),
                                   .colour = history::colour::red,
                                   .selection = selection}));
        received_.emplace(
            log_->begin({.given = next_++,
                         .channel = static_cast<history::channel_id>(previous_channel_),
                         .colour = history::colour::blue,
                         .selection = selection}));
        s_->selections.fetch_add(1, std::memory_order_relaxed);
    }

    /// @returns whether the ring is open.
    template <class Sent, class Received>
    bool end(const Sent& sent, const Received& received) {
        sent_->returned(sent);
        received_->returned(received);
        sent_.reset();
        received_.reset();
        if (sent && s_->exchanges_left.fetch_sub(1, std::memory_order_relaxed) == 1) {
            auto& log = s_->record[s_->channels.size()];
            for (std::size_t i = 0; i != s_->channels.size(); ++i) {
                log.close(static_cast<history::channel_id>(i), [&] { s_->channels[i].close(); });
            }
        }
        return sent.error() != exchange_errc::closed && received.error() != exchange_errc::closed;
    }

private:
    using sending =
        decltype(std::declval<synchronous_channel<tracked>&>().send(std::declval<tracked>()));
    using receiving = decltype(std::declval<synchronous_channel<tracked>&>().receive());

    sending send() { return s_->channels[next_channel_].send(tracked(s_->items, given_)); }
    receiving receive() { return s_->channels[previous_channel_].receive(); }

    ring_scene* s_;
    history::log* log_;
    std::size_t next_channel_;
    std::size_t previous_channel_;
    long next_;
    long given_ = 0;
    std::optional<history::operation> sent_;
    std::optional<history::operation> received_;
};

template <class Coroutine>
Coroutine ring_coroutine(ring_scene& s, std::size_t number) {
    {
        ring_worker me(s, number);
        for (bool open = true; open;) {
            me.begin();
            if (me.sends_first()) {
                const auto got = co_await me.send_first();
                open = me.end(got.template get<0>(), got.template get<1>());
            } else {
                const auto got = co_await me.receive_first();
                open = me.end(got.template get<1>(), got.template get<0>());
            }
        }
    }
    s.left.count_down();
}

void ring_thread(ring_scene& s, std::size_t number) {
    {
        ring_worker me(s, number);
        for (bool open = true; open;) {
            me.begin();
            if (me.sends_first()) {
                const auto got = sync_wait(me.send_first());
                open = me.end(got.get<0>(), got.get<1>());
            } else {
                const auto got = sync_wait(me.receive_first());
                open = me.end(got.get<1>(), got.get<0>());
            }
        }
    }
    s.left.count_down();
}

/// Runs a ring of `threads` threads and, on each of two loops, `coroutines` coroutines.
void run_ring(std::size_t coroutines, std::size_t threads, std::size_t bare, long& selections) {
    constexpr long wanted = 1'000;
    ring_scene s(2 * coroutines + threads + bare, wanted);
    {
        std::array<run_loop, 2> loops;
        std::vector<std::jthread> running;
        std::size_t number = 0;
        for (std::size_t i = 0; i != 2 * coroutines; ++i) {
            loops.at(i % 2).spawn(ring_coroutine<task<>>(s, number++));
        }
        for (std::size_t i = 0; i != threads; ++i) {
            running.emplace_back([&s, mine = number++] { ring_thread(s, mine); });
        }
        for (std::size_t i = 0; i != bare; ++i) {
            running.emplace_back(
                [&s, mine = number++] { ring_coroutine<detached_coroutine>(s, mine); });
        }
        for (run_loop& each : loops) {
            running.emplace_back([&each] { each.run(); });
        }
        s.left.wait();
        for (run_loop& each : loops) {
            each.stop();
        }
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    EXPECT_GE(s.record.exchanged(), 2U * wanted);
    selections += s.selections.load();
}

TEST(SelectStress, NobodyWaitsForeverInARing) {
    constexpr std::array steps{step::commit, step::stale_claim, step::held_selection};
    forget_steps();
    long selections = 0;
    const stress_time time;
    while (time.goes_on([&] {
        return std::ranges::any_of(steps, [](step s) { return count_of(s) == 0; });
    }) && !::testing::Test::HasFailure()) {
        run_ring(0, 2, 0, selections);
        run_ring(0, 3, 0, selections);
        run_ring(1, 0, 0, selections);
        run_ring(2, 1, 0, selections);
        run_ring(8, 2, 2, selections);
        run_ring(0, 0, 3, selections);
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
    expect_few_retries(selections, 2 * selections);
}

// ---- Dijkstra's dining philosophers, who pass forks to each other.

/// Forks lie in a ring. A fork passes between the two philosophers beside it, at an exchanger of
/// its own: red gives it, blue takes it. The items are tokens.
struct table {
    explicit table(std::size_t size, long wanted)
        : forks(size), in_use(size), record(size + 1), meals_left(wanted),
          left(static_cast<std::ptrdiff_t>(size)) {
        for (std::size_t i = 0; i != size; ++i) {
            record.set_fifo(static_cast<history::channel_id>(i));
        }
    }

    std::vector<red_blue_exchanger<tracked>> forks;
    std::vector<std::atomic<bool>> in_use;
    census items;
    history record; ///< The last log is for the close.
    std::atomic<long> meals_left; ///< The philosopher that eats the last one closes.
    std::latch left;
    std::atomic<long> selections{0};
};

/// Holds no fork, one or two. Each step of it is one selection between both forks.
class philosopher {
public:
    philosopher(table& t, std::size_t number)
        : t_(&t), log_(&t.record[number]), fork_{number, (number + 1) % t.forks.size()},
          next_(first_item(number)) {}

    using passing =
        decltype(std::declval<red_blue_exchanger<tracked>&>().red(std::declval<tracked>()));

    // What to offer at each fork.
    bool gives(std::size_t side) const noexcept { return holds_.at(side); }

    /// Takes any fork that it does not hold, or gives any that it holds.
    template <bool GivesLeft, bool GivesRight>
    auto step_with() {
        const auto selection = t_->record.tick();
        t_->selections.fetch_add(1, std::memory_order_relaxed);
        const long left = begin<GivesLeft>(0, selection);
        const long right = begin<GivesRight>(1, selection);
        return select(pass<GivesLeft>(0, left), pass<GivesRight>(1, right));
    }

    /// @returns whether the table is open.
    template <class Result>
    bool end(const Result& got) {
        entries_[0]->returned(got.template get<0>());
        entries_[1]->returned(got.template get<1>());
        entries_[0].reset();
        entries_[1].reset();
        if (got.template get<0>().error() == exchange_errc::closed ||
            got.template get<1>().error() == exchange_errc::closed) {
            return false;
        }
        holds_.at(got.index()) = !holds_.at(got.index());
        if (holds_[0] && holds_[1]) {
            eat();
        }
        return true;
    }

private:
    template <bool Gives>
    long begin(std::size_t side, history::selection_id selection) {
        entries_.at(side).emplace(
            log_->begin({.given = next_,
                         .channel = static_cast<history::channel_id>(fork_.at(side)),
                         .colour = Gives ? history::colour::red : history::colour::blue,
                         .selection = selection}));
        return next_++;
    }

    template <bool Gives>
    auto pass(std::size_t side, long id) {
        auto& fork = t_->forks[fork_.at(side)];
        if constexpr (Gives) {
            return fork.red(tracked(t_->items, id));
        } else {
            return fork.blue(tracked(t_->items, id));
        }
    }

    void eat() {
        for (const std::size_t each : fork_) {
            EXPECT_FALSE(t_->in_use[each].exchange(true, std::memory_order_relaxed))
                << "two philosophers hold fork " << each;
        }
        dwell(4);
        for (const std::size_t each : fork_) {
            t_->in_use[each].store(false, std::memory_order_relaxed);
        }
        if (t_->meals_left.fetch_sub(1, std::memory_order_relaxed) == 1) {
            auto& log = t_->record[t_->forks.size()];
            for (std::size_t i = 0; i != t_->forks.size(); ++i) {
                log.close(static_cast<history::channel_id>(i), [&] { t_->forks[i].close(); });
            }
        }
    }

    table* t_;
    history::log* log_;
    std::array<std::size_t, 2> fork_;
    std::array<bool, 2> holds_{true, false}; // all begin with their left forks
    std::array<std::optional<history::operation>, 2> entries_;
    long next_;
};

template <class Coroutine>
Coroutine dine(table& t, std::size_t number) {
    {
        philosopher me(t, number);
        for (bool open = true; open;) {
            if (me.gives(0) && me.gives(1)) {
                const auto got = co_await me.template step_with<true, true>();
                open = me.end(got);
            } else if (me.gives(0)) {
                const auto got = co_await me.template step_with<true, false>();
                open = me.end(got);
            } else if (me.gives(1)) {
                const auto got = co_await me.template step_with<false, true>();
                open = me.end(got);
            } else {
                const auto got = co_await me.template step_with<false, false>();
                open = me.end(got);
            }
        }
    }
    t.left.count_down();
}

TEST(SelectStress, PhilosophersDine) {
    constexpr std::array steps{step::commit, step::stale_claim};
    constexpr std::size_t philosophers = 5;
    constexpr long meals = 500;
    forget_steps();
    long selections = 0;
    const stress_time time;
    while (time.goes_on([&] {
        return std::ranges::any_of(steps, [](step s) { return count_of(s) == 0; });
    }) && !::testing::Test::HasFailure()) {
        table t(philosophers, meals);
        {
            std::array<run_loop, 2> loops;
            std::vector<std::jthread> running;
            for (std::size_t i = 0; i != philosophers; ++i) {
                if (i < 3) {
                    loops.at(i % 2).spawn(dine<task<>>(t, i));
                } else {
                    running.emplace_back([&t, i] { sync_wait(dine<task<>>(t, i)); });
                }
            }
            for (run_loop& each : loops) {
                running.emplace_back([&each] { each.run(); });
            }
            t.left.wait();
            for (run_loop& each : loops) {
                each.stop();
            }
        }
        EXPECT_EQ(t.record.violations_at_rest(), "");
        EXPECT_EQ(t.items.alive.load(), 0);
        EXPECT_LE(t.meals_left.load(), 0);
        selections += t.selections.load();
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
    expect_few_retries(selections, 2 * selections);
}

// ---- Ends of life, in races between two threads.

enum party : std::uint8_t { waiter, partner, stopper, destroyer, parties };

/// Two exchangers, at which one party waits in a selection.
struct selection_race {
    selection_race(census& kept, history& done)
        : items(kept), record(done), first(std::make_unique<exchanger<tracked>>(0)),
          second(std::make_unique<exchanger<tracked>>(0)) {}

    census& items;
    history& record;
    std::unique_ptr<exchanger<tracked>> first;
    std::unique_ptr<exchanger<tracked>> second;
    std::stop_source stop;
};

task<> wait_for_both(selection_race& r, bool limited) {
    const auto selection = r.record.tick();
    const history::stop_id stop = limited ? 1 : 0;
    auto a = r.record[waiter].begin({.given = 1, .stop = stop, .selection = selection});
    auto b =
        r.record[waiter].begin({.given = 2, .channel = 1, .stop = stop, .selection = selection});
    if (limited) {
        const auto got =
            co_await select(r.first->exchange(tracked(r.items, 1)),
                            r.second->exchange(tracked(r.items, 2)), r.stop.get_token());
        a.returned(got.get<0>());
        b.returned(got.get<1>());
    } else {
        const auto got = co_await select(r.first->exchange(tracked(r.items, 1)),
                                         r.second->exchange(tracked(r.items, 2)));
        a.returned(got.get<0>());
        b.returned(got.get<1>());
    }
}

task<> wait_with_loop_busy(run_loop& loop) {
    while (true) {
        co_await loop.schedule();
    }
}

bool try_first(selection_race& r) {
    auto op = r.record[partner].begin({.given = 3, .way = history::way::tries});
    const auto got = r.first->try_exchange(tracked(r.items, 3));
    op.returned(got);
    return static_cast<bool>(got);
}

bool try_second(selection_race& r) {
    auto op = r.record[partner].begin({.given = 4, .channel = 1, .way = history::way::tries});
    const auto got = r.second->try_exchange(tracked(r.items, 4));
    op.returned(got);
    return static_cast<bool>(got);
}

void request_stop(selection_race& r) {
    r.record[stopper].stop(1, [&] { r.stop.request_stop(); });
}

void destroy_first(selection_race& r) {
    r.record[destroyer].close(0, [&] { r.first.reset(); });
}

void destroy_second(selection_race& r) {
    r.record[destroyer].close(1, [&] { r.second.reset(); });
}

class SelectLifetimeStress : public ::testing::Test {
protected:
    SelectLifetimeStress() { forget_steps(); }

    /// As in lifetime_stress.cpp. Both exchangers are destroyed at the end of each race.
    template <class Missing, class Prepare, class Here, class There, class Finish>
    void race_for_a_while(Missing is_missing, Prepare prepare, Here here, There there,
                          Finish finish) {
        const auto play = [&](selection_race& r, starting_line& line) {
            prepare(r);
            line.meet();
            here(r);
            line.meet();
            finish(r);
        };
        const auto ended = [this] {
            EXPECT_EQ(record_.violations_at_rest(), "");
            EXPECT_EQ(items_.alive.load(), 0);
            if (!HasFailure()) {
                record_.clear(); // nobody waits any more
            }
            return !HasFailure();
        };
        test::race_for_a_while([&] { return selection_race(items_, record_); }, is_missing, play,
                               there, ended);
    }

    void wait_on_loop(selection_race& r, bool limited) {
        loop_.emplace();
        loop_->spawn(wait_for_both(r, limited));
        loop_->run_until_idle();
    }

    census items_;
    history record_{parties};
    std::optional<run_loop> loop_;
};

TEST_F(SelectLifetimeStress, OfTwoPartnersOneMeetsTheSelection) {
    long first = 0;
    long second = 0;
    std::atomic<bool> met_first{false};
    const auto is_missing = [&] {
        return first == 0 || second == 0 || missing(step::commit, step::stale_claim);
    };
    race_for_a_while(
        is_missing, [&](selection_race& r) { wait_on_loop(r, false); },
        [&](selection_race& r) { second += try_second(r) ? 1 : 0; },
        [&](selection_race& r) {
            // A log of its own, because the other partner is on another thread.
            auto op = r.record[stopper].begin({.given = 3, .way = history::way::tries});
            const auto got = r.first->try_exchange(tracked(r.items, 3));
            op.returned(got);
            met_first.store(static_cast<bool>(got), std::memory_order_relaxed);
        },
        [&](selection_race&) {
            first += met_first.load(std::memory_order_relaxed) ? 1 : 0;
            loop_->run_until_idle();
            EXPECT_EQ(record_.exchanged(), 2U);
            EXPECT_EQ(record_.failed(exchange_errc::not_selected), 1U);
        });
    EXPECT_FALSE(is_missing());
}

TEST_F(SelectLifetimeStress, OneExchangerMayBeDestroyedWhileAPartnerComesToTheOther) {
    long met = 0;
    long closed = 0;
    const auto is_missing = [&] {
        return met == 0 || closed == 0 || missing(step::commit, step::stale_claim);
    };
    race_for_a_while(
        is_missing, [&](selection_race& r) { wait_on_loop(r, r.items.created.load() % 2 == 0); },
        [&](selection_race& r) {
            const bool has_met = try_first(r);
            ++(has_met ? met : closed);
            loop_->run_until_idle(); // the selection withdraws from the second one
        },
        destroy_second, [&](selection_race&) { loop_->run_until_idle(); });
    EXPECT_FALSE(is_missing());
}

TEST_F(SelectLifetimeStress, BothExchangersMayBeDestroyedWhileAStopReachesForTheSelection) {
    const auto is_missing = [&] { return missing(step::stop, step::commit); };
    race_for_a_while(
        is_missing, [&](selection_race& r) { wait_on_loop(r, true); },
        [&](selection_race& r) {
            request_stop(r);
            loop_->run_until_idle();
        },
        [](selection_race& r) {
            destroy_second(r);
            destroy_first(r);
        },
        [&](selection_race&) { loop_->run_until_idle(); });
    EXPECT_FALSE(is_missing());
}

TEST_F(SelectLifetimeStress, AFrameMayBeDestroyedWhileAPartnerClaimsItsCase) {
    long claimed = 0;
    long withdrawn = 0;
    std::atomic<bool> has_met{false};
    const auto is_missing = [&] { return claimed == 0 || withdrawn == 0; };
    race_for_a_while(
        is_missing,
        [&](selection_race& r) {
            wait_on_loop(r, r.items.created.load() % 2 == 0);
            loop_->spawn(wait_with_loop_busy(*loop_)); // the loop dies with work in its queue
        },
        [&](selection_race&) { loop_.reset(); },
        [&](selection_race& r) {
            const bool first = try_first(r);
            const bool second = try_second(r);
            EXPECT_FALSE(first && second);
            has_met.store(first || second, std::memory_order_relaxed);
        },
        [&](selection_race&) {
            ++(has_met.load(std::memory_order_relaxed) ? claimed : withdrawn);
        });
    EXPECT_FALSE(is_missing());
}

TEST_F(SelectLifetimeStress, AThreadThatSleepsMayBeStoppedAndPairedAtOnce) {
    std::optional<std::thread> sleeper;
    long exchanged = 0;
    long cancelled = 0;
    const auto is_missing = [&] { return exchanged == 0 || cancelled == 0; };
    race_for_a_while(
        is_missing,
        [&](selection_race& r) {
            sleeper.emplace([&r] {
                const auto selection = r.record.tick();
                auto a = r.record[waiter].begin({.given = 1, .stop = 1, .selection = selection});
                auto b = r.record[waiter].begin(
                    {.given = 2, .channel = 1, .stop = 1, .selection = selection});
                const auto got =
                    sync_wait(select(r.first->exchange(tracked(r.items, 1)),
                                     r.second->exchange(tracked(r.items, 2)), r.stop.get_token()));
                a.returned(got.get<0>());
                b.returned(got.get<1>());
            });
            for (int i = 0; i != 20; ++i) {
                std::this_thread::yield();
            }
        },
        request_stop,
        [](selection_race& r) {
            if (!try_second(r)) {
                try_first(r);
            }
        },
        [&](selection_race&) {
            sleeper->join();
            ++(record_.exchanged() != 0 ? exchanged : cancelled);
        });
    EXPECT_FALSE(is_missing());
}

} // namespace
} // namespace tryst::test
