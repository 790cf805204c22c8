// SPDX-License-Identifier: MIT
/// @file
/// What the participants of one run share (exchangers, loops, stop sources), and a record of each
/// operation. The checks compare these records with the library's promises whenever all threads
/// sleep.
#pragma once

#include "sim/memory.hpp"
#include "sim/scheduler.hpp"
#include "sim/stop_token.hpp"
#include "sim/venue.hpp"

#include <tryst/run_loop.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::sim {

/// An exchanger, and what may be done with it.
struct meeting {
    explicit meeting(history::channel_id number) noexcept : id(number) {}

    history::channel_id id;
    venue ex; ///< Empty if it could not be made, or was destroyed.
    bool open = false; ///< Parties may arrive.
    bool closed = false; ///< A close has returned, or a destructor.
    bool dying = false; ///< A thread destroys it, or is about to.
    int users = 0; ///< Calls under way that are not operations of parties.
    int standing = 0; ///< Cases of sets, which may be in the wait list between two rounds.
    std::array<int, 3> waiting{}; ///< How many of each colour: for the checks.
    std::size_t reds = 4; ///< How many of eight arrivals are red now.

    // Of a buffer: what has returned from sends, less what has from receives.
    std::size_t inside = 0;
    std::size_t weight = 0;
    // For the checks:
    bool has_items = false;
    bool has_room = false; ///< For each sender that waits.

    /// The number of parties of a private meeting, each of which comes once. A party that has
    /// exchanged and knows that the others have arrived destroys the exchanger. 0: the meeting is
    /// public.
    std::size_t circle = 0;
    bool has_batches = true; ///< Parties at a buffer may move several items at once.
    std::size_t begun = 0; ///< How many operations have begun here.
    std::size_t exchanged = 0; ///< How many have returned with a partner's item.
    std::size_t abandoned = 0; ///< How many were destroyed while they waited.
};

/// A loop, and the thread that runs it.
struct looper {
    std::unique_ptr<run_loop> loop; ///< On the heap, where a use after its end is noticed.
    thread_id thread = 0;
    bool accepts = true; ///< Others may post to it.
    bool stopped = false; ///< `run` has returned for the last time.
    int posters = 0; ///< How many threads are posting to it.
};

/// A stop source. Another takes its place after use: at once, or before the next use.
struct button {
    stop_source* source = nullptr; ///< Null if it belongs to a `when_any`.
    history::stop_id id = 0;
    bool used = false;
};

/// One operation: its arguments and its progress.
struct record {
    long given = 0;
    meeting* where = nullptr; ///< Null for an event.
    history::colour colour = history::colour::any;
    looper* home = nullptr;
    instant deadline = no_deadline;
    stop_token stop;
    bool arrived = false; ///< Its offer is made, or it has ended.
    bool ended = false;
    bool exact = false; ///< `deadline` is the deadline, not a lower bound of it.
    const void* frame = nullptr; ///< Of the coroutine that waits without an executor.
    std::optional<history::operation> told;
    std::optional<channel_history::operation> flow; ///< In a buffer.
    std::size_t place = 0; ///< Its index among the operations under way.

    /// The first case of its selection, which has `arrived` for all; else the operation itself.
    record* lead = nullptr;
    bool selects = false; ///< It is a case of a selection.
    bool is_double = false; ///< Its selection has another case at the same exchanger.

    bool has_arrived() const noexcept { return ended || lead->arrived; }
};

class served_set;

/// When a case of a set had its place, at the earliest: in each history.
struct place_in_queue {
    history::stamp told = history::never;
    history::stamp flow = history::never;
};

/// An event among the cases of a selection.
enum class event : std::uint8_t { none, stop, time };

/// What a party is going to do: an exchange, a selection between several, or a round of a set.
struct wish {
    enum class way : std::uint8_t { waits, waits_for, waits_until, tries };
    static constexpr std::size_t most = 3;

    way how = way::waits;
    button* stop = nullptr;
    instant patience{0}; ///< Or the deadline.
    std::size_t size = 1; ///< How many cases there are.
    std::array<meeting*, most> where{};
    std::array<history::colour, most> colours{};
    std::size_t batch = no_batch; ///< How many items to send, or receive, at a buffer.
    static constexpr std::size_t no_batch = 9;
    bool is_biased = false;
    bool is_small = false; ///< A completer may leave the lists for a parked party.
    sim::event event = event::none; ///< Which event is a case, too.
    button* event_stop = nullptr;
    instant event_time{0};
    bool event_is_relative = false; ///< `event_time` is a duration.
    meeting* absent = nullptr; ///< Where a case takes no part.
    history::colour absent_colour = history::colour::any;

    bool selects() const noexcept { return size != 1 || event != event::none || absent != nullptr; }
    served_set* set = nullptr; ///< If it is a round of a set.
    std::array<place_in_queue, most> places{}; ///< The places of the set's cases.
};

/// The records of an operation's cases, then of its event; null for what is not recorded.
using case_records = std::array<record*, wish::most + 2>;

