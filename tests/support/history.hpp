// SPDX-License-Identifier: MIT
/// @file
/// Records what each operation of a run gave and got, and when; and decides whether exchangers that
/// keep their promises could have behaved so. Compared with a brute-force search in
/// unit/history_test.cpp.
#pragma once

#include "support/stamps.hpp"
#include "support/tracked.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tryst::test {

/// The number that stands for an item in a history.
inline long id_of(long item) noexcept {
    return item;
}
inline long id_of(const tracked& item) noexcept {
    return item.id();
}

/* How to use it
 *
 *   history h(2); // one log for each participant: a thread, a coroutine
 *   history::log& log = h[0];
 *
 *   auto op = log.begin({.given = 7}); // just before the call; 7 is given again only if it was
 *                                      // handed back
 *   op.returned(co_await ex.exchange(tracked(items, 7)));
 *
 *   auto op = log.begin({.given = 8, .channel = 1, .stop = 3, .deadline = loop.now() + 5ms,
 *                        .relative = true});
 *   op.returned(co_await other.exchange(tracked(items, 8), 5ms, third.get_token()), loop.now());
 *
 *   auto op = log.begin({.given = 9, .way = history::way::tries});
 *   op.returned(ex.try_exchange(tracked(items, 9)));
 *
 *   log.close(0, [&] { ex.close(); }); // a destructor, too
 *   log.stop(3, [&] { third.request_stop(); });
 *
 *   op.parked(h.tick()); // once all loops of a simulation are idle: it is in the wait list
 *
 *   h.set_fifo(1); // channel 1 serves its waiters in their order
 *   op.queued(h.tick()); // the call has suspended: it is in the queue
 *
 *   const auto both = h.tick(); // a selection: one operation for each case
 *   auto a = log.begin({.given = 10, .selection = both});
 *   auto b = log.begin({.given = 11, .channel = 1, .selection = both});
 *   auto got = co_await select(ex.exchange(tracked(items, 10)),
 *                              other.exchange(tracked(items, 11)));
 *   a.returned(got.get<0>());
 *   b.returned(got.get<1>());
 *
 *   // An event among its cases, with a number of its own:
 *   auto c = log.begin({.given = 12, .stop = 4, .way = history::way::comes, .selection = both});
 *   c.returned(got.get<2>(), loop.now());
 *
 *   // A round of a case_set is recorded as a selection of the cases that are not idle. A case may
 *   // have its place in a queue since an earlier round; that is its place_since.
 *
 *   EXPECT_EQ(h.violations_at_rest(), ""); // if nothing runs any more; else violations()
 *
 * An `operation` that is destroyed before it has `returned` was abandoned: its frame was destroyed
 * while it waited. An `operation` that still exists is pending. A log has no lock, and one party at
 * a time may use it: coroutines that resume each other on several threads need one each. Check only
 * when the run is over.
 *
 * What is checked
 *   Each exchange takes effect at one instant within the calls of both partners, each failure at
 *   one within its own; so does each close and each stop, between its call and its return. Some
 *   order of these instants must explain all results (concurrency-aware linearizability: Hemed,
 *   Rinetzky and Vafeiadis, "Modular verification of concurrency-aware linearizability", 2015). As
 *   values are unique it is known which operations were partners, and no search is needed:
 *
 *   R1 mutual      an operation that received y met the one that gave y, on the same channel; its
 *                  partner received its value, or is pending, or was abandoned
 *   R2 once        no value is received twice
 *   R3 overlap     partners are under way at the same time, and at least one of them offers: not
 *                  both try, except rounds of sets
 *   R4 colours     the partner of a red operation is blue, and the other way round
 *   R5 returned    an operation that failed got its own value back, and no other operation received
 *                  it
 *   deadline       no operation times out before its deadline
 *   stop           `cancelled` only after a request of the operation's own stop; and nothing else
 *                  if it begins after that
 *   close          `closed` only after a close; no operation that begins after it exchanges, times
 *                  out or finds no partner; of a set, no case that got its
 *                  place after it
 *   no_partner     only for a `try_`
 *   out_of_memory  only for operations that have a colour, and wait or need a buffer
 *   parked         two possible partners are not parked at the same time, and no operation fails
 *                  for want of a partner while one is parked all the time
 *   fifo           no operation is served while another of its colour waits that was queued before
 *                  it began
 *   selection      at most one case exchanges, finds its channel closed or lacks memory; then all
 *                  others are `not_selected`; if there is none, all fail for the same reason. All
 *                  cases end at the same time, and no case meets another of its own selection
 *   not_selected   only in a selection of which another case took place
 *   event          it takes place only after its stop was requested, or its time came; and its
 *                  selection does not fail for want of a partner if it begins after that stop,
 *                  unless it is late
 *   at rest        no two possible partners wait; no operation waits that has met its partner, or
 *                  whose stop was requested, exchanger closed, or deadline passed
 *
 * `channel_history` checks the items of a channel with a buffer. Here its operations have no
 * partners, but all other rules hold for them.
 *
 * A selection that waits counts at each of its channels. Of several cases at one channel, one takes
 * part.
 *
 * In a fifo channel, a queued operation counts as parked until its partner began, or the channel
 * was closed. An operation that fails for want of a partner may overlook waiters that came after it
 * began; if it has waited, or is of a set, it may overlook all of them, because its own partner may
 * be late. An operation that is withdrawn or destroyed must be served in its order only as long as
 * it was seen parked: a partner that was about to claim it may be late, and does not hold up
 * others. Each violation that is reported of a queue is one; one impossible history in two hundred
 * is not noticed. */
