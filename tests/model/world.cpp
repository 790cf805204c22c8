// SPDX-License-Identifier: MIT
// The scenes of scenes.txt whose parties exchange: what they do, and what must be true then.
#include "model/scenes.hpp"
#include "model/serial_loop.hpp"
#include "support/opened_arena.hpp"

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/eliminating.hpp>
#include <tryst/detail/meet/fifo.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/detail/meet/swap.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/select.hpp>
#include <tryst/tryst.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tryst::test {

detail::basic_arena<detail::single_slot>&
arena_of(detail::protocol<detail::single_slot>& inside) noexcept;
template struct opened_arena<&detail::protocol<detail::single_slot>::arena_>;

} // namespace tryst::test

namespace tryst::model {

namespace {

using detail::colour;

// One cell in a segment: every arrival comes to a boundary.
using queue = detail::basic_dual_queue<0>;

inline constexpr std::size_t max_parties = 8;
inline constexpr std::size_t max_cases = 4;
inline constexpr std::size_t max_places = 3;

// ---- The scene as its text says. Nothing here is in the model's memory, so that checks may look
// at what a party does without being ordered after it.

enum class patience : std::uint8_t { endless, until_stop, until_deadline, until_either, none };

/// A case of a party: the place where it exchanges, and its side there.
struct at {
    std::size_t place = 0;
    colour side = colour::none;
};

struct party : party_marks {
    patience limit = patience::endless;
    std::size_t case_count = 0;
    std::array<at, max_cases> cases;
    bool more = false; ///< The next party is the same coroutine or thread, later.
    char must = 0; ///< `!`: must exchange; a letter: at that place.

    // What has become of it.
    bool begun = false;
    bool ended = false;
    bool abandoned = false; ///< Its frame was destroyed while it waited.
    bool cancelled = false; ///< Its client cancelled it while it waited.
    std::size_t selected = select_npos;
    std::size_t mate = 0; ///< The number of the partner's parcel, if it has exchanged.
    bool exchanged = false;
    instant deadline = never;

    bool doomed() const { return has('k') || has('K'); }
    bool waits() const { return begun && !ended && !abandoned; }

    /// Whether the same code does for both.
    bool has_form_of(const party& other) const {
        return case_count == other.case_count && has('f') == other.has('f') &&
               has('i') == other.has('i') && has('y') == other.has('y') &&
               std::equal(cases.begin(), cases.begin() + case_count, other.cases.begin(),
                          [](const at& a, const at& b) { return a.side == b.side; });
    }
};
std::array<party, max_parties> parties;
std::size_t party_count = 0;

struct place_record {
    bool closing = false;
    bool closed = false;
    bool destroyed = false;
};
std::array<place_record, max_places> place_records;
std::size_t place_count = 0;
bool closing_late = false;

std::size_t place_of(char letter) {
    const std::size_t place = static_cast<std::size_t>((letter | 0x20) - 'a');
    require(place < max_places, "the scene's text has too many places");
    place_count = std::max(place_count, place + 1);
    return place;
}

/// Reads `sd:ab!`.
void read_party(std::string_view text, bool coloured) {
    party& p = parties.at(party_count++);
    p = {};
    const std::size_t colon = std::min(text.find(':'), text.size());
    for (const char letter : text.substr(0, colon)) {
        require(std::string_view("nsdetokKcCxXvwlify").find(letter) != text.npos,
                "the scene's text has an unknown mark");
        p.add(letter);
    }
    p.limit = p.has('e')                 ? patience::until_either
              : p.has('s')               ? patience::until_stop
              : p.has('d') || p.has('o') ? patience::until_deadline
              : p.has('t')               ? patience::none
                                         : patience::endless;
    const std::string_view cases = colon == text.size() ? "a" : text.substr(colon + 1);
    for (std::size_t i = 0; i != cases.size(); ++i) {
        if (cases[i] == '!') {
            p.must = i + 1 == cases.size() ? '!' : cases[i + 1];
            break;
        }
        const colour side = !coloured ? colour::none : cases[i] >= 'a' ? colour::blue : colour::red;
        p.cases.at(p.case_count++) = {place_of(cases[i]), side};
    }
}

/// Reads the scene.
void read(bool coloured) {
    party_count = 0;
    place_count = 1;
    place_records.fill({});
    closing_late = false;
    read_actors(party_count, [&](const actor& each) {
        const bool has_parties = each.kind() == 'L' || each.kind() == 'B' || each.kind() == 'T';
        for (std::size_t begin = 1, end = 0; has_parties && end < each.word.size();
             begin = end + 1) {
            end = std::min(each.word.find_first_of(",>", begin), each.word.size());
            read_party(each.word.substr(begin, end - begin), coloured);
            parties[party_count - 1].more = end < each.word.size() && each.word[end] == '>';
        }
    });
}

// ---- Items and coroutines

/// An item: the number of the party that brought it, in memory of its own, which only its owner may
/// touch. Where posts order nothing, the number alone.
class parcel {
public:
    explicit parcel(std::size_t from)
        : box_(the_checker().limits().bare_posts ? nullptr : new std::size_t(from)), from_(from) {}
    parcel(parcel&& other) noexcept
        : box_(std::exchange(other.box_, nullptr)), from_(other.from_) {}
    parcel& operator=(parcel&&) = delete;
    ~parcel() { delete box_; }

