// SPDX-License-Identifier: MIT Both sides under stress: cancellation signals, stops, deadlines and
// tries, on strands, contexts and threads. Meanwhile contexts are destroyed. The recorded history
// of red and blue must be possible. Every item sent is received, returned or destroyed with its
// context, exactly once.
#include "adapters/asio/sides.hpp"
#include "stress/scene.hpp"
#include "stress/step_counts.hpp"

#include <tryst/asio.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

/// One exchanger, and the red and blue parties that meet there until it closes.
template <order Order>
struct colour_scene {
    explicit colour_scene(std::size_t participants)
        : record(participants + 1), left(static_cast<std::ptrdiff_t>(participants)) {}

    census items;
    red_blue_exchanger<tracked, answer, Order> ex;
    stop_button button;
    history record; ///< The last log is that of the thread that closes.
    std::latch left;
};

enum class limit : std::uint8_t { trying, none, stop, deadline, signal };

/// One participant's next operation, and its entry in the history.
template <order Order, bool Red>
class colour_turn {
public:
    using item_type = std::conditional_t<Red, tracked, answer>;

    colour_turn(colour_scene<Order>& s, std::size_t number, long item, dice& random, bool signals)
        : items_(s.items), what_{.given = first_item(number) + item,
                                 .colour = Red ? history::colour::red : history::colour::blue} {
        const unsigned roll = random.roll();
        if (roll >= 18) {
            by = limit::trying;
            what_.way = history::way::tries;
        } else if (roll >= 14) {
            by = limit::stop;
            const stop_button::wire wire = s.button.current();
            stop = wire.token;
            what_.stop = wire.source;
        } else if (roll >= 10) {
            by = limit::deadline;
            patience = random.patience();
            what_.way = patience > 0us ? history::way::waits : history::way::overdue;
            what_.deadline = steady::now() + patience;
            what_.relative = true;
        } else if (roll >= 4 && signals) {
            by = limit::signal;
            what_.stop = source = static_cast<history::stop_id>(what_.given) | (1ULL << 62U);
        }
        entry_.emplace(s.record[number].begin(what_));
    }

    item_type item() noexcept { return {items_, what_.given}; }

    /// Enters the outcome. @returns whether the exchanger is open.
    template <class T, class Own>
    bool end(const exchange_result<T, Own>& got) {
        entry_->returned(got);
        return got.error() != exchange_errc::closed;
    }

    limit by = limit::none;
    std::stop_token stop;
    std::chrono::microseconds patience{};
    history::stop_id source = 0;

private:
    census& items_;
    history::call what_;
    std::optional<history::operation> entry_;
};

template <bool Red, class Exchanger, class Item>
auto try_as(Exchanger& ex, Item item) {
    if constexpr (Red) {
        return ex.try_red(std::move(item));
    } else {
        return ex.try_blue(std::move(item));
    }
}
template <bool Red, class Exchanger, class Item, class... Stop>
auto wait_as(Exchanger& ex, Item item, Stop... stop) {
    if constexpr (Red) {
        return ex.red(std::move(item), std::move(stop)...);
    } else {
        return ex.blue(std::move(item), std::move(stop)...);
    }
}
template <bool Red, class Exchanger, class Item>
auto wait_as_for(Exchanger& ex, Item item, std::chrono::microseconds patience) {
    if constexpr (Red) {
        return ex.red(std::move(item), patience);
    } else {
        return ex.blue(std::move(item), patience);
    }
}

template <order Order, bool Red>
net::awaitable<void> awaitable_colour(colour_scene<Order>& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        colour_turn<Order, Red> t(s, number, i, random, false);
        if (t.by == limit::trying) {
            open = t.end(try_as<Red>(s.ex, t.item()));
        } else if (t.by == limit::stop) {
            open = t.end(co_await asio::wait(wait_as<Red>(s.ex, t.item(), t.stop)));
        } else if (t.by == limit::deadline) {
            open = t.end(co_await asio::wait(wait_as_for<Red>(s.ex, t.item(), t.patience)));
        } else {
            open = t.end(co_await asio::wait(wait_as<Red>(s.ex, t.item())));
        }
    }
    s.left.count_down();
}

template <order Order, bool Red>
void blocking_colour(colour_scene<Order>& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        colour_turn<Order, Red> t(s, number, i, random, false);
        if (t.by == limit::trying) {
            open = t.end(try_as<Red>(s.ex, t.item()));
        } else if (t.by == limit::stop) {
            open = t.end(sync_wait(wait_as<Red>(s.ex, t.item(), t.stop)));
        } else if (t.by == limit::deadline) {
            open = t.end(sync_wait(wait_as_for<Red>(s.ex, t.item(), t.patience)));
        } else {
            open = t.end(sync_wait(wait_as<Red>(s.ex, t.item())));
        }
    }
    s.left.count_down();
}

