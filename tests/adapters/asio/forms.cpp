// SPDX-License-Identifier: MIT
#include "adapters/asio/forms.hpp"

#include "adapters/asio/net.hpp"
#include "adapters/asio/sides.hpp"
#include "support/insides.hpp"
#include "support/limited.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {

scene::scene(const form& how, std::shared_ptr<net::io_context> in)
    : of(how), at(how.make_place()), io(std::move(in)) {}

void scene::start_and_offer() {
    start();
    while (!offered) {
        ASSERT_EQ(io->poll_one(), 1U);
    }
}

void scene::run() {
    io->restart();
    io->poll();
}

void scene::tell(const ended& result) {
    EXPECT_FALSE(end) << "told twice";
    ASSERT_TRUE(io) << "told while the context was being destroyed";
    EXPECT_TRUE(io->get_executor().running_in_this_thread());
    end = result;
}

namespace {

/// The end of the first case. The other has not been selected.
template <class First, class Other>
ended ended_of(const select_result<First, Other>& result) {
    const First& first = result.template get<0>();
    EXPECT_NE(result.index(), 1U);
    EXPECT_EQ(result.template get<1>().error(),
              result.index() == 0 ? make_error_code(exchange_errc::not_selected) : first.error());
    return ended_of(first);
}

/// An exchange in a selection whose second case has no partner.
struct select_places {
    synchronous_channel<tracked> second;
    exchanger<tracked> first{1}; // its end is the first
    void close() { first.close(); }
};
struct select_side : side<select_side, select_places, tracked> {
    using opposite = exchange_side;
    static constexpr bool gets = true;
    static std::string name() { return "select"; }
    static auto make(place& at, tracked mine, auto... limit) {
        return select(at.first.exchange(std::move(mine)), at.second.receive(), limit...);
    }
    static long meet(place& at, census& items, long id) {
        return exchange_side::meet(at.first, items, id);
    }
};

/// Where the partners come.
template <class Place>
Place& first_of(Place& at) {
    return at;
}
exchanger<tracked>& first_of(select_places& at) {
    return at.first;
}

template <class Side>
class room final : public meeting_place {
    using partner = typename Side::opposite;

public:
    long meet(census& items) override { return Side::meet(at_, items, partners_id); }
    void invite(scene& s) override {
        partner::start(first_of(at_), s.items, partners_id,
                       net::bind_executor(*s.io, keep_end(s.partner)));
    }
    void close() override { at_.close(); }
    bool grow() override {
        if constexpr (std::is_same_v<partner, exchange_side>) {
            tryst::test::grow(first_of(at_));
        }
        return std::is_same_v<Side, exchange_side>;
    }
    typename Side::place& place() { return at_; }

private:
    static typename Side::place make() {
        if constexpr (std::is_same_v<Side, exchange_side>) {
            return typename Side::place(1);
        } else {
            return typename Side::place();
        }
    }
    typename Side::place at_ = make();
};

/// Makes the operation of a party.
template <class Side, limit Limits>
struct offer {
    using side = Side;
    static constexpr limit limits = Limits;

    static auto make(scene& s) {
        s.offered = true;
        auto& at = static_cast<room<Side>&>(*s.at).place();
        if constexpr (Limits == limit::none) {
            return Side::operation(at, s.items, own_id);
        } else if constexpr (Limits == limit::stop) {
            return Side::operation(at, s.items, own_id, s.token);
        } else if constexpr (Limits == limit::deadline) {
            return s.deadline ? Side::operation(at, s.items, own_id, *s.deadline)
                              : Side::operation(at, s.items, own_id, s.patience);
        } else {
            return s.deadline ? Side::operation(at, s.items, own_id, *s.deadline, s.token)
                              : Side::operation(at, s.items, own_id, s.patience, s.token);
        }
    }
};

// ---- Kinds

/// A handler that tells the end.
class teller {
public:
    explicit teller(scene& s) : scene_(&s), life_(std::make_shared<tracked>(s.frames, 0)) {}