    std::size_t from() const noexcept { return box_ == nullptr ? from_ : *box_; }

private:
    std::size_t* box_;
    std::size_t from_;
};

/// A coroutine whose frame goes with its last statement, unless somebody destroys it before.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<> frame;
};

// ---- Forms of parties: what has a type of its own.

/// An exchange, or a selection of several cases.
template <colour... Sides>
struct one_of {
    template <class World, class... Limit>
    static auto make(World& w, std::size_t who, Limit... limit) {
        if constexpr (sizeof...(Sides) == 1) {
            return w.template offer<Sides...>(who, 0, limit...);
        } else {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return select(w.template offer<Sides>(who, I)..., limit...);
            }(std::make_index_sequence<sizeof...(Sides)>());
        }
    }
    template <class World>
    static auto attempt(World& w, std::size_t who) {
        if constexpr (sizeof...(Sides) == 1) {
            return w.template attempt<Sides...>(who);
        } else {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return try_select(w.template offer<Sides>(who, I)...);
            }(std::make_index_sequence<sizeof...(Sides)>());
        }
    }
};

/// A selection that prefers the earlier of two cases.
struct in_order : one_of<colour::none, colour::none> {
    template <class World, class... Limit>
    static auto make(World& w, std::size_t who, Limit... limit) {
        return select_biased(w.template offer<colour::none>(who, 0),
                             w.template offer<colour::none>(who, 1), limit...);
    }
};

/// A selection from a range, of three cases.
struct from_range : one_of<colour::none, colour::none, colour::none> {
    template <class World, class... Limit>
    static auto make(World& w, std::size_t who, Limit... limit) {
        return select_from(
            std::array<std::size_t, 3>{0, 1, 2},
            [&w, who](std::size_t which) { return w.template offer<colour::none>(who, which); },
            limit...);
    }
};

/// A selection whose limit is an event, the last of its cases.
struct with_event : one_of<colour::none, colour::none> {
    template <class World, class... Limit>
    static auto make(World& w, std::size_t who, Limit... limit) {
        return select(w.template offer<colour::none>(who, 0),
                      w.template offer<colour::none>(who, 1), event(limit)...);
    }

private:
    static auto event(stop_token stop) { return stopped(std::move(stop)); }
    template <class Duration>
    static auto event(Duration patience) {
        return sleep_for(patience);
    }
};