class history {
public:
    /// A point in the order of all that is recorded.
    using stamp = test::stamp;
    static constexpr stamp never = test::never;

    using time_point = detail::clock::time_point;
    using channel_id = std::uint32_t;
    /// A stop source; 0 is none.
    using stop_id = std::uint64_t;
    /// A selection, by any number that no other selection has; 0 is none.
    using selection_id = std::uint64_t;

    /// Red meets blue. Any meets any.
    enum class colour : std::uint8_t { any, red, blue };

    enum class way : std::uint8_t {
        waits, ///< Offers its item, be it with a stop or a deadline.
        overdue, ///< Its deadline had passed before it began: takes a partner or times out.
        late, ///< As overdue, with a spent budget: may time out although a partner waits.
        tries, ///< `try_exchange`.
        comes, ///< An event of a selection: its `stop` is requested, or its `deadline` comes.
    };

    /// What is known of an operation when it begins.
    struct call {
        long given = 0; ///< No other party gives it; and this party gives it once at a time.
        channel_id channel =
            0; ///< One exchanger; a new one at the same address is another channel.
        stop_id stop = 0;
        std::optional<time_point> deadline{};
        bool relative =
            false; ///< The deadline is the earliest that it may be, as that of a duration.
        history::way way = way::waits;
        history::colour colour = colour::any;
        selection_id selection = 0; ///< The operation is one of its cases.
        bool buffered = false; ///< Its channel has a buffer, so it need not meet a partner.
        stamp place_since = never; ///< Of a case of a set: when it had its place in a queue, at the
            ///< earliest.
    };

    /// How it has ended, if it has.
    enum class fate : std::uint8_t { pending, exchanged, failed, abandoned };

    /// All that is known of an operation. Tests of the checker write it by hand.
    struct record : call {
        stamp invoked = 0;
        stamp returned = never;
        stamp parked_from = never; ///< First and last seen parked.
        stamp parked_until = 0;
        stamp queued = never; ///< When it had its place in a queue, at the latest.
        history::fate fate = fate::pending;
        exchange_errc error{}; ///< Why, if it has failed.
        long got = 0; ///< The partner's value, or the one handed back.
        bool unseen = false; ///< Its partner is known only from the operation that got its value.
        time_point clock{}; ///< When it timed out, or came, at the latest.
    };

    /// A close of a channel, or a request of a stop.
    struct ending {
        std::uint64_t what = 0;
        stamp invoked = 0;
        stamp returned = never;
    };

    class log;

    /// An operation under way.
    class operation {
    public:
        operation(operation&& other) noexcept
            : log_(std::exchange(other.log_, nullptr)), index_(other.index_) {}
        operation& operator=(operation&&) = delete;
        ~operation() {
            if (log_ != nullptr) {
                end(fate::abandoned);
            }
        }

        /// The call has come back with `result`. `clock` is what the clock says now, on which its
        /// deadline was awaited, if it is not the steady clock.
        template <class T, class Own>
        void returned(const exchange_result<T, Own>& result, std::optional<time_point> clock = {}) {
            result ? exchanged(id_of(*result))
                   : failed(static_cast<exchange_errc>(result.error().value()),
                            id_of(result.returned()), clock);
        }

        void exchanged(long got);
        void failed(exchange_errc error, long own, std::optional<time_point> clock = {});

