// SPDX-License-Identifier: MIT
// Scenes of channels with a buffer: threads, loops and frames that send, receive, stop, close and
// destroy. Each checks conservation, order, and that at rest nobody waits who need not (I51).
#include "model/scenes.hpp"
#include "model/serial_loop.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/channel.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tryst::model {

namespace {

/// What has become of an item. Not in the model's memory, so that checks may look at it.
enum class fate : std::uint8_t { none, given, inside, out, returned, destroyed };
inline constexpr std::size_t most_items = 8;
std::array<fate, most_items> fates;
std::size_t next_out = 0; ///< The lowest item that may leave next, where the order is checked.
bool in_order = false;
std::size_t waiting_senders = 0;
std::size_t waiting_receivers = 0;
bool is_destroyed = false;

void turn_into(std::size_t number, fate from, fate to, const char* what) {
    require(fates.at(number) == from, what);
    fates.at(number) = to;
}

/// An item: a number, in memory of its own that only its owner may touch.
class parcel {
public:
    parcel() = default;
    explicit parcel(std::size_t number) : box_(new std::size_t(number)) {
        turn_into(number, fate::none, fate::given, "an item is given twice");
    }
    parcel(parcel&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
    parcel& operator=(parcel&& other) noexcept {
        std::swap(box_, other.box_);
        return *this;
    }
    ~parcel() {
        if (box_ != nullptr) {
            if (is_destroyed &&
                (fates.at(*box_) == fate::given || fates.at(*box_) == fate::inside)) {
                fates.at(*box_) = fate::destroyed; // with the channel
            }
            delete box_;
        }
    }

    std::size_t number() const {
        require(box_ != nullptr, "an item is not where it must be");
        return *box_;
    }

private:
    std::size_t* box_ = nullptr;
};

struct weigh {
    /// Odd items are heavy.
    std::size_t operator()(const parcel& item) const noexcept { return 1 + item.number() % 2; }
};

using plain = channel<parcel>;
using heavy = channel<parcel, weighted<weigh>>;

/// A receiver has got an item. It may be faster than the sender, which learns of it later.
void got(const parcel& item) {
    const std::size_t number = item.number();
    require(fates.at(number) == fate::given || fates.at(number) == fate::inside,
            "an item was received that nobody sends");
    fates.at(number) = fate::out;
    if (in_order) {
        require(number >= next_out, "a later item has left first");
        next_out = number + 1;
    }
}

template <class Result>
void sent(Result result, std::size_t number) {
    --waiting_senders;
    if (result) {
        require(fates.at(number) != fate::none && fates.at(number) != fate::returned,
                "an item was sent that nobody gave");
        fates.at(number) = fates.at(number) == fate::given ? fate::inside : fates.at(number);
    } else {
        require(result.returned().number() == number, "another's item was returned");
        turn_into(number, fate::given, fate::returned, "an item was returned that has left");
    }
}

template <class Result>
void received(Result result) {
    --waiting_receivers;
    if (result) {
        got(*result);
    }
}

/// What the actors of a scene use.
template <class Channel>
struct stage {
    /// @param limit  of the channel, and of the other one.
    explicit stage(std::size_t limit, std::size_t other = 0)
        : at(std::make_unique<Channel>(limit)), beside(other) {
        fates.fill(fate::none);
        next_out = 0;
        in_order = false;
        waiting_senders = waiting_receivers = 0;
        is_destroyed = false;
    }

