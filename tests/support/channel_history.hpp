// SPDX-License-Identifier: MIT
/// @file
/// Records what each operation of channels with a buffer sent and received, and when; and decides
/// whether channels that keep their promises could have behaved so.
#pragma once

#include "support/history.hpp"
#include "support/stamps.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {

/* How to use it
 *
 *   channel_history h(2); // one log for each participant
 *   h.add_channel(1, 10, weigh); // channel 1 has the limit 10; `weigh(item)` is optional
 *   channel_history::log& log = h[0];
 *
 *   auto sent = log.sends(1, {7}); // just before the call; 7 is sent again only if it came back,
 *                                // and in the same log
 *   sent.returned(co_await ch.send(item(7)));
 *   auto tried = log.sends(1, {8}, true);
 *   tried.returned(ch.try_send(item(8)));
 *   auto both = log.sends(1, {9, 10});
 *   both.returned(co_await ch.send_all(array));
 *
 *   auto got = log.receives(1);
 *   got.returned(co_await ch.receive());
 *   auto some = log.receives(1);
 *   some.returned(co_await ch.receive_some(places), places);
 *
 *   some.queued(); // the call has suspended: it waits, or has been served
 *   got.kept_place(before); // a case of a set, which may have had its place since an earlier round
 *   got.failed(why); // a case that the set keeps, with its item
 *
 *   log.set_limit(1, 5, [&] { ch.set_limit(5); });
 *   log.close(1, [&] { ch.close(); });
 *   log.take(1, [&](std::vector<long>& items) { ... }); // close_and_take, or the destructor
 *
 *   EXPECT_EQ(h.violations(), ""); // when all channels are empty or destroyed
 *
 * A case of a selection is an operation. Abandoned operations and logs are as in `history`.
 *
 * What is checked
 *   Each item enters its channel at one instant within its send and leaves at one within its
 *   receive, in which it may have been handed over directly. The rules are necessary conditions:
 *   each violation that is reported is one.
 *
 *   recorded    no item is sent twice, unless it came back
 *   returned    a send that failed has its own items back
 *   error       only a try finds `no_partner`, and only a send lacks memory
 *   received    each item received was sent to this channel before, by a send that did not fail
 *   once        no item is received twice
 *   lost        each item sent was received, except for those that abandoned receives may have
 *               taken
 *   fifo        items leave in the order in which they came. A send that was queued came before all
 *               that began later; a receive that was queued is served before all that began later
 *   limit       no more is inside than the highest limit since the last of these items was sent; or
 *               one item, unless that limit was 0
 *   overlooked  no receive fails with `no_partner` or `closed` while always an item was there; no
 *               send fails with `no_partner` while always a receiver waited, or if there was room
 *               and no other sender
 *   closed      `closed` only after a close; no operation that begins after it sends, or finds
 *               `no_partner`; none that begins after its items were taken receives */
class channel_history {
public:
    using channel_id = std::uint32_t;
    using weigher = std::size_t (*)(long item);

    enum class act : std::uint8_t {
        sends,
        receives,
        takes, ///< Closes, and takes all items; never fails.
    };
    enum class fate : std::uint8_t { pending, done, failed, abandoned };

    /// All that is known of an operation. Tests of the checker write it by hand.
    struct record {
        channel_id channel = 0;
        act what{};
        bool tries = false;
        bool is_garbled = false; ///< It did not get its own items back.
        channel_history::fate fate = fate::pending;
        exchange_errc error{}; ///< Why, if it has failed.
        stamp begun = 0;
        stamp placed_since = never; ///< When it had its place, at the earliest, if before `begun`.
        stamp queued = never; ///< When it had its place among those that wait, at the latest.
        stamp ended = never;
        std::vector<long> items{}; ///< Those to be sent, or those received, in order.
        std::size_t moved = 0; ///< How many of those to be sent were sent.
        std::size_t places = 1; ///< The most that a receive may take.
    };

    /// A close, or a change of the limit.
    struct change {
        channel_id channel = 0;
        stamp begun = 0;
        stamp ended = never;
        std::size_t limit = 0;
    };

    /// An operation under way.
    class operation {
    public:
        operation(operation&& other) noexcept
            : all_(other.all_), entry_(std::exchange(other.entry_, nullptr)) {}
        operation& operator=(operation&&) = delete;
        ~operation() {
            if (entry_ != nullptr) {
                end(fate::abandoned);
            }
        }

        void queued() { entry_->queued = all_->tick(); }
        void kept_place(stamp since) noexcept { entry_->placed_since = since; }

        /// It has ended, and still has its own items.
        void failed(exchange_errc error) noexcept { end(fate::failed).error = error; }

        /// A send has ended.
        template <class Own>
        void returned(const exchange_result<void, Own>& result) {
            record& mine = end(result ? fate::done : fate::failed);
            std::vector<long> back;
            if (!result) {
                mine.error = static_cast<exchange_errc>(result.error().value());
                back = ids_of(result.returned());
            }
            mine.moved = mine.items.size() - std::min(mine.items.size(), back.size());
            mine.is_garbled = !std::equal(
                back.begin(), back.end(),
                mine.items.begin() + static_cast<std::ptrdiff_t>(mine.moved), mine.items.end());
        }

