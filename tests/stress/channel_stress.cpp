// SPDX-License-Identifier: MIT
// Loops and threads send and receive in every way through three channels at a time, whose limits
// change, until these are closed. Their history is checked.
#include "support/channel_history.hpp"

#include <tryst/channel.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>
#include <tryst/task_scope.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// Its number is on the heap, so that sanitizers see who touches it.
struct parcel {
    std::unique_ptr<long> number;
    friend long id_of(const parcel& item) { return *item.number; }
};
std::size_t weight_of(long item) {
    return static_cast<std::size_t>(item % 7);
}
struct weigh {
    std::size_t operator()(const parcel& item) const noexcept { return weight_of(id_of(item)); }
};

/// A channel, and what is known of it.
template <class... Policies>
struct place {
    place(channel_history& all, channel_history::channel_id number, std::size_t limit,
          channel_history::weigher weighs = nullptr)
        : id(number), log(all.add_log()) {
        all.add_channel(id, limit, weighs);
        there.emplace(limit, [this](parcel item) { left.push_back(id_of(item)); });
    }
    ~place() {
        log.take(id, [this](std::vector<long>& items) {
            there.reset();
            items = std::move(left);
        });
    }

    channel_history::channel_id id;
    channel_history::log& log; ///< That of the thread that destroys the channels.
    std::vector<long> left;
    std::optional<channel<parcel, Policies...>> there;
};

struct stage {
    stage(channel_history& all, std::size_t limit, std::size_t other)
        : a(all, 1, limit), b(all, 2, other), w(all, 3, 20, weight_of) {}

    place<> a;
    place<> b;
    place<weighted<weigh>> w;
    inplace_stop_source stop;
    std::atomic<bool> over{false};
    std::atomic<long> last_item{0};
};

/// An operation, or a selection of several, whose entries learn when it has suspended.
template <class Operation>
class noted {
public:
    template <class Make>
    noted(Make make, std::vector<channel_history::operation>& entries)
        : entries_(entries), operation_(make()) {}

    bool await_ready() noexcept { return operation_.await_ready(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> party) noexcept {
        const bool stays = !!current_executor(); // else it may be running elsewhere now
        const bool suspended = operation_.await_suspend(party);
        for (auto each = entries_.begin(); suspended && stays && each != entries_.end(); ++each) {
            each->queued();
        }
        return suspended;
    }
    auto await_resume() { return operation_.await_resume(); }

private:
    std::vector<channel_history::operation>& entries_;
    Operation operation_;
};
template <class Make>
noted(Make, std::vector<channel_history::operation>&) -> noted<std::invoke_result_t<Make>>;

/// One party, which does one thing after another.
class party {
public:
    party(stage& at, channel_history::log& told, unsigned seed)
        : at_(at), told_(told), random_(seed) {}

    task<> run() {
        static constexpr std::array<task<> (*)(party&), 12> acts{
            [](party& p) { return p.send(p.at_.a, p.soon()); },
            [](party& p) { return p.send(p.at_.b, p.soon(), p.at_.stop.get_token()); },
            [](party& p) { return p.send(p.at_.w, p.soon()); },
            [](party& p) { return p.receive(p.at_.a, p.soon()); },
            [](party& p) { return p.receive(p.at_.b, p.soon(), p.at_.stop.get_token()); },
            [](party& p) { return p.receive(p.at_.w, p.soon()); },
            [](party& p) { return p.send_all(p.at_.a); },
            [](party& p) { return p.send_all(p.at_.w); },
            [](party& p) { return p.receive_many(); },
            [](party& p) { return p.select_receive(); },
            [](party& p) { return p.select_send(); },
            [](party& p) { return p.try_each(); },
        };
        while (!at_.over.load()) {
            co_await acts.at(below(acts.size()))(*this);
        }
    }

private:
    using entries = std::vector<channel_history::operation>;

    std::size_t below(std::size_t limit) { return random_() % limit; }
    std::chrono::microseconds soon() { return std::chrono::microseconds(below(100)); }
    parcel make() { return {std::make_unique<long>(++at_.last_item)}; }

    /// Begins to send or receive.
    template <class Place>
    void sends(entries& all, const Place& to, const parcel& item, bool tries = false) {
        all.push_back(told_.sends(to.id, {id_of(item)}, tries));
    }
    template <class Place>
    void receives(entries& all, const Place& from, bool tries = false) {
        all.push_back(told_.receives(from.id, tries));
    }

    template <class Selected>
    static void end(entries& each, const Selected& of) {
        each[0].returned(of.template get<0>());
        each[1].returned(of.template get<1>());
        each[2].returned(of.template get<2>());
    }

