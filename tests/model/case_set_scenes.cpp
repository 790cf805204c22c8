// SPDX-License-Identifier: MIT
// Sets of cases: how their rounds race with partners, with each other, with selections, stops and
// closes, and with the ends of sets and of their objects. Items are on the model's heap, so a lost
// or doubled item is a failure; so is a party that waits although it could meet another.
#include "model/platform.hpp"
#include "model/scenes.hpp"
#include "model/serial_loop.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/tryst.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace tryst::model {

namespace {

using item = std::unique_ptr<int>;
using stack = synchronous_channel<item, order::lifo>;
using buffer = channel<item>;

template <class Place>
std::unique_ptr<Place> make() {
    if constexpr (std::is_same_v<Place, buffer>) {
        return std::make_unique<buffer>(0);
    } else {
        return std::make_unique<Place>();
    }
}

/// Some places, and what came through them.
template <class Place>
struct stage {
    using inbox = case_set<std::size_t, receive_case<Place>>;
    using outbox = case_set<std::size_t, send_case<Place>>;

    explicit stage(std::size_t places) {
        for (std::size_t i = 0; i != places; ++i) {
            at.at(i) = make<Place>();
        }
    }
    ~stage() { require(sent + also_sent == received, "an item is lost"); }

    std::array<std::unique_ptr<Place>, 3> at;
    stop_source stop;
    int sent = 0; ///< These belong to one thread each.
    int also_sent = 0;
    int received = 0;

    detail::stop_token token() { return detail::stop_token(stop); }

    void send(std::size_t to, int& count) {
        count += sync_wait(at.at(to)->send(std::make_unique<int>(1))) ? 1 : 0;
    }
    void try_send(std::size_t to, int& count) {
        count += at.at(to)->try_send(std::make_unique<int>(1)) ? 1 : 0;
    }

    void add(inbox& set, std::size_t places) {
        for (std::size_t i = 0; i != places; ++i) {
            set.add(at.at(i)->receive(), i);
        }
    }