/// Several exchangers, in ascending order of their addresses, and what the actors do there.
/// @tparam Policies  perhaps `counted`: then the first thread has a cell of its own.
template <class WaitList, class... Policies>
class world {
    using observer = detail::observer<Policies...>;
    using protocol = detail::protocol<WaitList, observer>;
    static constexpr bool coloured = !std::is_same_v<WaitList, detail::single_slot>;
    static constexpr bool counts = sizeof...(Policies) != 0;
    static constexpr std::chrono::nanoseconds wait{10};
    static constexpr instant end_of_time = 2'000'000;

public:
    /// @param slots  above slot 0; `grown` if arrivals use them from the start.
    world(std::size_t slots, bool grown) {
        read(coloured);
        for (std::size_t i = 0; i != place_count; ++i) {
            places_.at(i) = make_place(slots);
        }
        std::sort(places_.begin(), places_.begin() + place_count, std::less<>());
        if constexpr (requires(protocol& inside) { test::arena_of(inside); }) {
            if (grown) {
                test::arena_of(*places_[0]).grow();
            }
        }
        the_checker().forbid(playing->never);
        if (playing->firm) {
            the_checker().forbid_spurious_failures();
        }
        for (const actor& each : every_actor()) {
            prepare(each);
        }
    }
    ~world() { destroy_all(); }
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    /// Runs the threads until nothing can go on, closes the exchangers, lets all end, and checks.
    void run() {
        start_actors(*this);
        the_checker().settle();
        the_checker().os().advance(end_of_time, site::current());
        the_checker().settle();
        require_quiescence();
        for (std::size_t i = 0; i != place_count; ++i) {
            if (!place_records[i].destroyed) {
                place_records[i].closing = true;
                closing_late = true;
                places_[i]->close(); // uses what a selection that has ended has left there
            }
        }
        the_checker().join();
        verify();
    }

    void act(const actor& each) {
        const std::string_view word = each.word;
        if (each.kind() == 'L') {
            be_loop(each);
        } else if (each.kind() == 'B') {
            const std::coroutine_handle<> frame = begin(nullptr, each.first);
            // Whether its waiter is there, and this still the step that has left it there.
            if (parties[each.first].doomed() && !parties[each.first].ended) {
                // Release, pairs with the load in `avenge`: its frame.
                suspended_->store(reinterpret_cast<std::uintptr_t>(frame.address()),
                                  std::memory_order_release);
            }
            announce(each.first);
        } else if (each.kind() == 'T') {
            for (std::size_t i = 0; i != each.count; ++i) {
                with_form(parties[each.first + i],
                          [&](auto form) { by_thread(form, each.first + i); });
            }
        } else if (word == "stop") {
            what_canceller_did_ = true;
            stop_.request_stop();
        } else if (word == "time") { // goes on until every deadline has passed
            the_checker().os().advance(end_of_time / 2, site::current());
        } else if (word == "kill") {
            doom_.loop->executor().post(&doom_);
        } else if (word == "cancel") {
            request_.loop->executor().post(&request_);
        } else if (word == "count") { // while parties come and go
            const statistics seen = counters_->stats();
            require(seen.arrivals <= party_count && seen.waiting <= party_count &&
                        seen.exchanges <= party_count / 2,
                    "a snapshot counts too much");
        } else if (word == "destroy") {
            the_checker().await(waiting_, watched_, "all have begun to wait", site::current());
            destroy_all();
        } else if (word.starts_with("close")) {
            for (const char letter : word.size() == 5 ? "a" : word.substr(6)) {
                close(place_of(letter));
            }
        } else {
            the_checker().fail("the scene's text has an unknown word");
        }
    }

    // ---- For the forms

    /// A case of a party, or its whole exchange.
    template <colour Side, class... Limit>
    auto offer(std::size_t who, std::size_t which, Limit... limit) {
        parcel gift(number_of(who, which));
        return factory<Side>::make_exchange(place(who, which), std::move(gift), limit...);
    }
    template <colour Side>
    auto attempt(std::size_t who) {
        return factory<Side>::try_exchange(place(who, 0), parcel(number_of(who, 0)));
    }

private:
    template <colour Side>
    using factory = detail::factory<detail::side<WaitList, parcel, parcel, Side, observer>>;

    /// The order to destroy a coroutine, on its loop.
    struct doom : executor_node {
        serial_loop* loop = nullptr;
        std::coroutine_handle<> frame;
        std::size_t who = 0;
    };
    /// The request to cancel an operation, on its loop.
    struct cancel_request : executor_node {
        serial_loop* loop = nullptr;
        void* operation = nullptr; ///< Null unless it is in progress.
        void (*request)(void* operation) noexcept = nullptr;
        std::size_t who = 0;
    };