        /// A receive of one item has ended.
        template <class T>
        void returned(const exchange_result<T, void>& result) {
            received(result, [&] { return std::vector{id_of(*result)}; });
        }
        /// A receive of several items, which begin in `places`.
        template <class Range>
        void returned(const exchange_result<std::size_t, void>& result, const Range& places) {
            received(result, [&] { return first_ids_of(places, *result); });
        }

    private:
        friend class channel_history;
        operation(channel_history& all, record& entry) noexcept : all_(&all), entry_(&entry) {}

        record& end(channel_history::fate how) noexcept {
            record& mine = *std::exchange(entry_, nullptr);
            mine.ended = all_->tick();
            mine.fate = how;
            return mine;
        }

        template <class Result, class Got>
        void received(const Result& result, Got got) {
            record& mine = end(result ? fate::done : fate::failed);
            if (result) {
                mine.items = got();
            } else {
                mine.error = static_cast<exchange_errc>(result.error().value());
            }
        }

        template <class Items>
        static std::vector<long> ids_of(const Items& items) {
            if constexpr (requires { items.begin(); }) {
                return first_ids_of(items, items.size());
            } else {
                return {id_of(items)};
            }
        }
        template <class Range>
        static std::vector<long> first_ids_of(const Range& items, std::size_t count) {
            std::vector<long> ids;
            for (auto at = items.begin(); ids.size() != count; ++at) {
                ids.push_back(id_of(*at));
            }
            return ids;
        }

        channel_history* all_;
        record* entry_;
    };

    /// The operations of one participant.
    class alignas(detail::line_pair) log {
    public:
        explicit log(channel_history& all) noexcept : all_(&all) {}
        log(const log&) = delete;
        log& operator=(const log&) = delete;

        [[nodiscard]] operation sends(channel_id to, std::vector<long> items, bool tries = false) {
            return begin(
                {.channel = to, .what = act::sends, .tries = tries, .items = std::move(items)});
        }
        [[nodiscard]] operation receives(channel_id from, bool tries = false,
                                         std::size_t places = 1) {
            return begin(
                {.channel = from, .what = act::receives, .tries = tries, .places = places});
        }

        template <class Action>
        void close(channel_id of, Action action) {
            during(closes_, {.channel = of}, std::move(action));
        }
        template <class Action>
        void set_limit(channel_id of, std::size_t limit, Action action) {
            during(limits_, {.channel = of, .limit = limit}, std::move(action));
        }
        /// `action(items)` appends what it takes to `items`.
        template <class Action>
        void take(channel_id of, Action action) {
            during(records_, {.channel = of, .what = act::takes, .fate = fate::done},
                   [&](record& mine) { action(mine.items); });
        }

        void add(const record& entry) { records_.push_back(entry); }
        void add_close(const change& entry) { closes_.push_back(entry); }
        void add_limit(const change& entry) { limits_.push_back(entry); }

    private:
        friend class channel_history;

        operation begin(record what) {
            record& entry = records_.emplace_back(std::move(what));
            entry.begun = all_->tick();
            return {*all_, entry};
        }

        template <class Entry, class Action>
        void during(std::deque<Entry>& entries, Entry what, Action action) {
            Entry& mine = entries.emplace_back(std::move(what));
            mine.begun = all_->tick();
            if constexpr (std::is_invocable_v<Action, Entry&>) {
                action(mine);
            } else {
                action();
            }
            mine.ended = all_->tick();
        }

        channel_history* all_;
        // Deques, because references to elements stay valid.
        std::deque<record> records_;
        std::deque<change> closes_;
        std::deque<change> limits_;
    };

    explicit channel_history(std::size_t logs = 1) {
        while (logs_.size() != logs) {
            add_log();
        }
    }

    log& operator[](std::size_t index) { return *logs_.at(index); }

    /// Another log; references to the others stay valid. Not while others record.
    log& add_log() { return *logs_.emplace_back(std::make_unique<log>(*this)); }

    /// Not while others record.
    void add_channel(channel_id id, std::size_t limit, weigher weigh = nullptr) {
        channels_.push_back({id, limit, weigh});
    }

    /// The next stamp.
    stamp tick() noexcept { return clock_.tick(); }

    /// @returns what is wrong, one sentence in each line; empty if nothing is.
    /// O(n log n) for n items and operations.
    std::string violations() const;

    /// How many operations have ended so.
    std::size_t count(act what, fate how, exchange_errc why = {}) const noexcept;

private:
    struct channel {
        channel_id id;
        std::size_t limit; ///< The first one.
        weigher weigh;
    };

    stamp_clock clock_;
    std::vector<std::unique_ptr<log>> logs_;
    std::vector<channel> channels_;
};

/// All that is known of an operation.
std::string in_words(const channel_history::record& r);

} // namespace tryst::test
