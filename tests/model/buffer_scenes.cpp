// SPDX-License-Identifier: MIT
// The scenes of scenes.txt at channels with a buffer: what their parties do, and what must be true
// then: no item is lost or doubled, and at rest no party waits without a reason (I51).
#include "model/scenes.hpp"
#include "model/serial_loop.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/channel.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

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
bool is_destroyed = false; ///< The first channel.
bool has_buffer = false; ///< The first channel, if its limit is not raised.

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
                require(has_buffer, "an item was in a channel without a buffer");
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

/// @returns whether the item was sent.
template <class Result>
bool sent(Result result, std::size_t number) {
    --waiting_senders;
    const bool done = result.has_value();
    if (done) {
        require(fates.at(number) != fate::none && fates.at(number) != fate::returned,
                "an item was sent that nobody gave");
        fates.at(number) = fates.at(number) == fate::given ? fate::inside : fates.at(number);
    } else {
        require(result.returned().number() == number, "another's item was returned");
        turn_into(number, fate::given, fate::returned, "an item was returned that has left");
    }
    return done;
}

/// @returns the number of the item that was received.
template <class Result>
std::optional<std::size_t> received(const Result& result) {
    --waiting_receivers;
    if (!result) {
        return std::nullopt;
    }
    got(*result);
    return result->number();
}

/// Likewise of case `I` of a selection. @returns whether it has got an item.
template <std::size_t I, class Results>
bool got_by(Results& selection) {
    const bool done = selection.index() == I && selection.template get<I>();
    if (done) {
        got(*selection.template get<I>());
    }
    return done;
}

// ---- The scene as its text says. Not in the model's memory either.

struct action : party_marks {
    std::string_view word; ///< Without the places.
    std::optional<std::size_t> number; ///< Of its item, or the first one; a limit; a size.
    std::size_t count = 1; ///< Of the items in a batch.
    std::size_t place = 0; ///< Where its channel is,
    std::optional<std::size_t> other_place; ///< and the second one of a selection.
    bool more = false; ///< The next action is of the same coroutine or thread.

    bool sends() const { return word.front() == '+'; }
    bool receives() const { return word.front() == '-'; }
    bool waits() const { return (sends() || receives()) && !has('t'); }
};
std::array<action, 12> actions;
std::size_t action_count = 0;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::size_t value_of(char digit) {
    return static_cast<std::size_t>(digit - '0');
}

/// Reads `+0s:b`.
void read_action(std::string_view text) {
    action& a = actions.at(action_count++);
    a = {};
    const std::size_t colon = std::min(text.find(':'), text.size());
    a.word = text.substr(0, colon);
    for (std::size_t i = 0; i != a.word.size(); ++i) {
        const char letter = a.word[i];
        if (letter == '*') {
            a.count = value_of(a.word[++i]);
        } else if (is_digit(letter)) {
            a.number = value_of(letter);
        } else {
            require(std::string_view("+-st!uxX").find(letter) != text.npos ||
                        !(a.sends() || a.receives()),
                    "the scene's text has an unknown mark");
            a.add(letter);
        }
    }
    const std::string_view places = colon == text.size() ? "a" : text.substr(colon + 1);
    a.place = static_cast<std::size_t>(places[0] - 'a');
    if (places.size() == 2) {
        a.other_place = static_cast<std::size_t>(places[1] - 'a');
    }
}

/// Reads the scene.
void read() {
    action_count = 0;
    read_actors(action_count, [](const actor& each) {
        std::string_view rest = each.word;
        rest.remove_prefix(each.kind() == 'L' || each.kind() == 'B' ? 1 : 0);
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find_first_of(",>"), rest.size());
            read_action(rest.substr(0, end));
            actions[action_count - 1].more = rest.substr(end).starts_with('>');
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    });
}

/// Two channels, and what the actors do there.
template <class Channel>
class stage {
public:
    /// @param limit  of the channel, and of the other one.
    stage(std::size_t limit, std::size_t other)
        : owned_(std::make_unique<Channel>(limit)), beside_(other),
          places_{owned_.get(), &beside_} {
        fates.fill(fate::none);
        next_out = 0;
        in_order = false;
        waiting_senders = waiting_receivers = 0;
        is_destroyed = false;
        has_buffer = limit != 0;
        read();
    }