    template <class... Limit>
    void send(std::size_t number, Limit... limit) {
        ++waiting_senders;
        sent(sync_wait(at->send(parcel(number), limit...)), number);
    }
    void try_send(std::size_t number) {
        ++waiting_senders;
        sent(at->try_send(parcel(number)), number);
    }
    template <class... Limit>
    bool receive(Limit... limit) {
        ++waiting_receivers;
        auto result = sync_wait(at->receive(limit...));
        const bool has = result.has_value();
        received(std::move(result));
        return has;
    }
    void try_receive() {
        ++waiting_receivers;
        received(at->try_receive());
    }
    /// Sends the items from `first` on.
    template <std::size_t Count, class... Limit>
    void send_all(std::size_t first, Limit... limit) {
        ++waiting_senders;
        std::array<parcel, Count> items;
        for (std::size_t i = 0; i != Count; ++i) {
            items[i] = parcel(first + i);
        }
        auto result = sync_wait(at->send_all(items, limit...));
        --waiting_senders;
        const std::size_t left = result ? 0 : result.returned().size();
        for (std::size_t i = 0; i != Count; ++i) {
            ++waiting_senders;
            if (i < Count - left) {
                sent(exchange_result<void, parcel>(detail::nothing()), first + i);
            } else {
                sent(exchange_result<void, parcel>(exchange_errc::closed, std::move(items[i])),
                     first + i);
            }
        }
    }
    template <std::size_t Most, class... Limit>
    void receive_some(Limit... limit) {
        ++waiting_receivers;
        std::array<parcel, Most> places;
        auto result = sync_wait(at->receive_some(places, limit...));
        --waiting_receivers;
        require(!result || *result != 0, "a batch of nothing");
        for (std::size_t i = 0; result && i != *result; ++i) {
            got(places[i]);
        }
    }
    static void take_from(Channel& from) {
        for (parcel& each : from.close_and_take()) {
            got(each);
        }
    }
    void take() { take_from(*at); }
    void destroy() {
        is_destroyed = true;
        at.reset();
    }
    detail::stop_token token() { return detail::stop_token(stop); }

    /// Runs the threads until nothing goes on, checks what waits, closes, and checks again.
    template <class... Body>
    void play(Body... bodies) {
        start(bodies...);
        the_checker().settle();
        if (!is_destroyed) {
            const std::size_t inside = at->size();
            require(waiting_receivers == 0 || (waiting_senders == 0 && inside == 0),
                    "a receiver waits although there is an item");
            require(waiting_senders == 0 || inside != 0 || at->limit() == 0,
                    "a sender waits although there is room");
            require(std::is_same_v<Channel, heavy> || waiting_senders == 0 || inside >= at->limit(),
                    "a sender waits although there is room for its item");
            require(!nobody_stays || waiting_senders + waiting_receivers == 0, "a party waits");
            require(!at->is_closed() || waiting_senders + waiting_receivers == 0,
                    "a party waits in a closed channel");
            at->close();
        }
        beside.close();
        the_checker().join();
        require(waiting_senders + waiting_receivers == 0, "a party has never ended");
        if (!is_destroyed) {
            take();
        }
        take_from(beside);
        for (const fate each : fates) {
            require(each != fate::given && each != fate::inside, "an item was lost");
        }
    }

