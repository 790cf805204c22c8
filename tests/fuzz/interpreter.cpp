// SPDX-License-Identifier: MIT
#include "fuzz/interpreter.hpp"

#include "support/bare_coroutine.hpp"
#include "support/history.hpp"
#include "support/insides.hpp"
#include "support/manual_clock.hpp"
#include "support/short_exchanger.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/* A program is a row of instructions, after a byte that chooses the kind of the exchangers and the type of the
 * items. The low half of the first byte of each says what to do, the high half and the next byte with whom (its
 * highest bit is for blue, where there are colours):
 *
 *   0..4    let a party exchange, once or several times      plan: 2 more bytes
 *   5       try_exchange
 *   6       request a stop, and perhaps renew the source
 *   7       let time pass
 *   8       run a loop until it is idle
 *   9       let a loop take one turn: run what is queued now
 *   10      destroy a party's frame, whatever it is doing
 *   11      close an exchanger
 *   12      destroy an exchanger and make another
 *   13      grow an arena; choose the slot of this thread
 *   14      destroy a loop and all that waits there, and make another
 *   15      run all loops until nothing is ready: who has not returned is parked in slot 0
 *
 * In the end all loops run, the exchangers close, the loops run again, and all shall have returned. */
class reader {
public:
    explicit reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    bool at_end() const noexcept { return bytes_.empty(); }

    unsigned byte() noexcept {
        if (bytes_.empty()) {
            return 0;
        }
        const unsigned first = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return first;
    }

private:
    std::span<const std::uint8_t> bytes_;
};

// More would only be more of the same, and slow.
constexpr std::size_t most_instructions = 200;
constexpr std::size_t most_parties = 40;

constexpr unsigned loops = 3;
constexpr unsigned nowhere = loops; ///< On no executor.
constexpr unsigned exchangers = 2;
constexpr unsigned sources = 3;
constexpr unsigned no_source = sources; ///< A token that is of no source.

constexpr std::chrono::milliseconds most_patience = 12ms;

/// What a party is going to do.
struct plan {
    unsigned home; ///< A loop, or nowhere.
    unsigned exchanger;
    bool red;
    unsigned rounds;
    bool stoppable;
    unsigned source;
    bool timed;
    bool absolute; ///< exchange_until.
    std::chrono::milliseconds patience;
    bool owned_by_loop; ///< A task; else it is destroyed on its own.
};

plan read_plan(unsigned high, reader& bytes) {
    const unsigned a = bytes.byte();
    const unsigned b = bytes.byte();
    plan p{
        .home = high & 3U,
        .exchanger = (high >> 2U) & 1U,
        .red = (high & 8U) == 0,
        .rounds = 1 + (a & 3U),
        .stoppable = (a & 4U) != 0,
        .source = (a >> 3U) & 3U,
        .timed = (a & 32U) != 0,
        .absolute = (a & 64U) != 0,
        .patience =
            std::min(most_patience, std::chrono::milliseconds(static_cast<int>(b % 16U) - 3)),
        .owned_by_loop = (a & 128U) != 0,
    };
    if (p.home == nowhere) {
        // Without a loop there is no clock but the real one, on which only a past deadline is certain.
        p.absolute = false;
        p.patience = std::min(p.patience, 0ms);
        p.owned_by_loop = false;
    }
    return p;
}

template <class T>
T make(census& items, long id) noexcept {
    if constexpr (std::is_same_v<T, tracked>) {
        return {items, id};
    } else {
        return static_cast<T>(id);
    }
}

/// Where any two may meet.
template <class T>
struct any_two {
    using item_type = T;
    using exchanger = tryst::exchanger<T>;
    static constexpr bool has_colours = false;
    static constexpr bool is_fifo = false;