/// Callbacks on an executor that runs one handler at a time.
template <order Order, bool Red, class Executor>
class callback_colour : public std::enable_shared_from_this<callback_colour<Order, Red, Executor>> {
public:
    using turn_type = colour_turn<Order, Red>;
    using result =
        std::conditional_t<Red, exchange_result<answer, tracked>, exchange_result<tracked, answer>>;

    callback_colour(colour_scene<Order>& s, std::size_t number, Executor executor)
        : scene_(s), number_(number), random_(number), executor_(std::move(executor)) {}

    void next() {
        turn_.emplace(scene_, number_, ++item_, random_, true);
        turn_type& t = *turn_;
        switch (t.by) {
        case limit::trying:
            return ended(try_as<Red>(scene_.ex, t.item()));
        case limit::stop:
            if (t.stop.stop_requested()) {
                return ended(result(exchange_errc::cancelled, t.item()));
            }
            return start(asio::bind_stop_token(t.stop, handler()));
        case limit::deadline:
            if constexpr (Red) {
                asio::async_wait(scene_.ex.red(t.item(), t.patience), handler());
            } else {
                asio::async_wait(scene_.ex.blue(t.item(), t.patience), handler());
            }
            return;
        case limit::signal:
            start(net::bind_cancellation_slot(signal_.slot(), handler()));
            return emit_soon(static_cast<int>(item_ % 3));
        case limit::none:
            return start(handler());
        }
    }

private:
    template <class Handler>
    void start(Handler handler) {
        if constexpr (Red) {
            asio::async_wait(scene_.ex.red(turn_->item()), std::move(handler));
        } else {
            asio::async_wait(scene_.ex.blue(turn_->item()), std::move(handler));
        }
    }

    auto handler() {
        return net::bind_executor(executor_, [self = this->shared_from_this()](const result& got) {
            EXPECT_TRUE(self->executor_.running_in_this_thread());
            self->ended(got);
        });
    }

    /// Cancels some turns of the executor later, unless the operation has ended by then.
    void emit_soon(int turns) {
        net::post(executor_, [self = this->shared_from_this(), item = item_, turns] {
            if (self->item_ != item || !self->turn_) {
                return;
            }
            if (turns != 0) {
                return self->emit_soon(turns - 1);
            }
            self->scene_.record[self->number_].stop(
                self->turn_->source, [&] { self->signal_.emit(net::cancellation_type::terminal); });
        });
    }

    void ended(const result& got) {
        const bool open = turn_->end(got);
        turn_.reset();
        if (open) {
            net::post(executor_, [self = this->shared_from_this()] { self->next(); });
        } else {
            scene_.left.count_down();
        }
    }

    colour_scene<Order>& scene_;
    std::size_t number_;
    dice random_;
    Executor executor_;
    net::cancellation_signal signal_;
    long item_ = 0;
    std::optional<turn_type> turn_;
};

template <bool Red, order Order, class Executor>
void start_callbacks(colour_scene<Order>& s, std::size_t number, const Executor& executor) {
    auto party = std::make_shared<callback_colour<Order, Red, Executor>>(s, number, executor);
    net::post(executor, [party = std::move(party)] { party->next(); });
}

/// The sums over all scenes.
struct colour_tally {
    std::array<std::size_t, 6> failures{};
    std::size_t exchanges = 0;
    std::size_t abandoned = 0;

    void add(const history& record) {
        exchanges += record.exchanged() / 2;
        abandoned += record.abandoned();
        for (const auto why : all_errors) {
            failures.at(static_cast<std::size_t>(why)) += record.failed(why);
        }
    }
};