    template <class Result>
    void operator()(const Result& got) const {
        scene_->tell(ended_of(got));
    }

private:
    scene* scene_;
    std::shared_ptr<tracked> life_;
};

template <class Token>
auto with_slot(scene& s, Token token) {
    return net::bind_cancellation_slot(s.of.signal == form::way::none ? net::cancellation_slot()
                                                                      : s.signal.slot(),
                                       std::move(token));
}

/// What most kinds have in common.
struct party {
    static constexpr auto signal = form::way::direct;
    static constexpr auto stop = form::way::direct;
    static constexpr bool stays = false;
    static constexpr bool has_own_turns = false;
};

struct handler : party {
    static constexpr const char* name = "Handler";
    template <class Offer>
    static void start(scene& s) {
        asio::async_wait(Offer::make(s), with_slot(s, net::bind_executor(*s.io, teller(s))));
    }
};

struct handler_on_strand : party {
    static constexpr const char* name = "HandlerOnStrand";
    template <class Offer>
    static void start(scene& s) {
        asio::async_wait(Offer::make(s),
                         with_slot(s, net::bind_executor(net::make_strand(*s.io), teller(s))));
    }
};

struct future : party {
    static constexpr const char* name = "Future";
    template <class Offer>
    static void start(scene& s) {
        static_cast<void>(asio::async_wait(
            Offer::make(s), with_slot(s, net::bind_executor(*s.io, net::use_future(teller(s))))));
    }
};

struct handler_with_stop_token : party {
    static constexpr const char* name = "HandlerWithStopToken";
    static constexpr auto stop = form::way::later;
    template <class Offer>
    static void start(scene& s) {
        asio::async_wait(
            Offer::make(s),
            asio::bind_stop_token(s.token, with_slot(s, net::bind_executor(*s.io, teller(s)))));
    }
};

enum class awaiting : std::uint8_t { wait, token, tuple };

template <awaiting How, class Executor = net::any_io_executor>
struct awaitable : party {
    static constexpr const char* name = How == awaiting::wait    ? "Wait"
                                        : How == awaiting::token ? "UseAwaitable"
                                                                 : "AsTuple";
    static constexpr auto signal = form::way::later;
    static constexpr bool stays = true;

    template <class Offer>
    static net::awaitable<void, Executor> run(scene& s, tracked /*frame*/) {
        constexpr net::use_awaitable_t<Executor> token;
        if constexpr (How == awaiting::wait) {
            const auto got = co_await asio::wait<Executor>(Offer::make(s));
            s.tell(ended_of(got));
        } else if constexpr (How == awaiting::token) {
            const auto got = co_await asio::async_wait(Offer::make(s), token);
            s.tell(ended_of(got));
        } else {
            const auto [got] = co_await asio::async_wait(Offer::make(s), as_tuple(token));
            s.tell(ended_of(got));
        }
    }

    template <class Offer>
    static void start(scene& s) {
        const auto spawn = [&s](const auto& executor) {
            net::co_spawn(executor, run<Offer>(s, tracked(s.frames, 0)),
                          with_slot(s, net::detached));
        };
        if constexpr (std::is_constructible_v<Executor, net::io_context::executor_type>) {
            spawn(Executor(s.io->get_executor()));
        } else {
            spawn(net::make_strand(s.io->get_executor()));
        }
    }
};

using executor = net::io_context::executor_type;
struct typed_awaitable : awaitable<awaiting::wait, executor> {
    static constexpr const char* name = "TypedWait";
};
/// Without a slot: in Boost.Asio, a slot keeps the strand, which must not outlive its context.
struct awaitable_on_strand : awaitable<awaiting::wait, net::strand<executor>> {
    static constexpr const char* name = "WaitOnStrand";
    static constexpr auto signal = form::way::none;
};

struct task_party : party {
    static constexpr const char* name = "Task";
    static constexpr auto signal = form::way::none;
    static constexpr bool stays = true;
    static constexpr bool has_own_turns = true;

    template <class Offer>
    static task<> run(scene& s, tracked /*frame*/) {
        const auto got = co_await Offer::make(s);
        s.tell(ended_of(got));
    }
    static constexpr auto done = [](const std::exception_ptr& error) { EXPECT_FALSE(error); };