    static auto make(std::size_t capacity) { return std::make_unique<exchanger>(capacity); }
    static void grow(exchanger& ex, unsigned times) { test::grow(ex, static_cast<int>(times)); }
    static bool somebody_waits(exchanger& ex) {
        for (std::uint32_t i = 1; i <= ex.capacity(); ++i) {
            if (detail::slot::offered(arena_of(ex).at(i).peek()) != nullptr) {
                return true;
            }
        }
        return waits_in_list(ex);
    }

    template <bool Red, class... Stop>
    static auto begin(exchanger& ex, T item, Stop... stop) {
        return ex.exchange(std::move(item), std::move(stop)...);
    }
    template <bool Red, class Patience, class... Stop>
    static auto begin_for(exchanger& ex, T item, Patience patience, Stop... stop) {
        return ex.exchange_for(std::move(item), patience, std::move(stop)...);
    }
    template <bool Red, class Deadline, class... Stop>
    static auto begin_until(exchanger& ex, T item, Deadline deadline, Stop... stop) {
        return ex.exchange_until(std::move(item), deadline, std::move(stop)...);
    }
    static exchange_result<T> at_once(exchanger& ex, bool /*red*/, T item) {
        return ex.try_exchange(std::move(item));
    }
};

/// Where red meets blue.
template <class T, class Exchanger, bool Fifo>
struct red_and_blue {
    using item_type = T;
    using exchanger = Exchanger;
    static constexpr bool has_colours = true;
    static constexpr bool is_fifo = Fifo;

    static auto make(std::size_t /*capacity*/) { return std::make_unique<exchanger>(); }
    static void grow(exchanger& /*ex*/, unsigned /*times*/) {}
    static bool somebody_waits(exchanger& /*ex*/) { return false; } // the history knows

    template <bool Red, class... Stop>
    static auto begin(exchanger& ex, T item, Stop... stop) {
        if constexpr (Red) {
            return ex.red(std::move(item), std::move(stop)...);
        } else {
            return ex.blue(std::move(item), std::move(stop)...);
        }
    }
    template <bool Red, class Patience, class... Stop>
    static auto begin_for(exchanger& ex, T item, Patience patience, Stop... stop) {
        if constexpr (Red) {
            return ex.red_for(std::move(item), patience, std::move(stop)...);
        } else {
            return ex.blue_for(std::move(item), patience, std::move(stop)...);
        }
    }
    template <bool Red, class Deadline, class... Stop>
    static auto begin_until(exchanger& ex, T item, Deadline deadline, Stop... stop) {
        if constexpr (Red) {
            return ex.red_until(std::move(item), deadline, std::move(stop)...);
        } else {
            return ex.blue_until(std::move(item), deadline, std::move(stop)...);
        }
    }
    static exchange_result<T> at_once(exchanger& ex, bool red, T item) {
        return red ? ex.try_red(std::move(item)) : ex.try_blue(std::move(item));
    }
};

template <class T>
using in_order = red_and_blue<T, red_blue_exchanger<T>, true>;
template <class T>
using in_short_order = red_and_blue<T, short_queue_exchanger<T>, true>;
template <class T>
using on_a_stack = red_and_blue<T, red_blue_exchanger<T, T, order::lifo>, false>;

template <class Meeting>
class world {
    using T = typename Meeting::item_type;
    using exchanger = typename Meeting::exchanger;

public:
    world() {
        // Where this thread looks in an arena is random otherwise.
        detail::per_thread<detail::thread_state>().probe = 1;
        for (auto& loop : loops_) {
            loop = new_loop();
        }
        for (unsigned i = 0; i != exchangers; ++i) {
            renew_exchanger(i, 1);
        }
        for (unsigned i = 0; i != sources; ++i) {
            renew_source(i);
        }
    }
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    ~world() { destroy_parties(); }

