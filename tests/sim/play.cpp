// SPDX-License-Identifier: MIT
#include "sim/play.hpp"

#include "sim/memory.hpp"
#include "sim/parties.hpp"
#include "sim/scene.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <new>
#include <string>
#include <utility>

namespace tryst::sim {

namespace {

/// How many participants of each kind there are, and what happens to them.
struct plot {
    std::array<venue::kind, 2> kinds{};
    std::size_t meetings, circles, capacity; // see `numbers`
    std::size_t loops, coroutines, families, victims, late_spawners;
    std::size_t bare, threads, thread_tasks;
    std::size_t operations; ///< Of each party, at most.
    std::size_t buttons, cancellers, closers, destroyers;
    bool shutdown = false; ///< Loops are stopped and destroyed while coroutines may wait there.
    bool ends_open = false; ///< Loops are destroyed before exchangers.
    long failing_allocation = 0;
    run_loop_options loop_options;
    mood temper;
    pace how;
};

pace choose_pace(random& dice, bool large) {
    using policy = pace::policy;
    static constexpr std::array<std::size_t, 8> short_turns{1, 1, 2, 3, 5, 10, 40, 300};
    static constexpr std::array<std::size_t, 4> long_turns{10, 50, 300, 3'000};
    static constexpr std::array<std::size_t, 5> rarely{0, 0, 20, 100, 1'000};
    static constexpr std::array<std::size_t, 4> dwelling{0, 2, 4, 16};
    static constexpr std::array policies{policy::fair, policy::fair, policy::ranked,
                                         policy::unfair};
    static constexpr std::array reuses{memory::reuse::at_once, memory::reuse::at_once,
                                       memory::reuse::late, memory::reuse::never};
    pace how;
    how.turns = dice.among(policies);
    how.mean_turn = large ? dice.among(long_turns) : dice.among(short_turns);
    how.dwell = dice.among(dwelling);
    how.spurious = dice.among(rarely);
    how.drift = dice.among(rarely);
    // Time always passes, because a lone loop prolongs its offer until a moment has passed.
    how.tick = instant(1 + (dice.one_in(2) ? 0 : dice.below(100'000)));
    how.processors = static_cast<unsigned>(dice.between(1, 4));
    how.addresses = dice.among(reuses);
    return how;
}

/// From `least` to `most`, and 0 for what is below: so -4 to 1 is a rare 1.
struct range {
    int least;
    int most;
};

/// The numbers of a large, a medium and a small crowd.
constexpr struct {
    std::size_t plot::* number;
    std::array<range, 3> of;
} numbers[] = {
    {&plot::loops, {{{1, 6}, {1, 3}, {0, 2}}}},
    {&plot::meetings, {{{1, 8}, {1, 3}, {0, 1}}}},
    {&plot::coroutines, {{{100, 600}, {2, 30}, {0, 3}}}},
    {&plot::families, {{{0, 3}, {0, 2}, {-4, 1}}}},
    {&plot::victims, {{{0, 9}, {0, 3}, {0, 1}}}},
    {&plot::bare, {{{0, 3}, {0, 3}, {0, 2}}}},
    {&plot::threads, {{{0, 5}, {0, 3}, {0, 2}}}},
    {&plot::thread_tasks, {{{0, 0}, {0, 1}, {-2, 1}}}},
    {&plot::operations, {{{1, 3}, {1, 5}, {1, 3}}}},
    {&plot::circles, {{{0, 5}, {0, 2}, {0, 3}}}},
    {&plot::buttons, {{{1, 20}, {1, 4}, {1, 3}}}},
    {&plot::cancellers, {{{0, 2}, {0, 2}, {0, 3}}}},
    {&plot::late_spawners, {{{0, 2}, {0, 1}, {-2, 1}}}},
    {&plot::capacity, {{{0, 3}, {0, 3}, {0, 3}}}},
    {&plot::closers, {{{-4, 1}, {-4, 1}, {-4, 1}}}},
    {&plot::destroyers, {{{-5, 2}, {-5, 2}, {-5, 2}}}},
};

plot choose_plot(random& dice, long failing_allocation, crowd largest) {
    plot p{};
    // In half of the runs a small crowd.
    const std::size_t size =
        std::min<std::size_t>(largest == crowd::large ? dice.below(8) / 2 : dice.between(1, 3), 2);
    const bool large = size == 0;
    for (const auto& [number, of] : numbers) {
        const auto [least, most] = of.at(size);
        const auto drawn = dice.below(static_cast<std::size_t>(most - least + 1));
        p.*number = static_cast<std::size_t>(std::max(least + static_cast<int>(drawn), 0));
    }
    if (p.meetings == 0) { // private ones only
        p.circles = std::max<std::size_t>(p.circles, 1);
        p.coroutines = p.families = p.victims = p.threads = p.thread_tasks = 0;
    }
    p.shutdown = dice.one_in(4);
    p.ends_open = dice.one_in(3);
    if (p.shutdown || p.ends_open || p.thread_tasks != 0) {
        p.bare = 0; // a coroutine without an executor could adopt one that is destroyed too early
    }
    p.loop_options.max_spins = static_cast<unsigned>(dice.one_in(2) ? 0 : dice.below(20));
    p.temper.stoppable = dice.among(std::array<std::size_t, 5>{0, 1, 1, 2, 4});
    p.temper.timed = dice.among(std::array<std::size_t, 5>{0, 1, 2, 3, 6});
    if (p.shutdown && dice.one_in(2)) {
        p.temper.timed = 1; // stops of loops and deadlines at the same instant
    }
    p.temper.trying = dice.one_in(3) ? 0 : dice.between(4, 20);
    p.temper.selecting = p.meetings == 0 || dice.one_in(3) ? 0 : dice.between(1, 6);
    p.temper.serving = p.meetings == 0 || dice.one_in(2) ? 0 : dice.between(1, 4);
    if (p.temper.selecting != 0 && p.meetings == 1) {
        p.meetings = dice.between(1, 3);
    }
    p.temper.disturbing = dice.one_in(3) ? dice.between(1, 10) : 0;
    p.temper.moves = !p.shutdown && !p.ends_open && p.loops > 1 && dice.one_in(3);
    p.failing_allocation = failing_allocation >= 0 ? failing_allocation
                           : dice.one_in(8)        ? static_cast<long>(dice.between(1, 40))
                                                   : 0;
    p.how = choose_pace(dice, large);
    using kind = venue::kind;
    static constexpr std::array kinds{kind::plain,  kind::plain,  kind::plain,   kind::counted,
                                      kind::fifo,   kind::fifo,   kind::channel, kind::channel,
                                      kind::lifo,   kind::lifo,   kind::lifo,    kind::lifo,
                                      kind::buffer, kind::buffer, kind::heavy,   kind::heavy};
    for (kind& each : p.kinds) {
        each = dice.among(kinds);
    }
    return p;
}

/// The run itself, on thread 0.
class stage {
public:
    explicit stage(const plot& p) : plot_(p) { scene_.temper = p.temper; }

    void play(report& told) {
        memory::fail_at(plot_.failing_allocation);
        when_all_sleep([this] { return scene_.check_asleep(); });
        build();
        if (choices().one_in(2)) {
            enter_parties();
            start_loops();
        } else {
            start_loops();
            enter_parties();
        }
        start_threads();
        look_around();
        destroy_bare_coroutines();
        meet_those_who_wait();
        end_waits();
        end_loops();
        memory::fail_at(0);
        end_exchangers();
        check(scene_.check_end());
        const history& all = scene_.told();
        told.operations = scene_.operations();
        told.exchanged = all.exchanged();
        told.abandoned = all.abandoned();
        for (std::size_t i = 1; i != told.failed.size(); ++i) {
            told.failed.at(i) = all.failed(static_cast<exchange_errc>(i));
        }
        told.allocation_failed = memory::has_failed();
    }

private:
    void check(const std::string& wrong) {
        if (!wrong.empty()) {
            fail(wrong);
        }
    }

    template <class Body>
    void start_thread(const char* name, Body body) {
        const memory::reserve unfailing;
        threads_.push_back(start(name + std::to_string(threads_.size() + 1), std::move(body)));
    }

    template <class Body>
    void start_late_thread(const char* name, Body body) {
        start_thread(name, [this, body] {
            dawdle();
            body();
        });
    }

    void build() {
        for (std::size_t i = 0; i != plot_.meetings; ++i) {
            scene_.add_meeting(plot_.kinds.at(i % plot_.kinds.size()), plot_.capacity);
        }
        for (std::size_t i = 0; i != plot_.buttons; ++i) {
            scene_.add_button();
        }
        for (std::size_t i = 0; i != plot_.loops; ++i) {
            scene_.add_loop(plot_.loop_options);
        }
    }

    // ---- Loops.

    void start_loops() {
        for (looper& each : scene_.loops) {
            start_thread("loop-", [this, &each] { run(each); });
            each.thread = threads_.back();
        }
        if (plot_.shutdown) {
            for (looper& each : scene_.loops) {
                enter_stoppers(each);
            }
        }
    }

    /// One thread that may touch the loop last, or several that respect its end.
    void enter_stoppers(looper& l) {
        const std::size_t how_many = choices().between(1, 2);
        for (std::size_t i = 0; i != how_many; ++i) {
            start_late_thread("stopper-", [&l, how_many] {
                note("stops loop {}", static_cast<long>(l.thread));
                if (how_many == 1) {
                    l.loop->stop(); // the loop may be gone when this returns
                } else {
                    while_accepting(l, [&] { l.loop->stop(); });
                }
            });
        }
    }

    void run(looper& l) {
        for (std::size_t i = choices().below(3); i != 0; --i) {
            l.loop->run_until_idle();
            yield();
        }
        l.loop->run();
        note("has left its loop");
        l.accepts = false;
        while (l.posters != 0) {
            yield();
        }
        l.stopped = true;
        if (plot_.shutdown) {
            scene_.destroy_frames([&] {
                note("destroys its loop");
                l.loop.reset();
            });
        }
    }

    looper& some_loop() { return scene_.loops[choices().below(scene_.loops.size())]; }

    /// Spawns what `make` makes, if there is memory for it.
    template <class Make>
    void spawn(looper& on, Make make) {
        while_accepting(on, [&] {
            try {
                on.loop->spawn(make());
            } catch (const std::bad_alloc&) {
                note("a task is given up for want of memory");
            }
        });
    }

    // ---- Parties.

    std::size_t some_operations() { return choices().between(1, plot_.operations); }

    void enter_coroutine() {
        spawn(some_loop(), [&] {
            return party<task<>>(scene_, some_operations(), scene::presence(scene_),
                                 plot_.temper.moves);
        });
    }

    task<> some_family() {
        switch (choices().below(4)) {
        case 0:
            return rivals<plain_exchanger>(scene_, some_operations(), scene::presence(scene_));
        case 1:
            return rivals<item_channel>(scene_, some_operations(), scene::presence(scene_));
        default:
            return family(scene_, choices().between(0, 5), some_operations());
        }
    }

    void enter_parties() {
        if (plot_.loops != 0) {
            for (std::size_t i = 0; i != plot_.coroutines; ++i) {
                enter_coroutine();
            }
            for (std::size_t i = 0; i != plot_.families; ++i) {
                spawn(some_loop(), [&] { return some_family(); });
            }
            for (std::size_t i = 0; i != plot_.victims; ++i) {
                looper& on = some_loop();
                spawn(on,
                      [&] { return killer(scene_, on, some_operations(), choices().below(8)); });
            }
        }
        for (std::size_t i = 0; i != plot_.circles; ++i) {
            const auto which = plot_.kinds.at(i % plot_.kinds.size());
            meeting& private_one =
                scene_.add_meeting(which == venue::kind::channel ? venue::kind::fifo : which,
                                   choices().one_in(2) ? 0 : plot_.capacity);
            private_one.circle = choices().between(2, 4);
            // A party that resumes inline, in the call of a batch, must not destroy the buffer.
            private_one.has_batches = plot_.bare == 0;
            for (std::size_t n = !private_one.ex.exists() ? 0 : private_one.circle; n != 0; --n) {
                enter_one_of_circle(private_one);
            }
        }
    }

    /// At once, or at an instant that deadlines and cancellers share.
    void enter_one_of_circle(meeting& where) {
        const std::size_t kind = choices().below(4);
        if (kind < 2 && plot_.loops != 0) {
            const auto enter = [this, &on = some_loop(), &where] {
                spawn(on, [&] {
                    return one_of_circle<task<>>(scene_, where, scene::presence(scene_));
                });
            };
            if (choices().one_in(2)) {
                enter();
            } else {
                start_late_thread("spawner-", enter);
            }
        } else if (kind == 2 && plot_.bare != 0) {
            start_late_thread("bare-", [this, &where] {
                enter_bare([&] {
                    return one_of_circle<test::bare_coroutine>(scene_, where,
                                                               scene::presence(scene_));
                });
            });
        } else {
            start_late_thread("thread-", [this, &where] { thread_of_circle(scene_, where); });
        }
    }

    template <class Make>
    void enter_bare(Make make) {
        try {
            test::bare_coroutine entered = make();
            const memory::reserve unfailing;
            bare_.push_back(std::move(entered));
        } catch (const std::bad_alloc&) {
            note("a bare coroutine is given up for want of memory");
        }
    }

    // ---- Threads.

    /// Waits for some turns, or until an instant that other threads wait for, too.
    void dawdle() {
        const std::size_t how = choices().below(4);
        if (how == 0) {
            return;
        }
        if (how == 1) {
            for (std::size_t i = choices().below(20); i != 0; --i) {
                yield();
            }
        } else {
            const instant grain = plot_.temper.grain;
            const instant until =
                now() - now() % grain + grain * static_cast<long>(choices().below(5));
            while (now() < until) {
                sleep(this, until);
            }
        }
    }

    meeting* some_meeting() {
        return plot_.meetings == 0 ? nullptr : &scene_.meetings[choices().below(plot_.meetings)];
    }

    void start_threads() {
        for (std::size_t i = 0; i != plot_.threads; ++i) {
            start_late_thread("thread-", [this] { thread_party(scene_, some_operations()); });
        }
        for (std::size_t i = 0; i != plot_.thread_tasks; ++i) {
            start_thread("thread-", [this] { thread_task(scene_, some_operations()); });
        }
        for (std::size_t i = 0; i != plot_.bare; ++i) {
            start_thread("bare-", [this] {
                enter_bare([this] {
                    return party<test::bare_coroutine>(scene_, some_operations(),
                                                       scene::presence(scene_));
                });
            });
        }
        for (std::size_t i = 0; i != plot_.late_spawners && plot_.loops != 0; ++i) {
            start_thread("spawner-", [this] {
                for (std::size_t n = choices().between(1, 4); n != 0; --n) {
                    dawdle();
                    enter_coroutine();
                }
            });
        }
        for (std::size_t i = 0; i != plot_.cancellers; ++i) {
            start_thread("canceller-", [this] { cancel(); });
        }
        for (std::size_t i = 0; i != plot_.closers; ++i) {
            start_late_thread("closer-", [this] {
                meeting* const where = some_meeting();
                if (where != nullptr && !where->dying) {
                    scene_.close(*where);
                }
            });
        }
        for (std::size_t i = 0; i != plot_.destroyers; ++i) {
            start_late_thread("destroyer-", [this] {
                if (meeting* const where = some_meeting()) {
                    scene_.destroy(*where);
                    if (choices().one_in(2)) { // perhaps at the same address
                        scene_.add_meeting(where->ex.what(), plot_.capacity);
                    }
                }
            });
        }
    }

    void cancel() {
        for (std::size_t i = choices().between(1, 4); i != 0; --i) {
            dawdle();
            if (choices().one_in(3)) {
                note("a storm");
                for (button& each : scene_.buttons) {
                    scene_.press(each);
                }
            } else if (meeting* const where = some_meeting(); where != nullptr &&
                                                              where->ex.is_buffer() &&
                                                              where->open && choices().one_in(2)) {
                scene_.set_limit(*where);
            } else {
                scene_.press(scene_.buttons[choices().below(scene_.buttons.size())]);
            }
        }
    }

    // ---- The end.

    void look_around() {
        until_quiet();
        check(scene_.check_quiet());
    }

    /// A coroutine without an executor may be destroyed only when no partner can be resuming it:
    /// now.
    void destroy_bare_coroutines() {
        if (choices().one_in(2)) {
            return;
        }
        for (test::bare_coroutine& each : bare_) {
            if (scene_.waits_without_executor(each.frame()) && choices().one_in(2)) {
                note("destroys a bare coroutine");
                each.destroy();
            }
        }
        look_around();
    }

    /// Every waiter can be met.
    void meet_those_who_wait() {
        for (std::size_t i = choices().below(4); i != 0; --i) {
            const auto where = std::ranges::find_if(scene_.meetings, [&](meeting& each) {
                return each.ex.exists() && scene_.somebody_who_waits_at(each) != nullptr;
            });
            if (where == scene_.meetings.end()) {
                return;
            }
            const history::colour waiting = scene_.somebody_who_waits_at(*where)->colour;
            scene_.try_once(*where,
                            waiting == history::colour::red    ? history::colour::blue
                            : waiting == history::colour::blue ? history::colour::red
                                                               : waiting,
                            true);
            look_around();
        }
    }

    void end_waits() {
        for (meeting& each : scene_.meetings) {
            each.open = false;
        }
        for (meeting& each : scene_.meetings) {
            if (plot_.ends_open && !scene_.thread_waits_at(each)) {
                continue;
            }
            if (each.ex.exists() && choices().one_in(2)) {
                scene_.close(each);
            }
            scene_.destroy(each);
        }
        look_around();
    }

    void end_loops() {
        for (looper& each : scene_.loops) {
            if (!each.stopped) {
                if (plot_.shutdown) {
                    fail("a loop has missed its stop");
                }
                note("stops loop {}", static_cast<long>(each.thread));
                each.loop->stop();
            }
        }
        for (const thread_id each : threads_) {
            join(each);
        }
        bare_.clear();
        for (looper& each : scene_.loops) {
            scene_.destroy_frames([&] {
                note("destroys loop {}", static_cast<long>(each.thread));
                each.loop.reset();
            });
        }
    }

    void end_exchangers() {
        for (meeting& each : scene_.meetings) {
            scene_.destroy(each);
        }
    }

    const plot& plot_;
    scene scene_;
    std::deque<test::bare_coroutine> bare_;
    std::deque<thread_id> threads_;
};

} // namespace

report play(random choices, long failing_allocation, crowd largest) {
    const plot p = choose_plot(choices, failing_allocation, largest);
    report told;
    const verdict ended = run(choices, p.how, [&] { stage(p).play(told); });
    static_cast<verdict&>(told) = ended;
    return told;
}

} // namespace tryst::sim