template <order Order>
void both_colours_meet(colour_tally& all) {
    constexpr std::size_t participants = 8;
    colour_scene<Order> s(participants);
    {
        net::io_context context;
        net::thread_pool pool(2);
        net::co_spawn(context, awaitable_colour<Order, true>(s, 0), net::detached);
        net::co_spawn(net::make_strand(pool), awaitable_colour<Order, false>(s, 1), net::detached);
        start_callbacks<true>(s, 2, net::make_strand(pool));
        start_callbacks<false>(s, 3, net::make_strand(pool));
        start_callbacks<true>(s, 4, context.get_executor());
        start_callbacks<false>(s, 5, context.get_executor());
        std::vector<std::jthread> running;
        running.emplace_back([&s] { blocking_colour<Order, true>(s, 6); });
        running.emplace_back([&s] { blocking_colour<Order, false>(s, 7); });
        running.emplace_back([&context] { context.run(); });
        running.emplace_back([&s, &log = s.record[participants]] {
            for (const auto end = steady::now() + 40ms; steady::now() < end;) {
                s.button.press(log);
                std::this_thread::yield();
            }
            log.close(0, [&s] { s.ex.close(); });
        });
        s.left.wait();
        running.clear();
        pool.join();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    all.add(s.record);
}

template <order Order>
void colours_end_with_their_context(std::size_t seed, colour_tally& all) {
    constexpr std::size_t on_context = 6;
    colour_scene<Order> s(on_context + 2);
    std::barrier start(4);
    std::vector<std::jthread> others;
    others.emplace_back([&s, &start] {
        start.arrive_and_wait();
        blocking_colour<Order, true>(s, on_context);
    });
    others.emplace_back([&s, &start] {
        start.arrive_and_wait();
        blocking_colour<Order, false>(s, on_context + 1);
    });
    {
        auto context = std::make_unique<net::io_context>();
        net::co_spawn(*context, awaitable_colour<Order, true>(s, 0), net::detached);
        net::co_spawn(*context, awaitable_colour<Order, false>(s, 1), net::detached);
        start_callbacks<true>(s, 2, context->get_executor());
        start_callbacks<false>(s, 3, context->get_executor());
        start_callbacks<true>(s, 4, net::make_strand(*context));
        start_callbacks<false>(s, 5, net::make_strand(*context));
        std::jthread runner([&] {
            start.arrive_and_wait();
            context->run_for(std::chrono::microseconds(100 * (seed % 20)));
        });
        start.arrive_and_wait();
        runner.join();
        context.reset();
    }
    s.record[on_context + 2].close(0, [&s] { s.ex.close(); });
    others.clear();
    EXPECT_EQ(s.record.violations(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    all.add(s.record);
}

constexpr std::size_t enough_exchanges = 200;

/// Whether the scenes must go on, because a busy machine has run only a few.
bool lacks_paths(const colour_tally& all) {
    return all.exchanges <= enough_exchanges ||
           std::ranges::any_of(all_errors, [&all](exchange_errc why) {
               return all.failures.at(static_cast<std::size_t>(why)) == 0;
           });
}

void expect_all_paths(const colour_tally& all) {
    EXPECT_GT(all.exchanges, enough_exchanges);
    for (const auto why : all_errors) {
        EXPECT_GT(all.failures.at(static_cast<std::size_t>(why)), 0U)
            << make_error_code(why).message();
    }
}

TEST(AsioTwoSidesStress, ConservesEveryItemOfBothColours) {
    colour_tally fifo;
    colour_tally lifo;
    const stress_time time;
    while (time.goes_on([&] { return lacks_paths(fifo) || lacks_paths(lifo); }) && !HasFailure()) {
        both_colours_meet<order::fifo>(fifo);
        both_colours_meet<order::lifo>(lifo);
    }
    expect_all_paths(fifo);
    expect_all_paths(lifo);
}

TEST(AsioTwoSidesStress, AContextMayEndWhileOthersMatchItsWaiters) {
    colour_tally all;
    std::size_t seed = 0;
    const stress_time time;
    const auto is_missing = [&] { return all.abandoned <= 10 || all.exchanges <= 100; };
    while (time.goes_on(is_missing) && !HasFailure()) {
        colours_end_with_their_context<order::fifo>(seed, all);
        colours_end_with_their_context<order::lifo>(seed++, all);
    }
    EXPECT_GT(all.abandoned, 10U);
    EXPECT_GT(all.exchanges, 100U);
}

/// The fate of every item that was sent.
struct ledger {
    static constexpr std::size_t senders = 3;
    static constexpr std::size_t most = 1U << 14U; ///< Of one sender.
    std::array<std::array<std::atomic<std::uint8_t>, most>, senders> received{};
    std::array<std::array<std::atomic<bool>, most>, senders> sent{};
    std::array<std::array<std::atomic<bool>, most>, senders> back{};
    std::atomic<long> sends = 0;
    std::atomic<long> failures = 0;
    std::latch left{2 * senders};
};

/// Sends, or receives, until the channel is closed, and cancels now and then.
template <class Channel>
class channel_party : public std::enable_shared_from_this<channel_party<Channel>> {
public:
    using strand = net::strand<net::thread_pool::executor_type>;

    channel_party(Channel& channel, census& items, ledger& book, std::size_t number,
                  strand executor)
        : channel_(channel), items_(items), book_(book), number_(number), random_(number),
          executor_(std::move(executor)) {}

    void send() {
        const std::size_t mine = ++item_ % ledger::most;
        if (item_ == ledger::most) {
            return book_.left.count_down();
        }
        tracked item(items_, static_cast<long>(number_ * ledger::most + mine));
        const auto handler = [self = this->shared_from_this(),
                              mine](const exchange_result<void, tracked>& sent) {
            (sent ? self->book_.sent : self->book_.back)[self->number_][mine] = true;
            ++(sent ? self->book_.sends : self->book_.failures);
            if (!sent) {
                EXPECT_EQ(sent.returned().id(),
                          static_cast<long>(self->number_ * ledger::most + mine));
            }
            self->again(sent.error(), &channel_party::send);
        };
        if (random_.roll() < 5) {
            asio::async_wait(channel_.send(std::move(item), random_.patience()), bound(handler));
        } else {
            asio::async_wait(channel_.send(std::move(item)), bound(handler));
            emit_soon();
        }
    }

    void receive() {
        ++item_;
        const auto handler =
            [self = this->shared_from_this()](const exchange_result<tracked, void>& got) {
                if (got) {
                    const auto id = static_cast<std::size_t>(got->id());
                    ++self->book_.received.at(id / ledger::most).at(id % ledger::most);
                }
                self->again(got.error(), &channel_party::receive);
            };
        if (random_.roll() < 5) {
            asio::async_wait(channel_.receive(random_.patience()), bound(handler));
        } else {
            asio::async_wait(channel_.receive(), bound(handler));
            emit_soon();
        }
    }

private:
    template <class Handler>
    auto bound(Handler handler) {
        return net::bind_cancellation_slot(signal_.slot(),
                                           net::bind_executor(executor_, std::move(handler)));
    }

    void emit_soon() {
        if (random_.roll() < 10) {
            net::post(executor_, [self = this->shared_from_this(), item = item_] {
                if (self->item_ == item) {
                    self->signal_.emit(net::cancellation_type::total);
                }
            });
        }
    }

    void again(const std::error_code& error, void (channel_party::*what)()) {
        if (error == exchange_errc::closed) {
            book_.left.count_down();
        } else {
            net::post(executor_,
                      [self = this->shared_from_this(), what] { (self.get()->*what)(); });
        }
    }

    Channel& channel_;
    census& items_;
    ledger& book_;
    std::size_t number_;
    dice random_;
    strand executor_;
    net::cancellation_signal signal_;
    std::size_t item_ = 0;
};

template <order Order>
void items_are_passed(long& sends, long& failures) {
    using channel_type = synchronous_channel<tracked, Order>;
    using party = channel_party<channel_type>;
    census items;
    const auto book = std::make_unique<ledger>();
    {
        channel_type channel;
        net::thread_pool pool(2);
        for (std::size_t i = 0; i != ledger::senders; ++i) {
            const auto out = net::make_strand(pool);
            net::post(out, [sender = std::make_shared<party>(channel, items, *book, i, out)] {
                sender->send();
            });
            const auto in = net::make_strand(pool);
            net::post(
                in, [receiver = std::make_shared<party>(channel, items, *book, i + ledger::senders,
                                                        in)] { receiver->receive(); });
        }
        for (const auto end = steady::now() + 20ms; steady::now() < end;) {
            std::this_thread::yield();
        }
        channel.close();
        book->left.wait();
        pool.join();
    }
    EXPECT_EQ(items.alive.load(), 0) << "items leaked, or died twice";
    for (std::size_t i = 0; i != ledger::senders; ++i) {
        for (std::size_t k = 0; k != ledger::most; ++k) {
            ASSERT_EQ(book->received[i][k], book->sent[i][k] ? 1 : 0);
            ASSERT_FALSE(book->sent[i][k] && book->back[i][k]);
        }
    }
    sends += book->sends;
    failures += book->failures;
}

TEST(AsioTwoSidesStress, EverySentItemIsReceivedOrReturned) {
    long sends = 0;
    long failures = 0;
    const stress_time time;
    while (time.goes_on([&] { return sends <= 200 || failures <= 10; }) && !HasFailure()) {
        items_are_passed<order::fifo>(sends, failures);
        items_are_passed<order::lifo>(sends, failures);
    }
    EXPECT_GT(sends, 200);
    EXPECT_GT(failures, 10);
}

} // namespace
} // namespace tryst::test