    std::string run(reader bytes, outcome_counts& counts) {
        for (std::size_t i = 0; i != most_instructions && !bytes.at_end() && wrong_.empty(); ++i) {
            step(bytes);
        }
        end();
        counts.exchanged += record_.exchanged();
        for (std::size_t i = 1; i != counts.failed.size(); ++i) {
            counts.failed.at(i) += record_.failed(static_cast<exchange_errc>(i));
        }
        counts.destroyed += destroyed_;
        return std::move(wrong_);
    }

private:
    /// An operation under way, in the history and among those that are.
    class entry {
    public:
        entry(world& w, const history::call& what)
            : world_(w), operation_(w.log().begin(what)), given_(what.given),
              timed_(what.deadline) {
            world_.under_way_.push_back(this);
        }
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        ~entry() {
            if (!has_returned_) {
                ++world_.destroyed_;
            }
            std::erase(world_.under_way_, this);
        }

        T item() const noexcept { return make<T>(world_.items_, given_); }

        bool timed() const noexcept { return timed_; }
        void parked(history::stamp when) { operation_.parked(when); }

        void returned(const exchange_result<T>& result) {
            has_returned_ = true;
            operation_.returned(result, world_.dial_.time);
        }

    private:
        world& world_;
        history::operation operation_;
        long given_;
        bool timed_;
        bool has_returned_ = false;
    };

    struct owned_party {
        unsigned home; ///< Where it waits.
        std::optional<bare_coroutine> coroutine;
    };

    struct source {
        std::stop_source stop;
        history::stop_id id = 0;
    };

    struct meeting_point {
        std::unique_ptr<exchanger> ex;
        history::channel_id channel = 0;
    };

    history::log& log() { return record_[0]; }

    static history::colour colour_of(bool red) {
        return !Meeting::has_colours ? history::colour::any
               : red                 ? history::colour::red
                                     : history::colour::blue;
    }

    history::call call_of(const plan& p) {
        history::call what{.given = ++latest_item_,
                           .channel = exchangers_.at(p.exchanger).channel,
                           .colour = colour_of(p.red)};
        if (p.stoppable && p.source != no_source) {
            what.stop = sources_.at(p.source).id;
        }
        if (p.timed) {
            what.deadline = dial_.time + p.patience;
            what.relative = !p.absolute;
            what.way = p.patience > 0ms ? history::way::waits : history::way::overdue;
        }
        return what;
    }

    std::stop_token token_of(const plan& p) {
        return p.source == no_source ? std::stop_token() : sources_.at(p.source).stop.get_token();
    }

    template <class Coroutine, bool Red>
    static Coroutine exchange(world& w, plan p, unsigned& home) {
        for (unsigned i = 0; i != p.rounds; ++i) {
            home = w.current_place(); // without a loop, it may have been resumed on one
            exchanger* const ex = w.exchangers_.at(p.exchanger).ex.get();
            if (ex == nullptr) {
                co_return; // it is being destroyed, and has resumed us
            }
            entry e(w, w.call_of(p));
            const auto until = w.dial_.time + p.patience;
            if (p.timed && p.stoppable && p.absolute) {
                auto op = Meeting::template begin_until<Red>(*ex, e.item(), until, w.token_of(p));
                e.returned(co_await op);
            } else if (p.timed && p.stoppable) {
                auto op =
                    Meeting::template begin_for<Red>(*ex, e.item(), p.patience, w.token_of(p));
                e.returned(co_await op);
            } else if (p.timed && p.absolute) {
                auto op = Meeting::template begin_until<Red>(*ex, e.item(), until);
                e.returned(co_await op);
            } else if (p.timed) {
                auto op = Meeting::template begin_for<Red>(*ex, e.item(), p.patience);
                e.returned(co_await op);
            } else if (p.stoppable) {
                auto op = Meeting::template begin<Red>(*ex, e.item(), w.token_of(p));
                e.returned(co_await op);
            } else {
                auto op = Meeting::template begin<Red>(*ex, e.item());
                e.returned(co_await op);
            }
        }
    }