    template <class Offer>
    static void start(scene& s) {
        asio::async_wait(run<Offer>(s, tracked(s.frames, 0)), net::bind_executor(*s.io, done));
    }
};

/// A task whose stop token follows the slot.
struct stoppable_task : task_party {
    static constexpr const char* name = "StoppableTask";
    static constexpr auto signal = form::way::direct;
    static constexpr auto stop = form::way::none;

    template <class Offer>
    static void start(scene& s) {
        asio::async_wait(
            [&s](std::stop_token given) {
                s.token = std::move(given);
                return run<Offer>(s, tracked(s.frames, 0));
            },
            with_slot(s, net::bind_executor(*s.io, done)));
    }
};

// ---- Forms

template <class Kind, class Side, limit Limits>
void add(std::vector<form>& to) {
    constexpr bool binds_token = Kind::stop == form::way::later;
    form made{.name = std::string(Kind::name) + name_of(Limits) + '_' + Side::name(),
              .brings = Side::brings,
              .gets = Side::gets,
              .limits = Limits,
              .signal = Kind::signal,
              .stop = binds_token || has_stop(Limits) ? Kind::stop : form::way::none,
              .stays = Kind::stays,
              .has_own_turns = Kind::has_own_turns,
              .make_place = []() -> std::unique_ptr<meeting_place> {
                  return std::make_unique<room<Side>>();
              },
              .start = [](scene& s) { Kind::template start<offer<Side, Limits>>(s); }};
    to.push_back(made);
    if (made.signal != form::way::none && !std::is_same_v<Kind, stoppable_task>) {
        made.name += "_without_slot";
        made.signal = form::way::none;
        to.push_back(std::move(made));
    }
}

/// Adds forms of `Kind` on each of the sides.
template <class Kind, limit Limits, class... Side>
void add_sides(std::vector<form>& to) {
    (add<Kind, Side, Limits>(to), ...);
}

template <class Kind, limit Limits>
void add_all_sides(std::vector<form>& to) {
    add_sides<Kind, Limits, exchange_side, red_side<order::fifo>, red_side<order::lifo>,
              blue_side<order::fifo>, blue_side<order::lifo>, sending_side<order::fifo>,
              sending_side<order::lifo>, receiving_side<order::fifo>, receiving_side<order::lifo>,
              buffer_sending_side, buffer_receiving_side, select_side>(to);
}

std::vector<form> make_forms() {
    using waiting = awaitable<awaiting::wait>;
    std::vector<form> all;
    add_all_sides<handler, limit::none>(all);
    add_all_sides<handler, limit::both>(all);
    add<handler, exchange_side, limit::stop>(all);
    add<handler, exchange_side, limit::deadline>(all);
    add<handler_on_strand, exchange_side, limit::deadline>(all);
    add<handler_with_stop_token, exchange_side, limit::none>(all);
    add<handler_with_stop_token, select_side, limit::deadline>(all);
    add<future, exchange_side, limit::none>(all);
    add_sides<waiting, limit::none, exchange_side, sending_side<order::fifo>,
              receiving_side<order::lifo>, select_side>(all);
    add_sides<waiting, limit::both, exchange_side, red_side<order::fifo>, blue_side<order::lifo>,
              select_side>(all);
    add<waiting, exchange_side, limit::stop>(all);
    add<waiting, exchange_side, limit::deadline>(all);
    add_sides<waiting, limit::both, buffer_sending_side, buffer_receiving_side>(all);
    add_sides<stoppable_task, limit::both, buffer_sending_side, buffer_receiving_side>(all);
    add<typed_awaitable, exchange_side, limit::none>(all);
    add<awaitable_on_strand, exchange_side, limit::both>(all);
    add<awaitable<awaiting::token>, exchange_side, limit::none>(all);
    add<awaitable<awaiting::tuple>, select_side, limit::both>(all);
    add<task_party, exchange_side, limit::none>(all);
    add<task_party, exchange_side, limit::both>(all);
    add<task_party, select_side, limit::none>(all);
    add<stoppable_task, exchange_side, limit::both>(all);
    return all;
}

} // namespace

const std::vector<form>& all_forms() {
    static const std::vector<form> all = make_forms();
    return all;
}

} // namespace tryst::test