    static std::size_t number_of(std::size_t who, std::size_t which) {
        return who * max_cases + which;
    }
    protocol& place(std::size_t who, std::size_t which) {
        return *places_.at(parties[who].cases.at(which).place);
    }
    detail::stop_token token() noexcept { return detail::stop_token(stop_); }
    static std::chrono::nanoseconds time_limit(const party& p) {
        return p.has('o') ? wait - wait : wait;
    }

    serial_loop& loop_of(const actor& each) { return loop_.at(loop_number(each)); }

    protocol* make_place(std::size_t slots) {
        if constexpr (counts) {
            return new protocol(slots, typename observer::given(*counters_));
        } else {
            return new protocol(slots);
        }
    }

    void prepare(const actor& each) {
        for (std::size_t who = each.first; who != each.first + each.count; ++who) {
            party& p = parties[who];
            if (p.limit == patience::until_deadline || p.limit == patience::until_either) {
                p.deadline = p.has('o') ? 0 : the_checker().os().time() + wait.count();
            }
            if (p.doomed()) {
                doom_.loop = &loop_of(each);
                doom_.who = who;
                doom_.run = [](executor_node* node) noexcept {
                    auto& order = *static_cast<doom*>(node);
                    if (!parties[order.who].ended) {
                        order.frame.destroy();
                        parties[order.who].abandoned = true;
                    }
                    order.loop->end_work();
                };
            }
            if (p.has('c') || p.has('C')) {
                request_.loop = &loop_of(each);
                request_.who = who;
                request_.run = [](executor_node* node) noexcept {
                    const auto& made = *static_cast<cancel_request*>(node);
                    if (made.operation != nullptr) {
                        parties[made.who].cancelled = true;
                        made.request(made.operation);
                    }
                };
            }
            if (p.has('v')) {
                suspended_ = std::make_unique<detail::atomic<std::uintptr_t>>(0U);
            }
            watched_ += p.has('w') ? 1U : 0U;
        }
    }

    /// Tells `destroy` that the party has begun to wait.
    void announce(std::size_t who) {
        if (parties[who].has('w')) {
            the_checker().publish(waiting_, "has begun to wait", site::current());
        }
    }

    void be_loop(const actor& each) {
        serial_loop& here = loop_of(each);
        if constexpr (std::is_same_v<WaitList, detail::dual_stack>) {
            test::let_next_arrival_look(parties[each.first].has('l'));
        }
        here.run([&] {
            for (std::size_t who = each.first; who != each.first + each.count; ++who) {
                here.begin_work();
                if (parties[who].has('K')) {
                    here.executor().post(&doom_);
                } else if (parties[who].has('C')) {
                    here.executor().post(&request_);
                }
                const std::coroutine_handle<> frame = begin(&here, who);
                if (parties[who].doomed()) {
                    doom_.frame = frame;
                }
                announce(who);
                if (parties[who].more) {
                    break;
                }
            }
        });
    }

    // ---- Parties

    template <class F>
    static auto with_form(const party& p, F f) {
        if constexpr (!coloured) {
            return p.has('f')          ? f(from_range())
                   : p.has('i')        ? f(in_order())
                   : p.has('y')        ? f(with_event())
                   : p.case_count == 1 ? f(one_of<colour::none>())
                   : p.case_count == 2 ? f(one_of<colour::none, colour::none>())
                                       : f(one_of<colour::none, colour::none, colour::none>());
        } else {
            constexpr auto red = colour::red;
            constexpr auto blue = colour::blue;
            const bool first = p.cases[0].side == red;
            const bool second = p.cases[1].side == red;
            return p.case_count == 1 ? (first ? f(one_of<red>()) : f(one_of<blue>()))
                   : first           ? (second ? f(one_of<red, red>()) : f(one_of<red, blue>()))
                                     : (second ? f(one_of<blue, red>()) : f(one_of<blue, blue>()));
        }
    }

    /// Starts the coroutine of a party.
    std::coroutine_handle<> begin(serial_loop* on, std::size_t who) {
        return with_form(parties[who], [&](auto form) { return come(form, *this, on, who).frame; });
    }

