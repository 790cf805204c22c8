// SPDX-License-Identifier: MIT
// run_loop as it is shipped: its mailbox, how it sleeps, wakes up and stops; and what runs on it.
// Also the run-down protection of what other threads use, and the numbers of threads.
#include "model/platform.hpp"
#include "model/scenes.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/detail/platform/portable_sleep_word.hpp>
#include <tryst/detail/run/parker.hpp>
#include <tryst/detail/run/rundown.hpp>
#include <tryst/redis/detail/arrivals.hpp>
#include <tryst/tryst.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <utility>

namespace tryst::model {

namespace {

/// A node that writes plain memory: its run must be ordered after its post.
struct message : executor_node {
    message() {
        run = [](executor_node* node) noexcept { ++static_cast<message*>(node)->delivered; };
    }
    void post_to(auto& loop) {
        written = 1;
        loop.post(this);
    }
    int written = 0;
    int delivered = 0;
};

struct two_messages : std::array<message, 2> {
    bool are_delivered() const { return front().delivered + back().delivered == 2; }
    void require_delivered() const {
        require(front().delivered == 1 && back().delivered == 1, "not delivered once");
    }
};

/// A thread that lets the time pass, until after all deadlines.
constexpr auto pass_time = [] { the_checker().os().advance(1'000'000, site::current()); };

/// Two threads post to a loop that may sleep, and one stops it.
void posts() {
    auto loop = std::make_unique<run_loop>();
    two_messages messages;
    run_threads([&] { loop->run(); }, [&] { messages[0].post_to(*loop); },
                [&] {
                    messages[1].post_to(*loop);
                    loop->stop();
                });
    // What came after the stop waits for the next run.
    loop->run_until_idle();
    messages.require_delivered();
}

/// A loop is destroyed as soon as `run` has returned.
void stopped() {
    auto loop = std::make_unique<run_loop>();
    message last;
    run_threads(
        [&] {
            loop->run();
            loop.reset();
        },
        [&, at = loop.get()] {
            last.post_to(*at);
            at->stop();
        });
    require(last.delivered == 1, "what was posted before the stop was not run");
}

/// A stop that finds another pending happens-before the return of the `run` that both end.
void stopped_twice() {
    bell returned;
    run_loop loop;
    int before = 0;
    run_threads(
        [&] {
            loop.stop();
            returned.ring();
        },
        [&] {
            before = 1;
            loop.stop();
            returned.ring();
        },
        [&] {
            const bool both = returned.listen() == 2;
            loop.run();
            if (both) {
                the_checker().reached(0, "both stops came before", site::current());
                require(before == 1, "the stop was not seen");
            }
        });
}

// ---- A parker without a futex: on a mutex and a condition variable.

class mutex {
public:
    void lock() noexcept {
        // The model's mutex: acquires what the last unlock has released.
        while (word_.value.exchange(1, std::memory_order_acquire) != 0) {
            word_.sleep(1);
        }
    }
    void unlock() noexcept { word_.store_and_wake(0); }

private:
    detail::sleep_word word_;
};

/// Orders nothing by itself.
class condition {
public:
    template <class Ready>
    void wait(std::unique_lock<mutex>& lock, Ready ready) noexcept {
        wait_until(lock, detail::clock::time_point(std::chrono::nanoseconds(never)), ready);
    }
    template <class Ready>
    void wait_until(std::unique_lock<mutex>& lock, detail::clock::time_point deadline,
                    Ready ready) noexcept {
        while (!ready() && detail::clock::now() < deadline) {
            const auto seen = word_.value.load(std::memory_order_relaxed);
            lock.unlock();
            word_.sleep_until(seen, deadline);
            lock.lock();
        }
    }
    void notify_one() noexcept {
        word_.store_and_wake(word_.value.load(std::memory_order_relaxed) + 1);
    }

private:
    detail::sleep_word word_;
};

using portable_parker = detail::basic_parker<
    detail::portable_sleep_word<detail::atomic<std::uint32_t>, mutex, condition>>;

/// The owner destroys its parker as soon as it is awake.
void parked_on_a_mutex() {
    auto bed = std::make_unique<portable_parker>();
    int before = 0;
    run_threads(
        [&] {
            bed->park();
            require(before == 1, "the wake-up was not seen");
            bed.reset();
        },
        [&, at = bed.get()] {
            before = 1;
            at->unpark();
        });
}

/// The same, with a deadline.
void parked_on_a_mutex_until() {
    auto bed = std::make_unique<portable_parker>();
    run_threads(
        [&] {
            if (!bed->park_until(detail::clock::time_point(std::chrono::nanoseconds(2'000)))) {
                bed->park(); // it is owed a token
            }
            bed.reset();
        },
        [at = bed.get()] { at->unpark(); },
        [] { the_checker().os().advance(3'000, site::current()); });
}

/// A timer and a post come to a sleeping loop at the same time.
void timer_and_post() {
    struct alarm : executor_node, timer_node { // is armed on the loop, as by an operation
        run_loop loop;
        bool rung = false;
    } timer;
    timer.deadline = run_loop::time_point(std::chrono::nanoseconds(2'000));
    timer.fire = [](timer_node* node) noexcept { static_cast<alarm*>(node)->rung = true; };
    timer.run = [](executor_node* node) noexcept {
        auto& self = static_cast<alarm&>(*node);
        self.loop.executor().arm(&self);
    };
    timer.loop.post(&timer);
    message letter;
    run_threads([&] { timer.loop.run(); },
                [&] {
                    letter.post_to(timer.loop);
                    timer.loop.stop();
                },
                pass_time);
    timer.loop.run_until_idle();
    require(timer.rung && letter.delivered == 1, "a timer or a post was lost");
}

/// The loop ends, and is destroyed, as soon as it has had both a timer and a post, whose poster may
/// still be about to wake it.
void timer_and_last_post() {
    struct both : executor_node, timer_node {
        std::unique_ptr<run_loop> loop = std::make_unique<run_loop>();
        bool armed = false;
        int left = 2;

        void one_done() noexcept {
            if (--left == 0) {
                loop->stop();
            }
        }
    } scene;
    scene.deadline = run_loop::time_point(std::chrono::nanoseconds(2'000));
    scene.fire = [](timer_node* node) noexcept { static_cast<both*>(node)->one_done(); };
    scene.run = [](executor_node* node) noexcept {
        auto& self = static_cast<both&>(*node);
        if (!std::exchange(self.armed, true)) {
            self.loop->executor().arm(&self);
        } else {
            self.one_done();
        }
    };
    scene.loop->post(&scene);
    scene.loop->run_until_idle(); // arms the timer
    run_threads(
        [&] {
            scene.loop->run();
            scene.loop.reset();
        },
        [&, at = scene.loop.get()] { at->post(&scene); }, pass_time);
}

// ---- An executor on another loop

/// A loop that sees only that it has been woken.
struct woken_loop {
    detail::atomic<int> calls{0};
    loop_turns* turns = nullptr;

    /// Runs turns until `done`, each for a call.
    template <class Done>
    void run_until(Done done) {
        for (int answered = 0; !done(); ++answered) {
            detail::yield_until([&] { return calls.load(std::memory_order_acquire) != answered; });
            turns->run_turn();
        }
    }
};

class count_calls {
public:
    count_calls(loop_turns& turns, woken_loop& loop) : loop_(&loop) { loop.turns = &turns; }
    void wake() noexcept { loop_->calls.fetch_add(1, std::memory_order_release); }

private:
    woken_loop* loop_;
};

/// Two threads post to an executor that is destroyed after both nodes have run. The poster that
/// wakes the loop may then still be in `wake`.
void executor_destroyed_after_posts() {
    woken_loop loop;
    auto executor = std::make_unique<loop_executor<count_calls>>(loop);
    two_messages messages;
    run_threads(
        [&] {
            loop.run_until([&] { return messages.are_delivered(); });
            executor.reset();
        },
        [&, at = executor.get()] { messages[0].post_to(*at); },
        [&, at = executor.get()] { messages[1].post_to(*at); });
    messages.require_delivered();
}

/// A turn that nothing called for may come between a post and its wake-up.
void executor_runs_early() {
    woken_loop loop;
    auto executor = std::make_unique<loop_executor<count_calls>>(loop);
    two_messages messages;
    run_threads(
        [&] {
            loop.turns->run_turn();
            if (messages[0].delivered == 1 && loop.calls.load(std::memory_order_relaxed) == 0) {
                the_checker().reached(0, "a node ran before its wake-up", site::current());
            }
            loop.run_until([&] { return messages.are_delivered(); });
            executor.reset();
        },
        [&, at = executor.get()] {
            messages[0].post_to(*at);
            messages[1].post_to(*at);
        });
    messages.require_delivered();
}

// ---- Exchanges between real loops

using channel = exchanger<std::unique_ptr<int>>;

task<> party(channel& ex, int mine, int& got) {
    auto result = co_await ex.exchange(std::make_unique<int>(mine));
    require(result.has_value(), "closed");
    got = **result;
}

/// An exchanger, and a party that only tries there: on a thread, and again at the end if it has met
/// nobody.
class late_party {
public:
    explicit late_party(int item) : item_(item) {}

    void come() { met_ = ex.try_exchange(std::make_unique<int>(item_)).has_value(); }
    bool met() const { return met_; }
    void come_at_last() {
        if (!met_) {
            come();
            require(met_, "nobody waits");
        }
    }

    channel ex{0};

private:
    int item_;
    bool met_ = false;
};

/// Runs a party on a loop of its own.
auto loop_of(channel& ex, int mine, int& got) {
    return [&ex, mine, &got] { sync_wait(party(ex, mine, got)); };
}

void exchange_between_loops() {
    channel ex(0);
    std::array<int, 2> got{};
    run_threads(loop_of(ex, 1, got[0]), loop_of(ex, 2, got[1]));
    require(got[0] == 2 && got[1] == 1, "not swapped");
}

void exchange_between_loops_in_arena() {
    channel ex(1);
    std::array<int, 3> got{};
    const auto third = [&] {
        auto result = ex.try_exchange(std::make_unique<int>(3));
        got[2] = result ? **result : 0;
        if (result) {
            sync_wait(party(ex, 4, got[2]));
        }
    };
    run_threads(loop_of(ex, 1, got[0]), loop_of(ex, 2, got[1]), third);
    require(got[0] != 0 && got[1] != 0, "not swapped");
}

// ---- Tasks that end elsewhere

task<int> hop(run_loop& to, int value) {
    co_await to.schedule();
    co_return value;
}

/// Calls `body` with a loop that another thread runs until it returns.
template <class Body>
void beside_loop(Body body) {
    run_loop other;
    run_threads(
        [&] {
            body(other);
            other.stop();
        },
        [&] { other.run(); });
}

/// The task of a sync_wait ends on another loop.
void task_ends_elsewhere() {
    beside_loop([](run_loop& other) { require(sync_wait(hop(other, 7)) == 7, "another value"); });
}

/// Two children of a when_all end on two loops: the last one resumes the awaiter.
void join_on_two_loops() {
    beside_loop([](run_loop& other) {
        const auto both = sync_wait(when_all(hop(other, 7), hop(other, 8)));
        require(std::get<0>(both) == 7 && std::get<1>(both) == 8, "other values");
    });
}

task<int> nested(channel& ex) {
    auto got = co_await ex.exchange(std::make_unique<int>(1));
    co_return **got;
}

/// A coroutine without executor awaits a task, which its partner may complete before the coroutine
/// has suspended.
void task_ends_inline() {
    late_party partner(2);
    int got = 0;
    run_threads(
        [&] {
            [](channel& at, int& theirs) -> test::detached_coroutine {
                theirs = co_await nested(at);
            }(partner.ex, got);
        },
        [&] { partner.come(); });
    partner.come_at_last();
    require(got == 2, "the awaiter was not resumed");
}

// ---- Sleeps, handles, the first of several

using nanoseconds = std::chrono::nanoseconds;

/// A sleeping task is stopped, while its time passes.
void sleep_and_stop() {
    stop_source stop;
    int before = 0;
    int woken = 0;
    run_threads(
        [&] {
            sync_wait([](stop_token token, const int& written, int& result) -> task<> {
                const bool passed = co_await sleep_for(nanoseconds(2'000), std::move(token));
                require(passed || written == 1, "the stop was not seen");
                result = passed ? 1 : 2;
            }(stop_token(stop), before, woken));
        },
        [&] {
            before = 1;
            stop.request_stop();
        },
        pass_time);
    require(woken != 0, "not woken");
    the_checker().reached(woken == 1 ? 0 : 1, "ended", site::current());
}

/// A loop is destroyed with a sleeping task, while a stop is requested.
void sleep_abandoned() {
    stop_source stop;
    auto loop = std::make_unique<run_loop>();
    loop->spawn([](stop_token token) -> task<> {
        const bool passed = co_await sleep_for(nanoseconds(2'000), std::move(token));
        require(!passed, "the time has not passed");
    }(stop_token(stop)));
    loop->run_until_idle();
    run_threads([&] { loop.reset(); }, [&] { stop.request_stop(); });
}

task<std::unique_ptr<int>> boxed(int value) {
    co_return std::make_unique<int>(value);
}

/// A task awaits the handle of work that ends on another loop.
void handle_awaited() {
    run_loop other;
    auto handle = other.spawn_future(boxed(7));
    run_threads(
        [&] {
            const auto got = sync_wait(handle);
            require(*got == 7, "another value");
            other.stop();
        },
        [&] { other.run(); });
}

/// A handle is dropped while its work ends.
void handle_dropped() {
    run_loop other;
    auto handle = other.spawn_future(boxed(7));
    run_threads([&] { handle = {}; }, [&] { other.run_until_idle(); });
}

/// An awaiter is destroyed, with its loop, while the work ends.
void handle_abandoned() {
    run_loop other;
    auto loop = std::make_unique<run_loop>();
    loop->spawn([](join_handle<std::unique_ptr<int>> handle) -> task<> {
        static_cast<void>(co_await handle);
    }(other.spawn_future(boxed(7))));
    loop->run_until_idle();
    run_threads([&] { loop.reset(); }, [&] { other.run_until_idle(); });
}

/// The work is destroyed, with its loop, while its handle is awaited.
void handle_of_destroyed_work() {
    auto other = std::make_unique<run_loop>();
    auto handle = other->spawn_future(boxed(7));
    bool thrown = false;
    run_threads(
        [&] {
            try {
                sync_wait(handle);
            } catch (const std::system_error&) {
                thrown = true;
            }
        },
        [&] { other.reset(); });
    require(thrown, "no error");
}

/// Two threads request a stop, while a callback is removed and what it uses is destroyed.
void inplace_stop() {
    inplace_stop_source source;
    int before = 0;
    int calls = 0;
    run_threads(
        [&] {
            auto data = std::make_unique<int>(0);
            {
                const inplace_stop_callback callback(source.get_token(),
                                                     [&, at = data.get()] { *at = before; });
            }
            calls = *data;
            data.reset();
            require(calls == 0 || calls == 1, "called twice");
            the_checker().reached(calls == 0 ? 0 : 1, "removed", site::current());
        },
        [&] {
            before = 1;
            source.request_stop();
        },
        [&] {
            if (source.stop_requested()) {
                require(before == 1, "the request was not seen");
                the_checker().reached(2, "seen", site::current());
            }
        });
}

/// Two exchanges of coroutines without an executor, of which the first to end stops the other.
void any_inline() {
    late_party here(2);
    late_party there(3);
    int index = -1;
    std::array<int, 2> got{};
    run_threads(
        [&] {
            [](channel& a, channel& b, int& which,
               std::array<int, 2>& items) -> test::detached_coroutine {
                auto both = co_await when_any(
                    [&](inplace_stop_token stop) {
                        return a.exchange(std::make_unique<int>(1), stop);
                    },
                    [&](inplace_stop_token stop) {
                        return b.exchange(std::make_unique<int>(1), stop);
                    });
                auto one = both.get<0>();
                auto two = both.get<1>();
                items = {one ? **one : 0, two ? **two : 0};
                which = static_cast<int>(both.index());
            }(here.ex, there.ex, index, got);
        },
        [&] { here.come(); }, [&] { there.come(); });
    if (!there.met()) {
        here.come_at_last();
    }
    require(got[0] == (here.met() ? 2 : 0) && got[1] == (there.met() ? 3 : 0), "an item was lost");
    require(index >= 0 && got[static_cast<std::size_t>(index)] != 0, "another was the first");
    if (here.met() && there.met()) {
        the_checker().reached(0, "both", site::current());
    }
}

/// An outer stop comes while a partner does.
void any_stopped_inline() {
    late_party partner(2);
    stop_source stop;
    int ended = 0;
    run_threads(
        [&] {
            [](channel& at, stop_token outer, int& result) -> test::detached_coroutine {
                auto got = co_await when_any(
                    [&](inplace_stop_token inner) {
                        return at.exchange(std::make_unique<int>(1), inner);
                    },
                    std::move(outer));
                auto one = got.get<0>();
                result = one ? **one : 1;
            }(partner.ex, stop_token(stop), ended);
        },
        [&] { partner.come(); }, [&] { stop.request_stop(); });
    require(ended == (partner.met() ? 2 : 1), "not ended, or an item was lost");
}

// ---- Ends of life

using lifo = red_blue_exchanger<int, int, order::lifo>;

/// A coroutine without executor awaits a when_all, whose children end on two other threads. The
/// last of these continues the awaiter, which reads what both tasks returned.
void join_inline() {
    late_party here(2);
    late_party there(3);
    int sum = 0;
    run_threads(
        [&] {
            [](channel& a, channel& b, int& total) -> test::detached_coroutine {
                const auto both = co_await when_all(nested(a), nested(b));
                total = std::get<0>(both) + std::get<1>(both);
            }(here.ex, there.ex, sum);
        },
        [&] { here.come(); }, [&] { there.come(); });
    here.come_at_last();
    there.come_at_last();
    require(sum == 5, "the awaiter was not resumed");
}

/// A party destroys the exchanger once it has found it closed, while the close may still be under
/// way.
template <class Exchanger>
void destroy_if(bool closed, std::unique_ptr<Exchanger>& ex) {
    if (closed) {
        the_checker().reached(0, "closed before", site::current());
        ex.reset();
    }
}

template <class Exchanger, auto Arrive>
void destroyed_during_close() {
    auto ex = std::make_unique<Exchanger>(1);
    run_threads([at = ex.get()] { at->close(); },
                [&] { destroy_if(Arrive(*ex).error() == exchange_errc::closed, ex); });
}

/// The same while another waits, whom the close completes and a stop would like to end.
void destroyed_during_close_over_waiter() {
    auto ex = std::make_unique<exchanger<int>>(0);
    stop_source stop;
    bool ended = false;
    [](exchanger<int>& at, stop_token token, bool& done) -> test::detached_coroutine {
        auto got = co_await at.exchange(1, std::move(token));
        done = !got;
    }(*ex, stop_token(stop), ended);
    run_threads([at = ex.get()] { at->close(); }, [&] { destroy_if(ex->is_closed(), ex); },
                [&] { stop.request_stop(); });
    require(ended, "the waiter was not resumed");
}

/// Two threads use an object under run-down protection. Its owner ends it, waits until each thread
/// has entered or been refused, and destroys the protection. It is how Asio's registry ends.
void run_down() {
    auto guard = std::make_unique<detail::rundown>();
    auto object = std::make_unique<std::array<int, 2>>();
    std::array<detail::atomic<bool>, 2> tried{};
    const auto user = [&](std::size_t mine) {
        return [&tried, mine, at = guard.get(), data = object.get()] {
            if (at->enter()) {
                ++data->at(mine);
                the_checker().reached(0, "used", site::current());
            } else {
                the_checker().reached(1, "refused", site::current());
            }
            tried.at(mine).store(true, std::memory_order_release); // as [R7] of the registry
            at->leave();
        };
    };
    run_threads(user(0), user(1), [&] {
        guard->end();
        require(guard->has_ended(), "it has not ended");
        object.reset();
        for (const auto& each : tried) {
            detail::yield_until([&] { return each.load(std::memory_order_acquire); });
        }
        guard->drain();
        guard.reset();
    });
}

/// Two parties come to the local place of a room, and one of them leaves again, while a turn of the
/// room ends. As long as a party is there, a turn is scheduled, and never two.
void turns() {
    detail::arrivals count;
    detail::atomic<int> scheduled{0};
    const auto come = [&] {
        if (count.enter()) {
            scheduled.fetch_add(1, std::memory_order_relaxed);
        }
    };
    const auto end_turn = [&] {
        if (scheduled.load(std::memory_order_relaxed) == 1 && !count.repeat()) {
            scheduled.fetch_sub(1, std::memory_order_relaxed);
            the_checker().reached(0, "idle", site::current());
        }
    };
    run_threads(
        come,
        [&] {
            come();
            count.leave();
        },
        [&] {
            end_turn();
            end_turn();
        });
    require(scheduled.load(std::memory_order_relaxed) == 1, "no turn, or two");
    require(count.repeat(), "the turn ends although a party is there");
    require(count.departures() == 1, "not one has left");
}

// ---- Thread numbers

/// Threads use as often as `Uses` says a place that belongs to their number, as a counter's cell
/// does. The checker finds races there.
template <int... Uses>
void numbers() {
    detail::number_pool<1> pool;
    std::array<int, 4> uses{};
    const auto thread = [&](int times) {
        return [&, times] {
            for (int i = 0; i != times; ++i) {
                const std::uint32_t number = pool.acquire();
                ++uses.at(number);
                pool.release(number);
            }
        };
    };
    run_threads(thread(Uses)...);
    require(std::accumulate(uses.begin(), uses.end(), 0) == (Uses + ...),
            "a use of a place was lost");
}

constexpr std::array all{
    scene{"posts", "two threads post to a loop that may sleep", posts},
    scene{"stopped", "a loop is destroyed as soon as it has stopped", stopped},
    scene{"stopped_twice", "one stop finds the other pending", stopped_twice, reaches(0)},
    scene{"parked_on_a_mutex", "a parker without a futex is destroyed by its owner",
          parked_on_a_mutex},
    scene{"parked_on_a_mutex_until", "the same, with a deadline", parked_on_a_mutex_until},
    scene{"timer_and_post", "at a sleeping loop, at the same time", timer_and_post},
    scene{"timer_and_last_post", "the same, and the loop ends with the later", timer_and_last_post},
    scene{"executor_destroyed_after_posts",
          "two threads post to an executor on another loop, which is then destroyed",
          executor_destroyed_after_posts},
    scene{"executor_runs_early", "the same; a turn comes before it is called for",
          executor_runs_early, reaches(0)},
    scene{"exchange_between_loops", "two real loops exchange", exchange_between_loops},
    scene{"exchange_between_loops_in_arena", "the same, and a try_exchange",
          exchange_between_loops_in_arena},
    scene{"task_ends_elsewhere", "the task of a sync_wait ends on another loop",
          task_ends_elsewhere},
    scene{"join_on_two_loops", "the children of a when_all end on two loops", join_on_two_loops},
    scene{"join_inline", "the children of a when_all end inline on two threads", join_inline},
    scene{"task_ends_inline",
          "a task is completed inline, perhaps before its awaiter has suspended", task_ends_inline},
    scene{"destroyed_during_close", "a party that finds the exchanger closed destroys it",
          destroyed_during_close<exchanger<int>, [](auto& at) { return at.try_exchange(1); }>,
          reaches(0)},
    scene{"destroyed_during_close_over_waiter", "the same while another waits; a stop",
          destroyed_during_close_over_waiter, reaches(0)},
    scene{"lifo_destroyed_during_close", "the same, a dual stack",
          destroyed_during_close<lifo, [](auto& at) { return at.try_red(1); }>, reaches(0)},
    scene{"sleep_and_stop", "a sleep ends by time or by a stop", sleep_and_stop, reaches(0, 1)},
    scene{"sleep_abandoned", "a sleeper is destroyed with its loop; a stop", sleep_abandoned},
    scene{"handle_awaited", "the work of a handle ends on another loop", handle_awaited},
    scene{"handle_dropped", "a handle is dropped while its work ends", handle_dropped},
    scene{"handle_abandoned", "an awaiter of a handle is destroyed while the work ends",
          handle_abandoned},
    scene{"handle_of_destroyed_work", "the work of a handle is destroyed with its loop",
          handle_of_destroyed_work},
    scene{"inplace_stop", "a stop callback is removed while a stop is requested", inplace_stop,
          reaches(0, 1, 2)},
    scene{"any_inline", "the first of two exchanges stops the other", any_inline},
    scene{"any_stopped_inline", "an outer stop and a partner come to a when_any",
          any_stopped_inline},
    scene{"run_down", "two threads use what its owner ends and destroys", run_down, reaches(0, 1)},
    scene{"turns", "parties come and leave while a turn of a room ends", turns, reaches(0)},
    scene{"numbers_passed_on", "a thread uses a number that another has given back", numbers<1, 2>},
    scene{"numbers_of_three_threads", "three threads with numbers", numbers<1, 1, 1>},
};

} // namespace

std::span<const scene> loop_scenes() {
    return all;
}

} // namespace tryst::model