        /// Likewise, of one that gives or gets no item, with a number in its place: a receiver,
        /// whose number is handed back; a sender, of whom it is unknown what it got, but not who
        /// got its item.
        template <class T>
        void returned(const exchange_result<T, void>& result,
                      std::optional<time_point> clock = {}) {
            !result
                ? failed(static_cast<exchange_errc>(result.error().value()), known().given, clock)
            : known().buffered ? exchanged_unseen()
                               : exchanged(id_of(*result));
        }
        template <class Own>
        void returned(const exchange_result<void, Own>& result,
                      std::optional<time_point> clock = {}) {
            result ? exchanged_unseen()
                   : failed(static_cast<exchange_errc>(result.error().value()),
                            id_of(result.returned()), clock);
        }
        void exchanged_unseen();

        /// Likewise, of an event.
        void returned(const exchange_result<void, void>& result,
                      std::optional<time_point> clock = {}) {
            result
                ? came(clock)
                : failed(static_cast<exchange_errc>(result.error().value()), known().given, clock);
        }
        void came(std::optional<time_point> clock = {});

        /// It was in the wait list at `when`, a `tick` shared by all operations that are seen at
        /// the same time.
        void parked(stamp when);

        /// It had its place in a fifo channel by `when`, a `tick`; it may have been served since.
        void queued(stamp when);

    private:
        friend class log;
        operation(history::log& log, std::size_t index) noexcept : log_(&log), index_(index) {}

        record& end(fate how);
        const call& known() const noexcept;

        history::log* log_;
        std::size_t index_;
    };

    /// The operations of one participant.
    class alignas(detail::line_pair) log {
    public:
        explicit log(history& all) noexcept : all_(&all) {}
        log(const log&) = delete;
        log& operator=(const log&) = delete;

        /// Call it last before the operation begins.
        [[nodiscard]] operation begin(const call& what) {
            record& entry = records_.emplace_back();
            static_cast<call&>(entry) = what;
            entry.invoked = all_->tick();
            return {*this, records_.size() - 1};
        }

        /// `action` closes or destroys the exchanger that `channel` stands for.
        template <class Action>
        void close(channel_id channel, Action action) {
            during(&log::closes_, channel, std::move(action));
        }

        /// `action` requests the stop of `source`.
        template <class Action>
        void stop(stop_id source, Action action) {
            during(&log::stops_, source, std::move(action));
        }

        void add(const record& entry) { records_.push_back(entry); }
        void add_close(const ending& entry) { closes_.push_back(entry); }
        void add_stop(const ending& entry) { stops_.push_back(entry); }

    private:
        friend class history;
        friend class operation;

        // By index: coroutines that `action` resumes may add entries.
        template <class Action>
        void during(std::vector<ending> log::* endings, std::uint64_t what, Action action) {
            const std::size_t index = (this->*endings).size();
            (this->*endings).push_back({what, all_->tick()});
            action();
            (this->*endings)[index].returned = all_->tick();
        }

        history* all_;
        std::vector<record> records_;
        std::vector<ending> closes_;
        std::vector<ending> stops_;
    };

    explicit history(std::size_t logs = 1) {
        while (logs_.size() != logs) {
            add_log();
        }
    }

    log& operator[](std::size_t index) { return *logs_.at(index); }

    /// Another log; references to the others stay valid. Not while others record.
    log& add_log() { return *logs_.emplace_back(std::make_unique<log>(*this)); }

    /// `channel` serves its waiters in their order.
    void set_fifo(channel_id channel) { fifo_.push_back(channel); }

    /// The next stamp.
    stamp tick() noexcept { return clock_.tick(); }

    /// @returns what is wrong, one sentence in each line; empty if nothing is.
    /// O(n log n) for n operations.
    std::string violations() const { return check(false, {}); }

    /// Likewise, when nothing runs any more: each operation that has not returned waits for a
    /// partner.
    /// @param clock  the time, for operations that wait with a deadline.
    std::string violations_at_rest(std::optional<time_point> clock = {}) const {
        return check(true, clock);
    }

    /// How many operations have exchanged.
    std::size_t exchanged() const noexcept;
    /// How many have failed for this reason.
    std::size_t failed(exchange_errc why) const noexcept;
    /// How many were abandoned.
    std::size_t abandoned() const noexcept;

    /// Forgets all. Precondition: no `operation` is left.
    void clear() noexcept;

private:
    template <class Property>
    std::size_t count(Property has) const noexcept;

    std::string check(bool at_rest, std::optional<time_point> clock) const;

    stamp_clock clock_;
    std::vector<std::unique_ptr<log>> logs_;
    std::vector<channel_id> fifo_;
};

/// All that is known of an operation.
std::string in_words(const history::record& r);

} // namespace tryst::test