    /// Awaits the operation of a party; as an adapter does that cancels it itself, if it is marked.
    template <class Form, class... Limit>
    class client {
    public:
        client(world& w, std::size_t who, Limit... limit)
            : w_(w), cancels_(parties[who].has('c') || parties[who].has('C')),
              operation_(Form::make(w, who, limit...)) {}

        bool await_ready() noexcept {
            return cancels_ ? core().try_match() : operation_.await_ready();
        }
        template <class Promise>
        [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> party) noexcept {
            if (!cancels_) {
                return operation_.await_suspend(party);
            }
            w_.request_.operation = &core();
            w_.request_.request = [](void* operation) noexcept {
                static_cast<core_type*>(operation)->request_cancel();
            };
            return core().template start<resume>(w_.request_.loop->executor(), party.address(),
                                                 true);
        }
        auto await_resume() noexcept {
            if (cancels_) {
                w_.request_.operation = nullptr;
                return core().take_result();
            }
            return operation_.await_resume();
        }

    private:
        using operation_type =
            decltype(Form::make(std::declval<world&>(), 0, std::declval<Limit>()...));
        using core_type = std::remove_reference_t<decltype(detail::operation_access::of(
            std::declval<operation_type&>()))>;

        core_type& core() noexcept { return detail::operation_access::of(operation_); }
        static void resume(executor_node* node) noexcept {
            std::coroutine_handle<>::from_address(core_type::client_of(node)).resume();
        }

        world& w_;
        bool cancels_;
        operation_type operation_;
    };
    template <class Form, class... Limit>
    client<Form, Limit...> ask(std::size_t who, Limit... limit) {
        return client<Form, Limit...>(*this, who, limit...);
    }

    template <class Form>
    static detached come(Form form, world& w, serial_loop* on, std::size_t who) {
        while (true) {
            const party& p = parties[who];
            parties[who].begun = true;
            switch (p.limit) {
            case patience::none:
                w.enter(who, form.attempt(w, who));
                break;
            case patience::endless: {
                auto got = co_await w.template ask<Form>(who);
                w.enter(who, std::move(got));
                break;
            }
            case patience::until_stop: {
                auto got = co_await w.template ask<Form>(who, w.token());
                w.enter(who, std::move(got));
                break;
            }
            case patience::until_deadline: {
                auto got = co_await w.template ask<Form>(who, time_limit(p));
                w.enter(who, std::move(got));
                break;
            }
            case patience::until_either: {
                auto got = co_await w.template ask<Form>(who, time_limit(p), w.token());
                w.enter(who, std::move(got));
                break;
            }
            }
            if (!p.more) {
                break;
            }
            ++who; // in the same frame, whose addresses are used again
            if (!p.has_form_of(parties[who])) {
                w.begin(on, who);
                co_return;
            }
        }
        if (parties[who].has('v')) {
            w.avenge();
        }
        if (on != nullptr && !parties[who].doomed()) {
            on->end_work();
        }
    }

    template <class Form>
    void by_thread(Form form, std::size_t who) {
        const party& p = parties[who];
        parties[who].begun = true;
        switch (p.limit) {
        case patience::none:
            return enter(who, form.attempt(*this, who));
        case patience::endless:
            return enter(who, sync_wait(form.make(*this, who)));
        case patience::until_stop:
            return enter(who, sync_wait(form.make(*this, who, token())));
        case patience::until_deadline:
            return enter(who, sync_wait(form.make(*this, who, time_limit(p))));
        case patience::until_either:
            return enter(who, sync_wait(form.make(*this, who, time_limit(p), token())));
        }
    }

    /// Destroys the coroutine of the doomed party without an executor, if that is suspended.
    void avenge() {
        // Acquire, pairs with the store after the start of that party.
        if (const std::uintptr_t frame = suspended_->load(std::memory_order_acquire)) {
            parties[doom_.who].abandoned = true;
            std::coroutine_handle<>::from_address(reinterpret_cast<void*>(frame)).destroy();
        }
    }

    void close(std::size_t place) {
        what_closer_did_.at(place) = true;
        place_records.at(place).closing = true;
        places_[place]->close();
        place_records[place].closed = true;
    }