    template <class Coroutine>
    Coroutine begin(const plan& p, unsigned& home) {
        return p.red ? exchange<Coroutine, true>(*this, p, home)
                     : exchange<Coroutine, false>(*this, p, home);
    }

    void step(reader& bytes) {
        const unsigned first = bytes.byte();
        const unsigned high = first >> 4U;
        switch (first & 15U) {
        default:
            start_party(read_plan(high, bytes));
            break;
        case 5:
            try_to_exchange(high & 3U, (high >> 2U) & 1U, (high & 8U) == 0);
            break;
        case 6: {
            const unsigned which = bytes.byte();
            request_stop(high & 3U, which % sources, (which & 128U) != 0);
            break;
        }
        case 7:
            dial_.time += std::chrono::milliseconds(high);
            break;
        case 8:
            if (high % 4U != nowhere) {
                loops_.at(high % 4U)->run_until_idle();
            }
            break;
        case 9:
            if (high % 4U != nowhere) {
                manual_loop& loop = *loops_.at(high % 4U);
                loop.stop();
                loop.run();
            }
            break;
        case 10: {
            const unsigned which = bytes.byte();
            if (!parties_.empty()) {
                destroy_party(std::next(parties_.begin(),
                                        static_cast<std::ptrdiff_t>(which % parties_.size())));
            }
            break;
        }
        case 11: {
            meeting_point& here = exchangers_.at((high >> 2U) & 1U);
            log().close(here.channel, [&] { at(high & 3U, [&] { here.ex->close(); }); });
            break;
        }
        case 12: {
            const unsigned index = (high >> 2U) & 1U;
            destroy_exchanger(high & 3U, index);
            renew_exchanger(index, bytes.byte() % 4U);
            break;
        }
        case 13: {
            const unsigned how = bytes.byte();
            Meeting::grow(*exchangers_.at(high & 1U).ex, how % 4U);
            detail::per_thread<detail::thread_state>().probe = 1 + (how >> 2U);
            break;
        }
        case 14:
            if (high % 4U != nowhere) {
                renew_loop(high % 4U);
            }
            break;
        case 15:
            settle();
            break;
        }
    }

    /// Does `action` as a loop's turn would, or on none.
    template <class Action>
    void at(unsigned place, Action action) {
        if (place == nowhere) {
            action();
        } else {
            const executor_scope here(loops_.at(place)->executor());
            action();
        }
    }

    void start_party(const plan& p) {
        if (started_++ >= most_parties) {
            return;
        }
        if (p.owned_by_loop) {
            loops_.at(p.home)->spawn(begin<task<>>(p, anywhere_));
        } else {
            owned_party& started = parties_.emplace_back(owned_party{p.home, {}});
            at(p.home, [&] { started.coroutine.emplace(begin<bare_coroutine>(p, started.home)); });
        }
    }

    unsigned current_place() const {
        for (unsigned i = 0; i != loops; ++i) {
            if (loops_.at(i)->running_here()) {
                return i;
            }
        }
        return nowhere;
    }

    using party = typename std::list<owned_party>::iterator;

    /// @returns the next one.
    party destroy_party(party which) {
        at(which->home, [&] { which->coroutine->destroy(); });
        return parties_.erase(which);
    }

    void destroy_parties() {
        while (!parties_.empty()) {
            destroy_party(parties_.begin());
        }
    }

    void try_to_exchange(unsigned place, unsigned index, bool red) {
        at(place, [&] {
            meeting_point& here = exchangers_.at(index);
            entry e(*this, {.given = ++latest_item_,
                            .channel = here.channel,
                            .way = history::way::tries,
                            .colour = colour_of(red)});
            const bool alone = !Meeting::somebody_waits(*here.ex);
            const exchange_result<T> got = Meeting::at_once(*here.ex, red, e.item());
            if (!alone && !got) {
                note("try_exchange did not take the partner that was waiting\n");
            }
            e.returned(got);
        });
    }