    /// @returns whether the case at a place was served; not if it was closed, or none was.
    bool enter(typename inbox::result_type got) {
        const bool has_item = got && got.get();
        require(!has_item || **got.get() == 1, "another item");
        received += has_item ? 1 : 0;
        return has_item;
    }
};

/// How a round ended, for `must_reach`.
enum end : unsigned { served = detail::step_count, not_served, closed, cancelled };
void enter(end how) {
    the_checker().reached(how, "end", site::current());
}

template <class Place, std::size_t Places>
test::detached_coroutine serve_on(serial_loop& here, stage<Place>& s, int rounds) {
    {
        typename stage<Place>::inbox set;
        s.add(set, Places);
        while (rounds-- != 0) {
            require(s.enter(co_await set.next()), "a round without an item");
        }
    }
    here.end_work();
}

/// Serves `rounds` rounds, by a thread or on a loop.
template <class Place, std::size_t Places, bool OnLoop>
void serve(stage<Place>& s, int rounds) {
    if constexpr (OnLoop) {
        serial_loop loop;
        loop.run([&] {
            loop.begin_work();
            serve_on<Place, Places>(loop, s, rounds);
        });
    } else {
        typename stage<Place>::inbox set;
        s.add(set, Places);
        while (rounds-- != 0) {
            require(s.enter(sync_wait(set.next())), "a round without an item");
        }
    }
    enter(served);
}

/// A case is served, handed back if its partner comes between the rounds, and served again.
template <class Place, bool OnLoop>
void rounds() {
    stage<Place> s(1);
    run_threads([&] { serve<Place, 1, OnLoop>(s, 2); },
                [&] {
                    s.send(0, s.sent);
                    s.send(0, s.sent);
                });
}

template <class Place, bool OnLoop, std::size_t First, std::size_t Second, std::size_t Places>
void two_senders() {
    stage<Place> s(Places);
    run_threads([&] { serve<Place, Places, OnLoop>(s, 2); }, [&] { s.send(First, s.sent); },
                [&] { s.send(Second, s.also_sent); });
}

template <class Place>
void tried() {
    stage<Place> s(1);
    run_threads(
        [&] {
            typename stage<Place>::inbox set;
            s.add(set, 1);
            enter(s.enter(sync_wait(set.next(s.token()))) ? served : cancelled);
            s.enter(set.try_next());
        },
        [&] { s.try_send(0, s.sent); }, [&] { s.stop.request_stop(); });
}

template <class Place>
test::detached_coroutine serve_stoppable(serial_loop& here, stage<Place>& s) {
    {
        typename stage<Place>::inbox set;
        s.add(set, 2);
        enter(s.enter(co_await set.next(s.token())) ? served : cancelled);
        s.enter(set.try_next());
    }
    here.end_work();
}

template <class Place>
void stopped() {
    stage<Place> s(2);
    run_threads(
        [&] {
            serial_loop loop;
            loop.run([&] {
                loop.begin_work();
                serve_stoppable(loop, s);
            });
        },
        [&] { s.try_send(0, s.sent); }, [&] { s.stop.request_stop(); });
}

/// One round of a set that sends. @returns whether it has sent; not if a case was closed.
template <class Place>
bool send_round(typename stage<Place>::outbox& set, int& count) {
    const auto got = sync_wait(set.next());
    const bool done = !got.error();
    count += done ? 1 : 0;
    return done;
}

template <class Place>
void facing() {
    stage<Place> s(2);
    run_threads(
        [&] {
            typename stage<Place>::outbox set;
            set.add(s.at[0]->send(std::make_unique<int>(1)), 0);
            set.add(s.at[1]->send(std::make_unique<int>(1)), 1);
            send_round<Place>(set, s.sent);
        },
        [&] { serve<Place, 2, false>(s, 1); });
}

/// Each of two sets receives where the other sends. Exactly one pair meets.
template <class Place>
void crossed() {
    stage<Place> s(2);
    using set_type = case_set<std::size_t, receive_case<Place>, send_case<Place>>;
    const auto play = [&s](std::size_t to, std::size_t from) {
        set_type set;
        set.add(s.at.at(from)->receive(), from);
        set.add(s.at.at(to)->send(std::make_unique<int>(1)), to);
        const auto got = sync_wait(set.next());
        require(got && !got.error(), "no case took place");
        return got.index() == 0;
    };
    std::array<bool, 2> received{};
    run_threads([&] { received[0] = play(0, 1); }, [&] { received[1] = play(1, 0); });
    require(received[0] != received[1], "both did the same");
}

/// Three sets, each of which could meet each other. Two meet; a stop ends the round of the third.
void ring() {
    using set_type = case_set<int, exchange_case<exchanger<item>>>;
    std::array<exchanger<item>, 3> at;
    stop_source stop;
    std::array<int, 3> met{};
    const auto play = [&](std::size_t me) {
        set_type set;
        set.add(at.at(me).exchange(std::make_unique<int>(1)), 0);
        set.add(at.at((me + 1) % 3).exchange(std::make_unique<int>(1)), 1);
        const auto got = sync_wait(set.next(detail::stop_token(stop)));
        met.at(me) = got ? 1 : 0;
        if (got) {
            stop.request_stop();
        }
    };
    run_threads([&] { play(0); }, [&] { play(1); }, [&] { play(2); });
    require(met[0] + met[1] + met[2] == 2, "not two have met");
}

/// Serves until a case was served, not closed.
template <class Place>
void serve_one(stage<Place>& s, typename stage<Place>::inbox& set) {
    for (int i = 0; i != 2; ++i) {
        auto got = sync_wait(set.next());
        require(static_cast<bool>(got), "no case took place");
        enter(got.error() ? closed : served);
        if (s.enter(std::move(got))) {
            break;
        }
    }
}

template <class Place>
void closing() {
    stage<Place> s(2);
    typename stage<Place>::inbox set;
    s.add(set, 2);
    run_threads([&] { serve_one(s, set); }, [&] { s.at[0]->close(); }, [&] { s.send(1, s.sent); });
}

/// An object ends, perhaps after it has served the set; the set learns of it once.
template <class Place>
void ended() {
    stage<Place> s(1);
    typename stage<Place>::inbox set;
    s.add(set, 1);
    run_threads(
        [&] {
            while (s.enter(sync_wait(set.next()))) {
                enter(served);
            }
            enter(closed);
            require(set.empty(), "a closed case has not left");
        },
        [&] {
            s.try_send(0, s.sent);
            s.at[0].reset();
        });
}

/// An object ends while a set meets a party that waits there, and a stop of that party comes.
template <class Place>
void ended_meeting() {
    stage<Place> s(1);
    typename stage<Place>::inbox set;
    s.add(set, 1);
    [](stage<Place>& on) -> test::detached_coroutine {
        const auto sent = co_await on.at[0]->send(std::make_unique<int>(1), on.token());
        on.sent += sent ? 1 : 0;
    }(s);
    run_threads([&] { enter(s.enter(sync_wait(set.next())) ? served : closed); },
                [&] {
                    s.at[0].reset();
                    s.stop.request_stop();
                });
}

/// An object ends while its case is listed, or being handed back. The case is removed meanwhile.
template <class Place>
void ended_removed() {
    stage<Place> s(1);
    typename stage<Place>::inbox set;
    const auto it = set.add(s.at[0]->receive(), 0);
    s.enter(set.try_next());
    run_threads([&] { require(!*set.remove(it), "a case got something between two rounds"); },
                [&] {
                    s.try_send(0, s.sent);
                    s.at[0].reset();
                });
    enter(not_served);
}

/// The same, while two sets face each other.
template <class Place>
void ended_facing() {
    stage<Place> s(2);
    typename stage<Place>::inbox in;
    typename stage<Place>::outbox out;
    s.add(in, 2);
    for (std::size_t i = 0; i != 2; ++i) {
        out.add(s.at.at(i)->send(std::make_unique<int>(1)), i);
    }
    run_threads(
        [&] {
            if (!send_round<Place>(out, s.sent)) {
                send_round<Place>(out, s.sent);
            }
        },
        [&] { serve_one(s, in); }, [&] { s.at[0].reset(); });
}

/// A case is taken out, and put in again, while a partner comes.
template <class Place>
void removed() {
    stage<Place> s(1);
    run_threads(
        [&] {
            typename stage<Place>::inbox set;
            const auto it = set.add(s.at[0]->receive(), 0);
            s.enter(set.try_next());
            require(!*set.remove(it), "a case got something between two rounds");
            s.add(set, 1);
            require(!s.enter(set.try_next()), "a try has met a try");
            enter(not_served);
        },
        [&] { s.try_send(0, s.sent); }, [&] { s.try_send(0, s.also_sent); });
}

/// The set ends after a round; what it has not served is served otherwise.
template <class Place>
void set_ended() {
    stage<Place> s(2);
    run_threads(
        [&] {
            serve<Place, 2, false>(s, 1);
            if (sync_wait(s.at[1]->receive(s.token()))) {
                ++s.received;
            }
        },
        [&] { s.try_send(0, s.sent); },
        [&] {
            const auto sent = sync_wait(s.at[1]->send(std::make_unique<int>(1), s.token()));
            s.also_sent += sent ? 1 : 0;
            s.stop.request_stop();
        });
}

template <class Place>
void against_selection() {
    stage<Place> s(2);
    run_threads([&] { serve<Place, 2, false>(s, 1); },
                [&] {
                    const auto got = sync_wait(select(s.at[1]->send(std::make_unique<int>(1)),
                                                      s.at[0]->send(std::make_unique<int>(1))));
                    s.sent += got ? 1 : 0;
                });
}

/// A coroutine that waits is destroyed. If its case has taken place, the next round returns that.
template <class Place>
void abandoned() {
    stage<Place> s(1);
    serial_loop loop;
    typename stage<Place>::inbox set;
    struct doom : executor_node {
        std::unique_ptr<test::bare_coroutine> frame;
        serial_loop* on = nullptr;
    } end;
    end.on = &loop;
    end.run = [](executor_node* node) noexcept {
        auto& order = *static_cast<doom*>(node);
        order.frame.reset();
        order.on->end_work();
    };
    run_threads(
        [&] {
            loop.run([&] {
                loop.begin_work();
                s.add(set, 1);
                end.frame = std::make_unique<test::bare_coroutine>(
                    [](stage<Place>& on, auto& from) -> test::bare_coroutine {
                        enter(on.enter(co_await from.next()) ? served : not_served);
                    }(s, set));
            });
            enter(s.enter(set.try_next()) ? not_served : cancelled);
        },
        [&] { s.try_send(0, s.sent); }, [&] { loop.executor().post(&end); });
}

constexpr auto commit = detail::step::commit;
constexpr auto stale_claim = detail::step::stale_claim;
constexpr auto held = detail::step::held_selection;

constexpr std::array all{
    scene{"set_rounds", "two rounds of a thread", rounds<stack, false>,
          reaches(served, commit, held)},
    scene{"set_rounds_loop", "two rounds on a loop", rounds<stack, true>,
          reaches(served, commit, held)},
    scene{"set_rounds_buffer", "the same at a channel", rounds<buffer, true>,
          reaches(served, commit, held)},
    scene{"set_two_cases", "two cases, two senders", two_senders<stack, true, 0, 1, 2>,
          reaches(served, commit, stale_claim, held)},
    scene{"set_two_cases_buffer", "the same at channels", two_senders<buffer, true, 0, 1, 2>,
          reaches(served, commit, stale_claim, held)},
    scene{"set_two_at_one", "one case, two senders", two_senders<stack, false, 0, 0, 1>,
          reaches(served, commit, held)},
    scene{"set_chunk", "three cases: the set opens between them",
          two_senders<buffer, false, 0, 2, 3>, reaches(served, commit, stale_claim, held)},
    scene{"set_tried", "a try, and a stop, by threads", tried<stack>,
          reaches(served, cancelled, commit, stale_claim, held)},
    scene{"set_tried_buffer", "the same at a channel", tried<buffer>,
          reaches(served, cancelled, commit, stale_claim, held)},
    scene{"set_stopped", "a try, and a stop, on a loop", stopped<stack>,
          reaches(served, cancelled, commit, stale_claim)},
    scene{"set_facing", "two sets face each other at two places", facing<stack>,
          reaches(served, commit, held)},
    scene{"set_facing_buffer", "the same at channels", facing<buffer>,
          reaches(served, commit, held)},
    scene{"set_crossed", "two sets send to each other", crossed<stack>,
          reaches(commit, stale_claim, held)},
    scene{"set_crossed_buffer", "the same at channels", crossed<buffer>,
          reaches(commit, stale_claim, held)},
    scene{"set_ring", "three sets at three exchangers", ring, reaches(commit, stale_claim, held)},
    scene{"set_closed", "a close, and a sender elsewhere", closing<stack>,
          reaches(served, closed, commit, stale_claim, held)},
    scene{"set_closed_buffer", "the same at channels", closing<buffer>,
          reaches(served, closed, commit, stale_claim, held)},
    scene{"set_outlives", "an object ends", ended<stack>, reaches(served, closed, commit)},
    scene{"set_outlives_buffer", "a channel ends", ended<buffer>, reaches(served, closed, commit)},
    scene{"set_outlives_meeting", "an object ends during a meeting", ended_meeting<stack>,
          reaches(served, closed)},
    scene{"set_outlives_meeting_buffer", "a channel ends during a meeting", ended_meeting<buffer>,
          reaches(served, closed)},
    scene{"set_outlives_removed", "an object ends, and its case is removed", ended_removed<stack>,
          reaches(not_served, stale_claim)},
    scene{"set_outlives_removed_buffer", "the same at a channel", ended_removed<buffer>,
          reaches(not_served, stale_claim)},
    scene{"set_outlives_facing", "an object ends between two sets", ended_facing<stack>,
          reaches(served, closed, commit, stale_claim, held)},
    scene{"set_outlives_facing_buffer", "a channel ends between two sets", ended_facing<buffer>,
          reaches(served, closed, commit, stale_claim, held)},
    scene{"set_removed", "a case is removed while partners come", removed<stack>,
          reaches(not_served, stale_claim, held)},
    scene{"set_removed_buffer", "the same at a channel", removed<buffer>,
          reaches(not_served, stale_claim, held)},
    scene{"set_ended", "a set ends while partners come", set_ended<stack>,
          reaches(served, commit, stale_claim, held)},
    scene{"set_select", "a set and a selection", against_selection<stack>,
          reaches(served, commit, held)},
    scene{"set_select_buffer", "the same at channels", against_selection<buffer>,
          reaches(served, commit, held)},
    scene{"set_abandoned", "a coroutine that waits is destroyed", abandoned<stack>,
          reaches(served, not_served, cancelled, commit, stale_claim)},
};

} // namespace

std::span<const scene> case_set_scenes() {
    return all;
}

} // namespace tryst::model