    void destroy(std::size_t place) noexcept {
        if (!std::exchange(place_records[place].destroyed, true)) {
            place_records[place].closing = true;
            closing_late = true;
            delete places_[place];
        }
    }
    void destroy_all() noexcept {
        for (std::size_t i = 0; i != place_count; ++i) {
            destroy(i);
        }
    }

    // ---- Results

    template <class Result>
    void enter(std::size_t who, Result got) {
        enter_all(who, std::move(got));
        const party& p = parties[who];
        if (p.has('X') || (p.has('x') && p.exchanged)) {
            destroy(p.cases.at(p.case_count - 1).place);
        }
    }

    template <class... Results>
    void enter_all(std::size_t who, select_result<Results...>&& got) {
        const party& its = parties.at(who);
        const bool by_event = got && got.index() >= its.case_count;
        const auto lost =
            got ? exchange_errc::not_selected : static_cast<exchange_errc>(got.error().value());
        end(who, by_event ? select_npos : got.index(), !got || by_event,
            !by_event                           ? lost
            : its.limit == patience::until_stop ? exchange_errc::cancelled
                                                : exchange_errc::timed_out);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (enter_case(who, I, got.template get<I>(), lost), ...);
        }(std::index_sequence_for<Results...>());
    }
    template <class Cases>
    void enter_all(std::size_t who, select_from_result<Cases>&& got) {
        auto first = got[0];
        const auto lost =
            got ? exchange_errc::not_selected : static_cast<exchange_errc>(first.error().value());
        end(who, got.index(), !got, lost);
        enter_case(who, 0, std::move(first), lost);
        for (std::size_t i = 1; i != got.size(); ++i) {
            enter_case(who, i, got[i], lost);
        }
    }
    template <class Theirs, class Own>
    void enter_all(std::size_t who, exchange_result<Theirs, Own>&& got) {
        const bool fails = !got && got.error() != exchange_errc::closed;
        const auto lost =
            fails ? static_cast<exchange_errc>(got.error().value()) : exchange_errc::not_selected;
        end(who, fails ? select_npos : 0, fails, lost);
        enter_case(who, 0, std::move(got), lost);
    }

    /// Enters which case was selected; if none, it `fails` for a reason.
    void end(std::size_t who, std::size_t selected, bool fails, exchange_errc reason) {
        party& its = parties.at(who);
        require(!its.ended, "a party has ended twice");
        its.ended = true;
        its.selected = selected;
        const bool may =
            !fails ||
            (reason == exchange_errc::timed_out ? the_checker().os().time() >= its.deadline
             : reason == exchange_errc::cancelled
                 ? its.cancelled || (stop_.requested() && sees(what_canceller_did_))
                 : reason == exchange_errc::no_partner && its.limit == patience::none);
        require(may, "a wait has ended for a reason that is not there");
    }

    /// Enters a result for case `which` of a party.
    template <class Result>
    void enter_case(std::size_t who, std::size_t which, Result&& got, exchange_errc lost) {
        if constexpr (std::is_same_v<std::remove_cvref_t<Result>, exchange_result<void, void>>) {
            require(got || got.error() == lost, "an event was lost for another reason");
            return;
        } else {
            enter_exchange(who, which, std::forward<Result>(got), lost);
        }
    }
    template <class Result>
    void enter_exchange(std::size_t who, std::size_t which, Result&& got, exchange_errc lost) {
        party& its = parties.at(who);
        if (which == its.selected && got) {
            its.exchanged = true;
            its.mate = (*got).from();
            return;
        }
        require(!got, "a case that was not selected has exchanged");
        require(got.returned().from() == number_of(who, which),
                "a failed exchange has returned another's parcel");
        if (which != its.selected) {
            require(got.error() == lost, "a case was lost for another reason");
            return;
        }
        require(got.error() == exchange_errc::closed, "a selected case has failed");
        const std::size_t place = its.cases.at(which).place;
        require(place_records.at(place).closing &&
                    (closing_late || sees(what_closer_did_.at(place))),
                "a party finds closed what is not");
    }

    /// A plain access: a stop or a close happens-before what it ends, if posts order it.
    static bool sees(const bool& done) { return the_checker().limits().bare_posts || done; }

    static bool match(const at& a, const at& b) {
        return a.place == b.place && b.side == detail::opposite(a.side);
    }

    /// I3: no two waiters could have met each other, and nothing that ends a wait was lost.
    void require_quiescence() const {
        for (std::size_t i = 0; i != party_count; ++i) {
            const party& each = parties[i];
            if (!each.waits()) {
                continue;
            }
            require(!each.cancelled, "a request to cancel was lost");
            require(each.limit == patience::endless ||
                        (each.limit == patience::until_stop && !stop_.requested()),
                    "a stop or a deadline was lost");
            for (std::size_t c = 0; c != each.case_count; ++c) {
                require(!place_records.at(each.cases[c].place).closed,
                        "a party waits where all is closed");
                for (std::size_t j = i + 1; j != party_count; ++j) {
                    for (std::size_t d = 0; parties[j].waits() && d != parties[j].case_count; ++d) {
                        require(!match(each.cases[c], parties[j].cases[d]),
                                "two parties wait for ever for each other");
                    }
                }
            }
        }
    }

    /// Conservation: whoever exchanged got what its partner brought to the same place, for the case
    /// that its partner has selected, and the partner got ours.
    void verify() const {
        for (std::size_t i = 0; i != party_count; ++i) {
            const party& its = parties[i];
            if (its.abandoned || !its.begun) {
                continue;
            }
            require(its.ended, "a party has never ended");
            require(its.must == 0 || its.exchanged, "a party has missed another");
            if (!its.exchanged) {
                continue;
            }
            const at& where = its.cases.at(its.selected);
            require(its.must == 0 || its.must == '!' || where.place == place_of(its.must),
                    "another case was selected");
            const std::size_t partner = its.mate / max_cases;
            const std::size_t theirs = its.mate % max_cases;
            require(partner != i && partner < party_count && theirs < parties[partner].case_count,
                    "a party has got no other's parcel");
            require(match(where, parties[partner].cases.at(theirs)),
                    "a parcel has come from another place");
            require(parties[partner].abandoned ||
                        (parties[partner].exchanged && parties[partner].selected == theirs &&
                         parties[partner].mate == number_of(i, its.selected)),
                    "an exchange is one-sided");
        }
        if (counts) {
            require_counts();
        }
    }

    void require_counts() const {
        // The other parties are those of a scene that was explored before.
        const auto exchanged =
            std::ranges::count_if(std::span(parties).first(party_count), &party::exchanged);
        const statistics seen = counters_->stats();
        require(seen.arrivals == party_count, "an arrival was not counted");
        require(2 * seen.exchanges == static_cast<std::size_t>(exchanged),
                "an exchange was not counted");
        require(seen.arrivals == 2 * seen.exchanges + seen.ended(), "an end was not counted");
        require(seen.waiting == 0, "an operation seems to wait");
    }

    std::unique_ptr<counters> counters_ = counts ? std::make_unique<counters>(1) : nullptr;
    std::array<protocol*, max_places> places_{};
    doom doom_;
    cancel_request request_;
    std::unique_ptr<detail::atomic<std::uintptr_t>> suspended_; // the frame of the doomed party
    shared_object waiting_; // its version counts who of `watched_` has begun
    std::uint32_t watched_ = 0;
    stop_source stop_;
    bool what_canceller_did_ = false; ///< To be seen by whoever gets `cancelled`.
    std::array<bool, max_places> what_closer_did_{}; ///< Likewise, `closed`.
    std::array<serial_loop, 4> loop_;
};

} // namespace

void play_exchanges() {
    const std::string_view venue = playing->venue;
    if (venue == "slot") {
        world<detail::single_slot>(0, false).run();
    } else if (venue == "slots") {
        world<detail::single_slot>(1, false).run();
    } else if (venue == "counted") {
        world<detail::single_slot, counted>(0, false).run();
    } else if (venue == "arena") {
        world<detail::single_slot>(1, true).run();
    } else if (venue == "fifo") {
        world<queue>(0, false).run();
    } else if (venue == "lifo") {
        world<detail::dual_stack>(0, false).run();
    } else if (venue == "lifo+arena") {
        world<detail::dual_stack>(1, true).run();
    } else {
        the_checker().fail("the scene's text has an unknown venue");
    }
}

} // namespace tryst::model