    template <class Place, class... Limit>
    task<> send(Place& to, Limit... limit) {
        parcel item = make();
        entries entry;
        sends(entry, to, item);
        auto result =
            co_await noted([&] { return to.there->send(std::move(item), limit...); }, entry);
        entry[0].returned(result);
    }
    template <class Place, class... Limit>
    task<> receive(Place& from, Limit... limit) {
        entries entry;
        receives(entry, from);
        auto result = co_await noted([&] { return from.there->receive(limit...); }, entry);
        entry[0].returned(result);
    }
    template <class Place>
    task<> send_all(Place& to) {
        std::vector<parcel> items(below(9));
        std::vector<long> numbers;
        for (parcel& each : items) {
            each = make();
            numbers.push_back(id_of(each));
        }
        entries entry;
        entry.push_back(told_.sends(to.id, numbers));
        auto result = co_await noted([&] { return to.there->send_all(items, soon()); }, entry);
        entry[0].returned(result);
    }
    task<> receive_many() {
        std::array<parcel, 4> places;
        entries entry;
        receives(entry, at_.a);
        auto some =
            co_await noted([&] { return at_.a.there->receive_some(places, soon()); }, entry);
        entry[0].returned(some, places);
        std::vector<parcel> all;
        entries next;
        receives(next, at_.w);
        auto got = co_await noted(
            [&] { return at_.w.there->receive_all(all, 1 + below(100), soon()); }, next);
        EXPECT_EQ(all.size(), got ? *got : 0);
        next[0].returned(got, all);
    }
    task<> select_receive() {
        entries each;
        receives(each, at_.a);
        receives(each, at_.b);
        receives(each, at_.w);
        auto one = co_await noted(
            [&] {
                return select(at_.a.there->receive(), at_.b.there->receive(),
                              at_.w.there->receive(), soon());
            },
            each);
        end(each, one);
    }
    task<> select_send() {
        parcel first = make();
        parcel second = make();
        entries each;
        sends(each, at_.w, first);
        sends(each, at_.b, second);
        receives(each, at_.a);
        auto one = co_await noted(
            [&] {
                return select(at_.w.there->send(std::move(first)),
                              at_.b.there->send(std::move(second)), at_.a.there->receive(), soon(),
                              at_.stop.get_token());
            },
            each);
        end(each, one);
    }
    task<> try_each() {
        parcel item = make();
        entries each;
        sends(each, at_.a, item, true);
        each[0].returned(at_.a.there->try_send(std::move(item)));
        receives(each, at_.b, true);
        each[1].returned(at_.b.there->try_receive());
        if (below(4) == 0) {
            at_.a.there->cancel();
        }
        set_limit(at_.w, below(40));
        set_limit(at_.b, below(4) == 0 ? unlimited : below(9));
        co_return;
    }
    template <class Place>
    void set_limit(Place& of, std::size_t limit) {
        told_.set_limit(of.id, limit, [&] { of.there->set_limit(limit); });
    }

    stage& at_;
    channel_history::log& told_;
    std::minstd_rand random_;
};

task<> run_four(stage& at, channel_history& told, executor_ref on, unsigned first) {
    std::array<std::optional<party>, 4> parties;
    task_scope scope(on);
    for (auto& each : parties) {
        scope.spawn(each.emplace(at, told[first], first).run());
        ++first;
    }
    co_await scope.join();
}

/// Returns after `items` items have been made.
void wait_for(const std::atomic<long>& made, long items) {
    while (made.load() < items) {
        std::this_thread::sleep_for(1ms);
    }
}

class ChannelStress : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Limit, ChannelStress, testing::Values(0, 1, 7, unlimited));

TEST_P(ChannelStress, HasAPossibleHistory) {
    using act = channel_history::act;
    using fate = channel_history::fate;
    using enum exchange_errc;
    std::map<std::tuple<act, fate, exchange_errc>, std::size_t> ends{
        {{act::sends, fate::done, {}}, 0},
        {{act::sends, fate::failed, timed_out}, 0},
        {{act::sends, fate::failed, closed}, 0},
        {{act::sends, fate::failed, not_selected}, 0},
        {{act::receives, fate::done, {}}, 0},
        {{act::receives, fate::failed, timed_out}, 0},
        {{act::receives, fate::failed, closed}, 0},
        {{act::receives, fate::failed, cancelled}, 0},
        {{act::receives, fate::failed, no_partner}, 0},
        {{act::receives, fate::failed, not_selected}, 0}};
    for (unsigned round = 0; round != 6; ++round) {
        channel_history told(13);
        std::optional<stage> at(std::in_place, told, GetParam(), round % 3);
        {
            std::vector<std::jthread> threads;
            for (unsigned i = 0; i != 3; ++i) {
                threads.emplace_back([&, first = 4 * i] {
                    run_loop loop;
                    loop.run(run_four(*at, told, loop.executor(), first));
                });
            }
            threads.emplace_back([&] {
                party alone(*at, told[12], 12);
                sync_wait(alone.run());
            });
            wait_for(at->last_item, 1'500);
            place<>& first = at->a;
            if (round % 2 == 0) {
                first.log.close(first.id, [&] { first.there->close(); });
            } else {
                first.log.take(first.id, [&](std::vector<long>& items) {
                    for (const parcel& each : first.there->close_and_take()) {
                        items.push_back(id_of(each));
                    }
                });
            }
            wait_for(at->last_item, 1'700);
            at->over.store(true);
            at->stop.request_stop();
            at->b.log.close(at->b.id, [&] { at->b.there->close(); });
        }
        at.reset(); // takes what is left
        ASSERT_EQ(told.violations(), "");
        for (auto& [how, number] : ends) {
            number += std::apply([&](auto... is) { return told.count(is...); }, how);
        }
    }
    for (const auto& [how, number] : ends) {
        EXPECT_NE(number, 0U) << make_error_code(std::get<exchange_errc>(how)).message();
    }
}

} // namespace
} // namespace tryst::test