    /// Runs the threads until nothing goes on, checks what waits, closes, and checks again.
    void play() {
        start_actors(*this);
        the_checker().settle();
        if (!is_destroyed) {
            const std::size_t inside = owned_->size();
            require(waiting_receivers == 0 || (waiting_senders == 0 && inside == 0),
                    "a receiver waits although there is an item");
            require(waiting_senders == 0 || inside != 0 || owned_->limit() == 0,
                    "a sender waits although there is room");
            require(std::is_same_v<Channel, heavy> || waiting_senders == 0 ||
                        inside >= owned_->limit(),
                    "a sender waits although there is room for its item");
            require(!none_waits_ || waiting_senders + waiting_receivers == 0, "a party waits");
            require(!owned_->is_closed() || waiting_senders + waiting_receivers == 0,
                    "a party waits in a closed channel");
            owned_->close();
        }
        beside_.close();
        the_checker().join();
        require(waiting_senders + waiting_receivers == 0, "a party has never ended");
        if (!is_destroyed) {
            take_from(*owned_);
        }
        take_from(beside_);
        for (const fate each : fates) {
            require(each != fate::given && each != fate::inside, "an item was lost");
        }
    }

    void act(const actor& each) {
        const auto mine = std::span<const action>(actions).subspan(each.first, each.count);
        if (each.kind() == 'L') {
            serial_loop& here = loops_.at(loop_number(each));
            if (each.when == '<') {
                const executor_scope on(here.executor());
                begin(mine, here);
            } else {
                here.run([&] { begin(mine, here); });
            }
        } else if (each.kind() == 'B') {
            go_on(mine, nullptr);
        } else if (each.word == "run") {
            loops_[0].run([] {});
        } else if (each.word == "in_order") {
            in_order = true;
        } else if (each.word == "none_waits") {
            none_waits_ = true;
        } else {
            for (const action& a : mine) {
                if (a.waits()) {
                    wait_by_thread(a);
                } else {
                    act_at_once(a);
                }
            }
        }
    }

private:
    // ---- Operations that wait: how each begins, and what must be true at its end. `end` returns
    // whether it has succeeded.

    struct sending {
        stage& s;
        const action& a;

        auto begin(auto... limit) {
            ++waiting_senders;
            return s.at(a).send(parcel(*a.number), limit...);
        }
        bool end(auto result) { return sent(std::move(result), *a.number); }
    };

    struct receiving {
        stage& s;
        const action& a;

        auto begin(auto... limit) {
            ++waiting_receivers;
            return s.at(a).receive(limit...);
        }
        /// Only the item that is asked for counts.
        bool end(auto result) {
            const auto number = received(result);
            return number && number == a.number.value_or(*number);
        }
    };

    struct sending_all {
        stage& s;
        const action& a;
        std::array<parcel, 3> items{};

        auto begin(auto... limit) {
            for (std::size_t i = 0; i != a.count; ++i) {
                items.at(i) = parcel(*a.number + i);
            }
            waiting_senders += a.count;
            return s.at(a).send_all(std::span(items).first(a.count), limit...);
        }
        bool end(auto result) {
            const std::size_t left = result ? 0 : result.returned().size();
            for (std::size_t i = 0; i != a.count; ++i) {
                using each = exchange_result<void, parcel>;
                sent(i < a.count - left ? each(detail::nothing())
                                        : each(exchange_errc::closed, std::move(items.at(i))),
                     *a.number + i);
            }
            return left == 0;
        }
    };

    struct receiving_some {
        stage& s;
        const action& a;
        std::array<parcel, 3> places{};

        auto begin(auto... limit) {
            ++waiting_receivers;
            return s.at(a).receive_some(std::span(places).first(a.count), limit...);
        }
        bool end(auto result) {
            --waiting_receivers;
            require(!result || *result != 0, "a batch of nothing");
            for (std::size_t i = 0; result && i != *result; ++i) {
                got(places.at(i));
            }
            return result.has_value();
        }
    };

    struct receiving_either {
        stage& s;
        const action& a;

        auto begin(auto... limit) {
            ++waiting_receivers;
            return select(s.at(a).receive(), s.other_at(a).receive(), limit...);
        }
        bool end(auto selection) {
            --waiting_receivers;
            return got_by<0>(selection) || got_by<1>(selection);
        }
    };

    struct sending_or_receiving {
        stage& s;
        const action& a;

        auto begin(auto... limit) {
            ++waiting_senders;
            return select(s.at(a).send(parcel(*a.number)), s.other_at(a).receive(), limit...);
        }
        bool end(auto selection) {
            const bool has_sent = sent(std::move(selection.template get<0>()), *a.number);
            return got_by<1>(selection) || has_sent;
        }
    };