/// What the parties of a run are like.
struct mood {
    std::size_t stoppable = 3; ///< One operation in so many has a stop token. 0: none.
    std::size_t timed = 4; ///< One in so many has a deadline. 0: none.
    std::size_t trying = 10; ///< One in so many is a `try_`. 0: none.
    std::size_t selecting = 4; ///< One in so many is a selection. 0: none.
    std::size_t serving = 4; ///< One in so many is a round of the party's set. 0: none.
    instant grain{1'000'000}; ///< Patience is a multiple of it.
    std::size_t disturbing = 0; ///< Before one in so many, a party stops or closes. 0: none.
    bool moves = false; ///< Coroutines move from loop to loop.
};

class scene {
public:
    scene() noexcept;
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;
    ~scene();

    // ---- Setting up.
    mood temper;
    std::deque<meeting> meetings;
    std::deque<looper> loops;
    std::deque<button> buttons;
    test::census items;

    /// A new exchanger, unless memory fails.
    meeting& add_meeting(venue::kind which, std::size_t capacity);
    void add_button();
    history::stop_id add_stop() noexcept { return ++last_stop_; }
    looper& add_loop(run_loop_options options);
    looper* loop_of(executor_ref executor) noexcept;

    // ---- What parties do.

    /// @param timers  false: of all deadlines, only past ones are possible.
    /// @returns a wish of size 0 if no exchanger is open.
    wish make_wish(bool timers) noexcept;
    wish make_wish_to_wait(meeting& where, bool timers) noexcept;
    /// Whether a wait, or a try, has a stop and a deadline.
    wish make_limits(bool timers) noexcept;
    /// One that `fits`, and is open and public; null if there is none.
    meeting* choose_meeting(bool (*fits)(meeting&) = [](meeting&) { return true; }) noexcept;
    history::colour choose_colour(meeting& where) noexcept;
    item make_item() noexcept { return {items, ++last_item_}; }

    /// Begins case `i`.
    /// @param lead  the first case; null if this is it.
    record& begin(const wish& what, std::size_t i, long given, record* lead);
    /// Begins the event.
    record& begin_event(const wish& what, record& lead);
    /// @returns items whose numbers follow each other.
    std::vector<item> make_batch(std::size_t size);
    template <class T, class Own>
    void ended(record& op, const exchange_result<T, Own>& result) {
        if (op.ended) {
            fail("an operation ended twice");
        }
        tell(op.given, result);
        op.told->returned(result, history::time_point(now()));
        passed(*op.where, op.flow, op.given, result);
        op.where->exchanged += result ? 1U : 0U;
        end(op);
    }
    /// The same, for an event.
    void ended(record& event, const exchange_result<void, void>& result);
    /// The same, for a batch whose first item was number `op.given`.
    template <class T, class Own>
    void ended(record& op, const exchange_result<T, Own>& result, const std::vector<item>& batch) {
        if (op.ended) {
            fail("an operation ended twice");
        }
        const memory::reserve unfailing;
        if (result) {
            op.told->exchanged_unseen();
        } else {
            op.told->failed(static_cast<exchange_errc>(result.error().value()), op.given,
                            history::time_point(now()));
        }
        std::size_t moved = 0;
        if constexpr (std::is_void_v<T>) {
            op.flow->returned(result);
            moved = batch.size() - (result ? 0 : result.returned().size());
        } else {
            op.flow->returned(result, batch);
            moved = result ? *result : 0;
        }
        note("gave {} and others: {} moved", op.given, static_cast<long>(moved));
        for (std::size_t i = 0; i != moved; ++i) {
            std::is_void_v<T> ? enters(*op.where, op.given + static_cast<long>(i))
                              : leaves(*op.where, batch[i].id());
        }
        end(op);
    }
    /// A case has not taken place in this round of its set, which keeps the item.
    void kept(record& op, exchange_errc why) {
        note("gave {}, and its set keeps it: error {}", op.given, static_cast<long>(why));
        op.told->failed(why, op.given, history::time_point(now()));
        if (op.flow) {
            op.flow->failed(why);
        }
        end(op);
    }
    place_in_queue place_from_now() noexcept { return {history_.tick(), flows_.tick()}; }
    /// The operation's coroutine has suspended.
    void suspended(record& op) {
        op.arrived = true;
        if (!op.ended && !op.is_double && op.where != nullptr && op.where->ex.is_fifo()) {
            op.told->queued(history_.tick());
        }
        if (!op.ended && op.flow) {
            op.flow->queued();
        }
    }
    void abandoned(record& op) noexcept;
    void try_once(meeting& where, history::colour as, bool must_succeed = false);
    /// An operation of a circle has returned. It has met `partner`, unless that is 0.
    void returned_from_circle(meeting& where, long partner);