    void request_stop(unsigned place, unsigned index, bool renewed) {
        source& pressed = sources_.at(index);
        log().stop(pressed.id, [&] { at(place, [&] { pressed.stop.request_stop(); }); });
        if (renewed) {
            renew_source(index);
        }
    }

    void renew_source(unsigned index) {
        sources_.at(index) = {std::stop_source(), ++latest_source_};
    }

    void destroy_exchanger(unsigned place, unsigned index) {
        meeting_point& here = exchangers_.at(index);
        log().close(here.channel, [&] { at(place, [&] { here.ex.reset(); }); });
    }

    void renew_exchanger(unsigned index, std::size_t capacity) {
        exchangers_.at(index) = {Meeting::make(capacity), ++latest_channel_};
        if (Meeting::is_fifo) {
            record_.set_fifo(latest_channel_);
        }
    }

    void renew_loop(unsigned index) {
        for (auto each = parties_.begin(); each != parties_.end();) {
            each = each->home == index ? destroy_party(each) : std::next(each);
        }
        loops_.at(index).reset();
        loops_.at(index) = new_loop();
    }

    std::unique_ptr<manual_loop> new_loop() {
        return std::make_unique<manual_loop>(run_loop_options{}, manual_clock(dial_));
    }

    void settle() {
        bool ran = true;
        while (ran) {
            ran = false;
            for (auto& loop : loops_) {
                ran = loop->run_until_idle() != 0 || ran;
            }
        }
        const history::stamp now = record_.tick();
        for (entry* const each : under_way_) {
            each->parked(now);
        }
        note(record_.violations_at_rest(dial_.time));
    }

    void end() {
        settle();
        // Long enough for as many in a row as one party may do.
        for (int i = 0; i != 4; ++i) {
            dial_.time += most_patience;
            settle();
        }
        if (std::ranges::any_of(under_way_, [](entry* e) { return e->timed(); })) {
            note("somebody waits beyond its deadline\n");
        }
        for (unsigned i = 0; i != exchangers; ++i) {
            destroy_exchanger(nowhere, i);
        }
        settle();
        if (!under_way_.empty()) {
            note("somebody waits in an exchanger that was destroyed\n");
        }
        destroy_parties();
        for (auto& loop : loops_) {
            loop.reset();
        }
        if (items_.alive.load() != 0) {
            note("items leaked, or died twice\n");
        }
    }

    void note(const std::string& wrong) { wrong_ += wrong; }

    history record_;
    census items_;
    manual_clock::dial dial_;
    std::array<source, sources> sources_;
    std::array<meeting_point, exchangers> exchangers_;
    std::vector<entry*> under_way_;
    std::array<std::unique_ptr<manual_loop>, loops> loops_;
    std::list<owned_party> parties_;
    unsigned anywhere_ = nowhere; ///< A task's home does not interest.
    std::size_t started_ = 0;
    long latest_item_ = 0;
    history::stop_id latest_source_ = 0;
    history::channel_id latest_channel_ = 0;
    std::size_t destroyed_ = 0;
    std::string wrong_;
};

} // namespace

namespace {

template <class T>
std::string run_in_world(unsigned kind, reader bytes, outcome_counts& counts) {
    switch (kind) {
    case 1:
        return world<in_order<T>>().run(bytes, counts);
    case 2:
        return world<in_short_order<T>>().run(bytes, counts);
    case 3:
        return world<on_a_stack<T>>().run(bytes, counts);
    default:
        return world<any_two<T>>().run(bytes, counts);
    }
}

} // namespace

std::string interpret(std::span<const std::uint8_t> program, outcome_counts& counts) {
    reader bytes(program);
    const unsigned first = bytes.byte();
    const unsigned kind = first / 2 % 4;
    return first % 2 == 0 ? run_in_world<tracked>(kind, bytes, counts)
                          : run_in_world<int>(kind, bytes, counts);
}

} // namespace tryst::test