    /// Calls `wait` with the operation, and perhaps the token that stops it.
    void with_operation(const action& a, auto wait) {
        const auto with = [&]<class Operation>(std::type_identity<Operation>) {
            if (a.has('s')) {
                wait(Operation{*this, a}, detail::stop_token(stop_));
            } else {
                wait(Operation{*this, a});
            }
        };
        if (a.other_place) {
            a.sends() ? with(std::type_identity<sending_or_receiving>())
                      : with(std::type_identity<receiving_either>());
        } else if (a.count != 1) {
            a.sends() ? with(std::type_identity<sending_all>())
                      : with(std::type_identity<receiving_some>());
        } else {
            a.sends() ? with(std::type_identity<sending>()) : with(std::type_identity<receiving>());
        }
    }

    void wait_by_thread(const action& a) {
        with_operation(a, [&](auto operation, auto... limit) {
            for (bool again = true; again;) {
                auto result = sync_wait(operation.begin(limit...));
                again = repeats(a, operation.end(std::move(result)));
            }
        });
    }

    /// Starts the coroutines of a loop.
    void begin(std::span<const action> rest, serial_loop& here) {
        while (!rest.empty()) {
            const auto last = std::ranges::find(rest, false, &action::more);
            const auto count = static_cast<std::size_t>(last - rest.begin()) + 1;
            here.begin_work();
            go_on(rest.first(count), &here);
            rest = rest.subspan(count);
        }
    }

    /// Does the rest of a coroutine, up to the next wait.
    void go_on(std::span<const action> rest, serial_loop* here) {
        for (; !rest.empty() && !rest.front().waits(); rest = rest.subspan(1)) {
            act_at_once(rest.front());
        }
        if (!rest.empty()) {
            with_operation(rest.front(), [&](auto operation, auto... limit) {
                await(std::move(operation), rest.subspan(1), here, limit...);
            });
        } else if (here != nullptr) {
            here->end_work();
        }
    }
    template <class Operation, class... Limit>
    static test::detached_coroutine await(Operation operation, std::span<const action> then,
                                          serial_loop* here, Limit... limit) {
        stage& s = operation.s;
        for (bool again = true; again;) {
            auto result = co_await operation.begin(limit...);
            again = s.repeats(operation.a, operation.end(std::move(result)));
        }
        s.go_on(then, here);
    }

    void act_at_once(const action& a) {
        if (a.sends()) {
            ++waiting_senders;
            sent(at(a).try_send(parcel(*a.number)), *a.number);
        } else if (a.receives()) {
            ++waiting_receivers;
            received(at(a).try_receive());
        } else if (a.word == "stop") {
            stop_.request_stop();
        } else if (a.word == "close") {
            at(a).close();
        } else if (a.word == "cancel") {
            at(a).cancel();
        } else if (a.word == "reset") {
            at(a).reset();
        } else if (a.word == "take") {
            take_from(at(a));
        } else if (a.word == "destroy") {
            destroy();
        } else if (a.word.starts_with("limit")) {
            at(a).set_limit(*a.number);
        } else if (a.word.starts_with("size")) {
            require(at(a).size() == *a.number, "another number of items is in the channel");
        } else {
            the_checker().fail("the scene's text has an unknown word");
        }
    }

    /// Does what the marks of an operation ask for after its end.
    /// @returns whether it is to be repeated.
    bool repeats(const action& a, bool done) {
        require(done || !a.has('!'), "a closed channel keeps its item");
        const bool again = done && a.has('u');
        if (!again && (a.has('X') || (done && a.has('x')))) {
            destroy();
        }
        return again;
    }

    static void take_from(Channel& from) {
        for (parcel& each : from.close_and_take()) {
            got(each);
        }
    }
    void destroy() {
        is_destroyed = true;
        owned_.reset();
    }
    Channel& at(const action& a) { return *places_.at(a.place); }
    Channel& other_at(const action& a) { return *places_.at(*a.other_place); }

    std::unique_ptr<Channel> owned_;
    Channel beside_; ///< For selections.
    std::array<Channel*, 2> places_; ///< To be read while a party destroys what is `owned_`.
    std::array<serial_loop, 2> loops_;
    stop_source stop_;
    bool none_waits_ = false; ///< At rest.
};

} // namespace

void play_buffer() {
    std::string_view limits = playing->venue; // `buffer1/0`, `heavy2`
    const bool weighs = limits.starts_with("heavy");
    limits.remove_prefix(std::min(limits.find_first_of("0123456789"), limits.size()));
    require(!limits.empty(), "the scene's text has an unknown venue");
    const std::size_t first = value_of(limits[0]);
    const std::size_t other = limits.size() == 3 ? value_of(limits[2]) : 0;
    if (weighs) {
        stage<heavy>(first, other).play();
    } else {
        stage<plain>(first, other).play();
    }
}

} // namespace tryst::model