    std::unique_ptr<Channel> at;
    Channel beside; ///< For selections.
    stop_source stop;
    bool nobody_stays = false; ///< At rest.
};

// ---- Threads

template <std::size_t Limit>
void pairs() {
    stage<plain> s(Limit);
    in_order = true;
    s.play(
        [&] {
            s.send(0);
            s.send(1);
        },
        [&] {
            s.receive();
            s.receive();
        });
}

template <std::size_t Limit>
void two_senders() {
    stage<plain> s(Limit);
    s.play([&] { s.send(0); }, [&] { s.send(1); }, [&] { s.receive(); });
}

template <std::size_t Limit>
void two_receivers() {
    stage<plain> s(Limit);
    s.play([&] { s.receive(); }, [&] { s.receive(); },
           [&] {
               s.send(0);
               s.send(1);
           });
}

/// The channel is full when the sender comes, and a stop would like to end its wait.
template <class Channel>
void stopped_sender() {
    stage<Channel> s(1);
    s.try_send(0);
    s.play([&] { s.send(2, s.token()); }, [&] { s.receive(); }, [&] { s.stop.request_stop(); });
}

template <std::size_t Limit>
void stopped_receiver() {
    stage<plain> s(Limit);
    s.play([&] { s.receive(s.token()); }, [&] { s.send(0); }, [&] { s.stop.request_stop(); });
}

template <std::size_t Limit>
void tries() {
    stage<plain> s(Limit);
    s.play([&] { s.try_send(0); }, [&] { s.receive(); },
           [&] {
               s.try_receive();
               s.try_send(1);
           });
}

template <std::size_t Limit>
void closer() {
    stage<plain> s(Limit);
    s.play([&] { s.send(0); }, [&] { s.receive(); }, [&] { s.at->close(); });
}

/// The same, and a sender waits.
void closer_full() {
    stage<plain> s(1);
    s.try_send(0);
    s.play([&] { s.send(1); }, [&] { s.receive(); }, [&] { s.at->close(); });
}

/// A cancellation ends the waits that have begun. A party that comes later waits.
template <std::size_t Limit>
void canceller() {
    stage<plain> s(Limit);
    s.play([&] { s.send(0); }, [&] { s.receive(); }, [&] { s.at->cancel(); });
}

/// The same of senders, of which a stop or a receiver takes out one, while another comes.
void canceller_full() {
    stage<plain> s(1);
    s.try_send(0);
    s.play([&] { s.send(1, s.token()); },
           [&] {
               s.at->cancel();
               s.send(2);
           },
           [&] { s.stop.request_stop(); });
}

void two_cancellers() {
    stage<plain> s(1);
    s.try_send(0);
    s.play([&] { s.send(1); }, [&] { s.at->cancel(); }, [&] { s.at->close(); });
}

/// A sender that is cancelled destroys the channel, while the cancellation may be under way.
void destroyed_during_cancel() {
    stage<plain> s(0);
    s.play([at = s.at.get()] { at->cancel(); },
           [&, at = s.at.get()] {
               ++waiting_receivers;
               auto result = sync_wait(at->receive());
               received(std::move(result));
               s.destroy();
           });
}

/// A channel that is opened again serves those that come then, and none that the close ended.
void reopened() {
    stage<plain> s(0);
    s.play([&] { s.send(0); }, [&] { s.receive(); },
           [&] {
               s.at->close();
               s.at->reset();
           });
}

/// The item that was there before the close can be received after it.
void left_over() {
    stage<plain> s(1);
    s.try_send(0);
    s.play([&] { require(s.receive(), "a closed channel keeps its item"); },
           [&] { s.at->close(); });
}

template <std::size_t Limit>
void taker() {
    stage<plain> s(Limit);
    s.play([&] { s.send(0); }, [&] { s.receive(); }, [&] { s.take(); });
}

/// The one that takes the items destroys the channel, if a receiver has seen the close, too.
void two_closers() {
    stage<plain> s(1);
    s.try_send(0);
    s.play([&] { s.at->close(); }, [&] { s.take(); }, [&] { s.send(1); });
}

// ---- Weights and limits

/// A heavy item waits at the head, and leaves; a light one behind it has room.
void heavy_withdraws() {
    stage<heavy> s(2);
    s.nobody_stays = true;
    s.try_send(0);
    s.play([&] { s.send(1, s.token()); }, [&] { s.send(2); }, [&] { s.stop.request_stop(); });
}

void heavy_admitted() {
    stage<heavy> s(2);
    in_order = true;
    s.try_send(0);
    s.try_send(2);
    next_out = 0;
    in_order = false;
    s.play([&] { s.send(3); }, [&] { s.send(4); },
           [&] {
               s.receive();
               s.receive();
           });
}

test::detached_coroutine send_bare(heavy& at, std::size_t number) {
    ++waiting_senders;
    auto result = co_await at.send(parcel(number));
    sent(std::move(result), number);
}

/// A heavy item waits, and a light one would have room.
void heavy_first() {
    stage<heavy> s(2);
    in_order = true;
    s.try_send(0);
    send_bare(*s.at, 1);
    s.play([&] { s.try_send(2); },
           [&] {
               s.receive();
               s.receive();
           });
}

/// An item that leaves makes room for its weight.
void weight_freed() {
    stage<heavy> s(3);
    s.try_send(0);
    s.try_send(1);
    s.play(
        [&] {
            s.receive();
            s.try_send(2);
            require(s.at->size() == 2, "there was no room for an item");
        },
        [&] { s.try_send(3); });
}

/// Heavier than the limit.
void too_heavy() {
    stage<heavy> s(1);
    s.play([&] { s.send(1); }, [&] { s.send(3); }, [&] { s.receive(); });
}

void limit_raised() {
    stage<plain> s(1);
    s.try_send(0);
    s.play([&] { s.send(1); }, [&] { s.send(2); }, [&] { s.at->set_limit(3); });
}

void limit_raised_from_nothing() {
    stage<plain> s(0);
    s.play([&] { s.send(0); }, [&] { s.receive(); }, [&] { s.at->set_limit(1); });
}

/// A higher limit must not admit a sender that the close has not completed yet.
void limit_raised_during_take() {
    stage<plain> s(1);
    s.try_send(0);
    s.play([&] { s.send(1); },
           [&] {
               s.take();
               require(s.at->size() == 0, "an item is in a channel that was closed and emptied");
           },
           [&] { s.at->set_limit(2); });
}

// ---- Batches

template <std::size_t Limit>
void batch_of_senders() {
    stage<plain> s(Limit);
    in_order = true;
    s.play([&] { s.template send_all<3>(0); },
           [&] {
               s.receive();
               s.template receive_some<3>();
           });
}

template <std::size_t Limit>
void batch_over_two() {
    stage<plain> s(Limit);
    s.play([&] { s.send(0); }, [&] { s.send(1); }, [&] { s.template receive_some<2>(); });
}

void batch_to_two() {
    stage<plain> s(1);
    s.play([&] { s.receive(); }, [&] { s.receive(); }, [&] { s.send_all<3>(0, s.token()); },
           [&] { s.stop.request_stop(); });
}

/// A receiver of the first item destroys the channel, while the sender goes on with the second.
void batch_destroyed() {
    stage<plain> s(0);
    s.play(
        [&, at = s.at.get()] {
            ++waiting_senders;
            std::array<parcel, 2> items{parcel(0), parcel(1)};
            auto result = sync_wait(at->send_all(items));
            --waiting_senders;
            require(!result && result.returned().size() == 1, "nobody has received the second");
            turn_into(1, fate::given, fate::returned, "an item was returned that has left");
        },
        [&] {
            if (s.receive()) {
                s.destroy();
            }
        });
}

/// The same, while the first two are inside, and the third needs another section.
void batch_destroyed_inside() {
    stage<plain> s(3);
    s.play(
        [at = s.at.get()] {
            ++waiting_senders;
            std::array<parcel, 3> items{parcel(0), parcel(1), parcel(2)};
            auto result = sync_wait(at->send_all(items));
            --waiting_senders;
            for (std::size_t i = 3 - (result ? 0 : result.returned().size()); i != 3; ++i) {
                turn_into(i, fate::given, fate::returned, "an item was returned that has left");
            }
        },
        [&] {
            if (s.receive()) {
                s.destroy();
            }
        });
}

// ---- Destruction

/// A receiver whose receive has returned destroys the channel; no other party comes. The call of
/// the sender may still be under way, and a stop may be withdrawing it.
template <std::size_t Limit>
void destroyed_by_receiver() {
    stage<plain> s(Limit);
    s.play(
        [&, at = s.at.get()] {
            ++waiting_senders;
            sent(sync_wait(at->send(parcel(0))), 0);
        },
        [&] {
            if (s.receive()) {
                s.destroy();
            }
        });
}

void destroyed_by_sender() {
    stage<plain> s(0);
    s.play(
        [&, at = s.at.get()] {
            ++waiting_receivers;
            received(sync_wait(at->receive(s.token())));
        },
        [&] {
            ++waiting_senders;
            auto result = sync_wait(s.at->send(parcel(0), s.token()));
            const bool has = result.has_value();
            sent(std::move(result), 0);
            if (has) {
                s.destroy();
            }
        },
        [&] { s.stop.request_stop(); });
}

/// A receiver that finds the channel closed destroys it, while the close may still be under way.
void destroyed_during_close() {
    stage<plain> s(1);
    s.play([at = s.at.get()] { at->close(); },
           [&, at = s.at.get()] {
               ++waiting_receivers;
               auto result = sync_wait(at->receive());
               require(!result, "nobody sends");
               received(std::move(result));
               s.destroy();
           });
}

void destroyed_during_take() {
    stage<plain> s(1);
    s.try_send(0);
    s.play(
        [at = s.at.get()] {
            for (parcel& each : at->close_and_take()) {
                got(each);
            }
        },
        [&, at = s.at.get()] {
            while (true) {
                ++waiting_receivers;
                auto result = sync_wait(at->receive());
                const bool closed = !result;
                received(std::move(result));
                if (closed) {
                    break;
                }
            }
            s.destroy();
        });
}

// ---- Loops, and coroutines without an executor

test::detached_coroutine send_on(plain& at, std::size_t number, serial_loop& here,
                                 detail::stop_token stop) {
    ++waiting_senders;
    auto result = co_await at.send(parcel(number), std::move(stop));
    sent(std::move(result), number);
    here.end_work();
}

test::detached_coroutine receive_on(plain& at, serial_loop& here) {
    ++waiting_receivers;
    auto result = co_await at.receive();
    received(std::move(result));
    here.end_work();
}

test::detached_coroutine send_and_destroy(stage<plain>& s, std::size_t number, serial_loop& here) {
    ++waiting_senders;
    auto result = co_await s.at->send(parcel(number));
    sent(std::move(result), number);
    s.destroy();
    here.end_work();
}

/// A batch of receivers admits two senders, of which the first destroys the channel at once. The
/// items that are left go with it.
void admitted_destroys() {
    stage<plain> s(2);
    s.try_send(0);
    s.try_send(1);
    serial_loop loop;
    {
        const executor_scope here(loop.executor());
        loop.begin_work();
        loop.begin_work();
        send_and_destroy(s, 2, loop);
        send_on(*s.at, 3, loop, {});
    }
    s.play([&] { loop.run([] {}); }, [&] { s.receive_some<2>(); });
}

/// Destroys the channel if the item has this number.
void receive_and_destroy(stage<plain>& s, std::size_t number) {
    ++waiting_receivers;
    auto result = sync_wait(s.at->receive());
    const bool is_last = result && result->number() == number;
    received(std::move(result));
    if (is_last) {
        s.destroy();
    }
}

/// The same, but the receiver of the first admitted item destroys the channel.
void admitted_item_destroys() {
    stage<plain> s(2);
    s.try_send(0);
    s.try_send(1);
    serial_loop loop;
    {
        const executor_scope here(loop.executor());
        loop.begin_work();
        loop.begin_work();
        send_on(*s.at, 2, loop, {});
        send_on(*s.at, 3, loop, {});
    }
    s.play([&] { loop.run([] {}); },
           [at = s.at.get()] {
               std::array<parcel, 2> places;
               ++waiting_receivers;
               const auto result = sync_wait(at->receive_some(places));
               --waiting_receivers;
               for (std::size_t i = 0; result && i != *result; ++i) {
                   got(places[i]);
               }
           },
           [&] { receive_and_destroy(s, 2); });
}

/// The same with one sender, which a stop withdraws meanwhile.
void stopped_item_destroys() {
    stage<plain> s(1);
    s.try_send(0);
    serial_loop loop;
    s.play(
        [&] {
            loop.run([&] {
                loop.begin_work();
                send_on(*s.at, 1, loop, s.token());
            });
        },
        [at = s.at.get()] {
            ++waiting_receivers;
            received(sync_wait(at->receive()));
        },
        [&] { receive_and_destroy(s, 1); }, [&] { s.stop.request_stop(); });
}

template <std::size_t Limit>
void two_loops() {
    stage<plain> s(Limit);
    serial_loop first;
    serial_loop second;
    s.play(
        [&] {
            first.run([&] {
                first.begin_work();
                first.begin_work();
                send_on(*s.at, 0, first, s.token());
                send_on(*s.at, 1, first, s.token());
            });
        },
        [&] {
            second.run([&] {
                second.begin_work();
                receive_on(*s.at, second);
            });
        },
        [&] { s.stop.request_stop(); });
}

test::detached_coroutine receive_bare(plain& at) {
    ++waiting_receivers;
    auto result = co_await at.receive();
    received(std::move(result));
}

void inline_receivers() {
    stage<plain> s(1);
    receive_bare(*s.at);
    s.play([&] { receive_bare(*s.at); }, [&] { s.send(0); }, [&] { s.at->close(); });
}

// ---- Selections

/// Receives from one of two channels.
template <class... Limit>
void select_receive(stage<plain>& a, plain& b, Limit... limit) {
    ++waiting_receivers;
    auto one = sync_wait(select(a.at->receive(), b.receive(), limit...));
    --waiting_receivers;
    if (one.index() == 0 && one.template get<0>()) {
        got(*one.template get<0>());
    } else if (one.index() == 1 && one.template get<1>()) {
        got(*one.template get<1>());
    }
}

template <std::size_t Limit>
void select_between() {
    stage<plain> a(Limit, Limit);
    plain& b = a.beside;
    a.play([&] { select_receive(a, b); }, [&] { a.try_send(0); },
           [&] {
               ++waiting_senders;
               auto result = sync_wait(b.send(parcel(1), a.token()));
               sent(std::move(result), 1);
           },
           [&] { a.stop.request_stop(); });
}

/// Two selections, each of which sends where the other receives.
template <std::size_t Limit>
void select_crossed() {
    stage<plain> a(Limit, Limit);
    plain& b = a.beside;
    const auto cross = [](plain& to, plain& from, std::size_t number) {
        ++waiting_senders;
        auto one = sync_wait(select(to.send(parcel(number)), from.receive()));
        sent(std::move(one.template get<0>()), number);
        if (one.index() == 1 && one.template get<1>()) {
            got(*one.template get<1>());
        }
    };
    a.play([&] { cross(*a.at, b, 0); }, [&] { cross(b, *a.at, 1); });
}

/// The channel is full. A sender's selection waits at the head while a receiver makes room and a
/// stop ends the selection; another sender is behind it.
void select_sender_admitted() {
    stage<plain> a(1, 0);
    plain& b = a.beside;
    a.try_send(0);
    a.play(
        [&] {
            ++waiting_senders;
            auto one = sync_wait(select(a.at->send(parcel(1)), b.receive(), a.token()));
            sent(std::move(one.template get<0>()), 1);
        },
        [&] { a.send(2); }, [&] { a.receive(); }, [&] { a.stop.request_stop(); });
}

void select_closed() {
    stage<plain> a(1, 1);
    plain& b = a.beside;
    a.play([&] { select_receive(a, b); }, [&] { a.send(0, a.token()); }, [&] { b.close(); });
}

/// A held selection takes an item and admits a sender whose own selection is held (I55).
void select_admits_select() {
    stage<plain> a(1, 0);
    plain& b = a.beside;
    a.try_send(0);
    a.play(
        [&] {
            ++waiting_senders;
            auto one = sync_wait(select(a.at->send(parcel(1)), b.receive(), a.token()));
            sent(std::move(one.template get<0>()), 1);
        },
        [&] { select_receive(a, b, a.token()); }, [&] { a.stop.request_stop(); });
}

test::detached_coroutine send_then_try(plain& at, plain& then) {
    ++waiting_senders;
    auto result = co_await at.send(parcel(1));
    sent(std::move(result), 1);
    ++waiting_senders;
    sent(then.try_send(parcel(2)), 2);
}

/// A selection takes an item and admits a sender, which resumes inline and comes to the other
/// channel of the selection (I55).
template <bool Swapped>
void select_admits_inline() {
    stage<plain> s(1, 1);
    plain& full = Swapped ? s.beside : *s.at;
    plain& empty = Swapped ? *s.at : s.beside;
    s.play([&] { select_receive(s, s.beside); },
           [&] {
               ++waiting_senders;
               sent(full.try_send(parcel(0)), 0);
               send_then_try(full, empty);
           });
}

test::detached_coroutine select_on(stage<plain>& s, serial_loop& here) {
    ++waiting_receivers;
    auto one = co_await select(s.at->receive(), s.beside.receive(), s.token());
    --waiting_receivers;
    require(one.index() == select_npos || !one.get<0>(), "nobody sends");
    here.end_work();
}

/// A selection waits while its channel is destroyed. A stop may have ended it, but it has not left
/// the channel (I53).
void select_outlives_channel() {
    stage<plain> s(1);
    serial_loop loop;
    {
        const executor_scope here(loop.executor());
        loop.begin_work();
        select_on(s, loop);
    }
    s.play([&] { loop.run([] {}); }, [&] { s.destroy(); }, [&] { s.stop.request_stop(); });
}

constexpr std::array all{
    scene{"buffer_rendezvous", "two items without a buffer", pairs<0>},
    scene{"buffer_of_one", "two items through a buffer of one", pairs<1>},
    scene{"buffer_of_two", "the same, of two", pairs<2>},
    scene{"buffer_senders", "two senders without a buffer", two_senders<0>},
    scene{"buffer_senders_one", "the same, and a buffer of one", two_senders<1>},
    scene{"buffer_receivers", "two receivers without a buffer", two_receivers<0>},
    scene{"buffer_receivers_one", "the same, and a buffer of one", two_receivers<1>},
    scene{"buffer_stopped_sender", "a sender is admitted or stopped", stopped_sender<plain>},
    scene{"buffer_stopped_heavy", "the same, with weights", stopped_sender<heavy>},
    scene{"buffer_stopped_receiver", "a receiver is served or stopped", stopped_receiver<0>},
    scene{"buffer_stopped_receiver_one", "the same, and a buffer", stopped_receiver<1>},
    scene{"buffer_tries", "tries beside a receiver", tries<0>},
    scene{"buffer_tries_one", "the same, and a buffer", tries<1>},
    scene{"buffer_closer", "a close", closer<0>},
    scene{"buffer_closer_one", "the same, and a buffer", closer<1>},
    scene{"buffer_closer_full", "the same, and a sender waits", closer_full},
    scene{"buffer_canceller", "a cancellation", canceller<0>},
    scene{"buffer_canceller_one", "the same, and a buffer", canceller<1>},
    scene{"buffer_canceller_full", "the same, a sender waits, and one comes", canceller_full},
    scene{"buffer_two_cancellers", "a cancellation, and a close", two_cancellers},
    scene{"buffer_destroyed_during_cancel", "a receiver that was cancelled destroys it",
          destroyed_during_cancel},
    scene{"buffer_reopened", "a close, and a new begin", reopened},
    scene{"buffer_left_over", "an item is received after the close", left_over},
    scene{"buffer_taker", "a close that takes the items", taker<1>},
    scene{"buffer_two_closers", "a close, and one that takes the items", two_closers},
    scene{"buffer_heavy_withdraws", "a heavy item leaves, a light one has room", heavy_withdraws},
    scene{"buffer_heavy_admitted", "a heavy item waits for two light ones", heavy_admitted},
    scene{"buffer_heavy_first", "a light item does not pass a heavy one", heavy_first},
    scene{"buffer_weight_freed", "an item leaves with its weight", weight_freed},
    scene{"buffer_too_heavy", "items that are heavier than the limit", too_heavy},
    scene{"buffer_limit_raised", "two senders wait, and the limit rises by two", limit_raised},
    scene{"buffer_limit_raised_from_nothing", "a rendezvous gets a buffer",
          limit_raised_from_nothing},
    scene{"buffer_limit_raised_during_take", "a limit rises while the items are taken",
          limit_raised_during_take},
    scene{"buffer_batch_rendezvous", "a batch of three, without a buffer", batch_of_senders<0>},
    scene{"buffer_batch", "the same, and a buffer of two", batch_of_senders<2>},
    scene{"buffer_batch_over_two", "a batch of receivers takes from two senders",
          batch_over_two<0>},
    scene{"buffer_batch_over_two_one", "the same, and a buffer", batch_over_two<1>},
    scene{"buffer_batch_to_two", "a batch serves two receivers; a stop", batch_to_two},
    scene{"buffer_batch_destroyed", "a receiver of its first item destroys the channel",
          batch_destroyed},
    scene{"buffer_batch_destroyed_inside", "the same, while the first items are inside",
          batch_destroyed_inside},
    scene{"buffer_admitted_destroys", "one of two admitted senders destroys the channel",
          admitted_destroys},
    scene{"buffer_admitted_item_destroys", "the receiver of the first one's item destroys it",
          admitted_item_destroys},
    scene{"buffer_stopped_item_destroys", "the same with one sender, and a stop",
          stopped_item_destroys},
    scene{"buffer_destroyed_by_receiver", "a receiver destroys the channel",
          destroyed_by_receiver<0>},
    scene{"buffer_destroyed_by_receiver_one", "the same, and a buffer", destroyed_by_receiver<1>},
    scene{"buffer_destroyed_by_sender", "a sender destroys the channel; a stop",
          destroyed_by_sender},
    scene{"buffer_destroyed_during_close", "a receiver that finds it closed destroys it",
          destroyed_during_close},
    scene{"buffer_destroyed_during_take", "the same, while the items are taken",
          destroyed_during_take},
    scene{"buffer_two_loops", "two senders on a loop, a receiver on another; a stop", two_loops<0>},
    scene{"buffer_two_loops_one", "the same, and a buffer", two_loops<1>},
    scene{"buffer_inline_receivers", "receivers resume inline, and a close", inline_receivers},
    scene{"buffer_select", "a selection of two receives", select_between<0>},
    scene{"buffer_select_one", "the same, and buffers", select_between<1>},
    scene{"buffer_select_crossed", "two selections send to each other", select_crossed<0>},
    scene{"buffer_select_crossed_one", "the same, and buffers", select_crossed<1>},
    scene{"buffer_select_sender", "a selection waits at the head of the senders",
          select_sender_admitted},
    scene{"buffer_select_closed", "a case is closed while another has an item", select_closed},
    scene{"buffer_select_admits_select", "a selection makes room for another",
          select_admits_select},
    scene{"buffer_select_outlives_channel", "a channel is destroyed under a selection; a stop",
          select_outlives_channel},
    scene{"buffer_select_admits_inline", "a selection makes room for a party that resumes inline",
          select_admits_inline<false>},
    scene{"buffer_select_admits_inline_swapped", "the same, and the other channel",
          select_admits_inline<true>},
};

} // namespace

std::span<const scene> buffer_scenes() {
    return all;
}

} // namespace tryst::model