    // ---- What others do.
    void press(button& which);
    /// A `when_any` has requested this stop, since `begun`.
    void stopped(history::stop_id which, history::stamp begun);
    /// What a party may do before it exchanges: it requests a stop, or closes an exchanger.
    void perhaps_disturb();
    void renew(button& which);
    /// Closes it; sometimes a buffer's items are taken, too.
    void close(meeting& where);
    void set_limit(meeting& where);
    /// Destroys an exchanger as soon as no other thread uses it, except to wait.
    void destroy(meeting& where);
    /// `action` destroys waiting frames. Not at the same time as an exchanger is destroyed.
    template <class Action>
    void destroy_frames(Action action) {
        while (exchangers_dying_ != 0) {
            yield();
        }
        ++frames_dying_;
        action();
        --frames_dying_;
    }

    /// Counts the parties that exist: each of them must end, or wait.
    class presence;

    // ---- Checks. Each @returns what is wrong; nothing if nothing is.

    /// All threads sleep: no operation may have a reason to end.
    std::string check_asleep();
    /// Likewise, and no thread waits for a time either.
    std::string check_quiet();
    /// The run is over.
    std::string check_end();

    /// @returns an operation that waits at `where`, but not on a stopped loop; or null.
    const record* somebody_who_waits_at(const meeting& where) const noexcept;
    /// Whether the coroutine of this frame waits, and has no executor.
    bool waits_without_executor(const void* frame) const noexcept;
    /// Whether an operation without a loop waits at `where`.
    bool thread_waits_at(const meeting& where) const noexcept;
    std::size_t operations() const noexcept { return records_.size(); }
    const history& told() const noexcept { return history_; }

private:
    void add_limits(wish& made, bool timers) noexcept;
    void add_cases(wish& made) noexcept;
    button& choose_button() noexcept { return buttons[choices().below(buttons.size())]; }
    instant choose_time(bool timers, bool is_relative) noexcept;
    /// Begins to record an operation.
    record& enter(long given, record* lead);
    /// Its stop and its deadline come into force.
    static void limit(record& op, history::call& call, const button* stop, instant deadline,
                      bool is_exact);
    template <class T, class Own>
    static void tell(long given, const exchange_result<T, Own>& result) {
        if (!result) {
            note("gave {}, and has it back: error {}", given, result.error().value());
        } else if constexpr (std::is_void_v<T>) {
            note("gave {}", given);
        } else {
            note("gave {}, and has {}", given, result->id());
        }
    }
    /// Begins an operation; `flow` stays empty unless it is at a buffer.
    void begin_flow(std::optional<channel_history::operation>& flow, const meeting& where,
                    history::colour as, std::vector<long> numbers, bool tries);
    /// Ends it.
    template <class T, class Own>
    void passed(meeting& where, std::optional<channel_history::operation>& flow, long given,
                const exchange_result<T, Own>& result) {
        if constexpr (std::is_void_v<T> || std::is_void_v<Own>) {
            if (!flow) {
                return;
            }
            const memory::reserve unfailing;
            flow->returned(result);
            if (!result) {
                return;
            }
            if constexpr (std::is_void_v<T>) {
                enters(where, given);
            } else {
                leaves(where, result->id());
            }
        }
    }
    static void enters(meeting& where, long number) noexcept {
        ++where.inside;
        where.weight += weight_of(number);
    }
    static void leaves(meeting& where, long number) noexcept {
        --where.inside;
        where.weight -= weight_of(number);
    }
    /// All items have left, which `what` takes. It began at `begun`.
    template <class What>
    void take(meeting& where, What what);
    void look_into_buffers();
    void end(record& op) noexcept;
    bool somebody_is_on_the_way_to(const meeting& where) const noexcept;
    bool some_loop_is_stopped() const noexcept;

    history history_{1};
    channel_history flows_{1}; ///< Of buffers.
    std::deque<record> records_;
    std::deque<stop_source> sources_;
    std::vector<record*> under_way_;
    long last_item_ = 0;
    history::stop_id last_stop_ = 0;
    history::selection_id last_selection_ = 0;
    std::size_t present_ = 0;
    int exchangers_dying_ = 0;
    int frames_dying_ = 0;
};

/// Lives in the frame of a party, from its creation to its end.
class scene::presence {
public:
    explicit presence(scene& s) noexcept : scene_(&s) { ++s.present_; }
    presence(presence&& other) noexcept : scene_(std::exchange(other.scene_, nullptr)) {}
    presence& operator=(presence&&) = delete;
    ~presence() {
        if (scene_ != nullptr) {
            --scene_->present_;
        }
        if (executor_ && !executor_.running_here() &&
            !detail::ending_scope::is_ending_here(executor_)) {
            fail("a frame is destroyed elsewhere than on its loop");
        }
    }

    /// A coroutine calls this on its parameter when it begins; the result stays until the frame is
    /// destroyed.
    presence begin() noexcept {
        executor_ =
            scene_->loop_of(current_executor()) == nullptr ? executor_ref() : current_executor();
        return std::move(*this);
    }

private:
    scene* scene_;
    executor_ref executor_;
};

} // namespace tryst::sim
