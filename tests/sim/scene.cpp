// SPDX-License-Identifier: MIT
#include "sim/scene.hpp"

#include <tryst/detail/run/turn_budget.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <numeric>
#include <system_error>

namespace tryst::sim {

namespace {

/// Of buffers.
constexpr std::array<std::size_t, 6> limits{0, 1, 1, 2, 5, unlimited};

} // namespace

scene::scene() noexcept = default;
scene::~scene() = default;

// ---- Setting up.

meeting& scene::add_meeting(venue::kind which, std::size_t capacity) {
    if (venue::is_buffer(which)) {
        capacity = choices().among(limits);
    }
    meeting* made = nullptr;
    {
        const memory::reserve unfailing;
        made = &meetings.emplace_back(static_cast<history::channel_id>(meetings.size() + 1));
    }
    try {
        made->ex.make(which, capacity);
        made->open = true;
        const memory::reserve unfailing;
        if (made->ex.is_fifo()) {
            history_.set_fifo(made->id);
        } else if (made->ex.is_buffer()) {
            flows_.add_channel(made->id, capacity,
                               which == venue::kind::heavy ? weight_of : nullptr);
        }
        if (capacity != 0 && choices().one_in(2)) {
            const undisturbed hands; // as if there had been collisions before
            made->ex.grow(choices().between(1, capacity));
        }
        note("exchanger {} of kind {} has a capacity of {}", made->id, static_cast<long>(which),
             static_cast<long>(capacity));
    } catch (const std::bad_alloc&) {
        note("exchanger {} could not be made", made->id);
    }
    return *made;
}

void scene::add_button() {
    const memory::reserve unfailing;
    renew(buttons.emplace_back());
}

looper& scene::add_loop(run_loop_options options) {
    const memory::reserve unfailing;
    looper& added = loops.emplace_back();
    added.loop = std::make_unique<run_loop>(options);
    return added;
}

looper* scene::loop_of(executor_ref executor) noexcept {
    for (looper& each : loops) {
        if (each.loop && each.loop->executor() == executor) {
            return &each;
        }
    }
    return nullptr;
}

// ---- What parties do.

meeting* scene::choose_meeting(bool (*fits)(meeting&)) noexcept {
    const std::size_t first = choices().below(std::max<std::size_t>(meetings.size(), 1));
    for (std::size_t i = 0; i != meetings.size(); ++i) {
        meeting& each = meetings[(first + i) % meetings.size()];
        if (each.open && each.circle == 0 && fits(each)) {
            return &each;
        }
    }
    return nullptr;
}

history::colour scene::choose_colour(meeting& where) noexcept {
    if (!where.ex.has_colours()) {
        return history::colour::any;
    }
    // Now and then the majority changes.
    if (choices().one_in(40)) {
        static constexpr std::array<std::size_t, 6> tides{0, 1, 4, 4, 7, 8};
        where.reds = choices().among(tides);
    }
    return choices().below(8) < where.reds ? history::colour::red : history::colour::blue;
}

wish scene::make_wish(bool timers) noexcept {
    meeting* const first = choose_meeting();
    if (first == nullptr) {
        return {.size = 0};
    }
    random& dice = choices();
    const bool selects = temper.selecting != 0 && dice.one_in(temper.selecting);
    wish made{.how = wish::way::tries, .where = {first}};
    if (temper.trying != 0 && dice.one_in(temper.trying)) {
        made.colours[0] = choose_colour(*first);
    } else {
        made = make_wish_to_wait(*first, timers);
    }
    if (selects) {
        made.batch = wish::no_batch;
        add_cases(made);
    }
    return made;
}

void scene::add_cases(wish& made) noexcept {
    random& dice = choices();
    made.is_biased = dice.one_in(2);
    made.is_small = dice.one_in(2);
    if (dice.one_in(4)) {
        made.absent = choose_meeting();
        made.absent_colour = choose_colour(*made.absent);
    }
    if (const executor_ref on = current_executor(); dice.one_in(3)) {
        // Without an executor the timer thread would have to wait.
        made.event = on.has_timers() && dice.one_in(2) ? event::time : event::stop;
        if (made.event == event::time) {
            made.event_is_relative = dice.one_in(2);
            made.event_time = choose_time(true, made.event_is_relative);
        } else {
            made.event_stop = &choose_button();
        }
    }
    made.size = dice.between(made.selects() ? 1 : 2, wish::most);
    for (std::size_t i = 1; i < made.size; ++i) {
        made.where.at(i) = choose_meeting();
        // Not on both sides of one exchanger.
        const auto before = std::ranges::find(made.where, made.where.at(i)) - made.where.begin();
        const auto same = static_cast<std::size_t>(before);
        made.colours.at(i) = same != i ? made.colours.at(same) : choose_colour(*made.where.at(i));
    }
}

wish scene::make_wish_to_wait(meeting& where, bool timers) noexcept {
    random& dice = choices();
    wish made{.where = {&where}};
    made.colours[0] = choose_colour(where);
    if (where.ex.is_buffer() && where.has_batches && dice.one_in(3)) {
        made.batch = dice.between(0, 7);
    }
    add_limits(made, timers);
    return made;
}

wish scene::make_limits(bool timers) noexcept {
    wish made;
    if (temper.trying != 0 && choices().one_in(temper.trying)) {
        made.how = wish::way::tries;
    } else {
        add_limits(made, timers);
    }
    return made;
}

void scene::add_limits(wish& made, bool timers) noexcept {
    random& dice = choices();
    if (temper.stoppable != 0 && !buttons.empty() && dice.one_in(temper.stoppable)) {
        made.stop = &choose_button();
    }
    if (temper.timed != 0 && dice.one_in(temper.timed)) {
        const bool is_relative = dice.one_in(2);
        made.how = is_relative ? wish::way::waits_for : wish::way::waits_until;
        made.patience = choose_time(timers, is_relative);
    }
}

instant scene::choose_time(bool timers, bool is_relative) noexcept {
    // Sometimes past before it begins; and often at the same instant as others.
    const instant patience =
        temper.grain * static_cast<long>(choices().below(timers ? 6 : 2)) - temper.grain;
    return is_relative ? patience : now() - now() % temper.grain + patience;
}

record& scene::enter(long given, record* lead) {
    record& op = records_.emplace_back();
    op.given = given;
    op.home = loop_of(current_executor());
    op.lead = lead == nullptr ? &op : lead;
    op.place = under_way_.size();
    under_way_.push_back(&op);
    return op;
}

void scene::limit(record& op, history::call& call, const button* stop, instant deadline,
                  bool is_exact) {
    if (stop != nullptr) {
        op.stop = stop->source == nullptr ? stop_token() : stop_token(*stop->source);
        call.stop = stop->id;
        note("  until stop {}", static_cast<long>(call.stop));
    }
    if (deadline != no_deadline) {
        op.deadline = deadline;
        op.exact = is_exact;
        call.deadline = history::time_point(deadline);
        note("  until {}", static_cast<long>(deadline.count()));
    }
}

record& scene::begin(const wish& what, std::size_t i, long given, record* lead) {
    meeting& where = *what.where.at(i);
    const bool selects = what.selects();
    if (selects && i == 0) {
        ++last_selection_;
        what.set == nullptr
            ? note("selects between {} cases:", static_cast<long>(what.size))
            : note("waits for one of {} cases of its set:", static_cast<long>(what.size));
    }
    const memory::reserve unfailing;
    record& op = enter(given, lead);
    op.where = &where;
    op.colour = what.colours.at(i);
    op.selects = selects;
    op.is_double =
        std::find(what.where.begin(), what.where.begin() + i, &where) != what.where.begin() + i;
    ++where.begun;
    note("gives {} to exchanger {} as {}", given, where.id, static_cast<long>(op.colour));
    history::call call{.given = given,
                       .channel = where.id,
                       .way =
                           what.how == wish::way::tries ? history::way::tries : history::way::waits,
                       .colour = op.colour,
                       .selection = selects ? last_selection_ : 0,
                       .buffered = where.ex.is_buffer(),
                       .place_since = what.places.at(i).told};
    const bool is_exact = what.how == wish::way::waits_until;
    limit(op, call, what.stop,
          is_exact                           ? what.patience
          : what.how == wish::way::waits_for ? now() + std::max(what.patience, instant::zero())
                                             : no_deadline,
          is_exact);
    if (op.deadline <= now()) {
        call.way = is_exact && detail::turn_budget::is_spent() ? history::way::late
                                                               : history::way::overdue;
    }
    op.told.emplace(history_[0].begin(call));
    std::vector<long> numbers(what.batch != wish::no_batch ? what.batch : 1);
    std::iota(numbers.begin(), numbers.end(), given);
    begin_flow(op.flow, where, op.colour, std::move(numbers), call.way == history::way::tries);
    if (op.flow) {
        op.flow->kept_place(what.places.at(i).flow);
    }
    return op;
}

record& scene::begin_event(const wish& what, record& lead) {
    const memory::reserve unfailing;
    record& op = enter(++last_item_, &lead);
    history::call call{.given = op.given, .way = history::way::comes, .selection = last_selection_};
    note("or waits for event {}", op.given);
    const instant time = what.event != event::time ? no_deadline
                         : what.event_is_relative
                             ? now() + std::max(what.event_time, instant::zero())
                             : what.event_time;
    limit(op, call, what.event_stop, time, !what.event_is_relative);
    op.told.emplace(history_[0].begin(call));
    return op;
}

void scene::ended(record& event, const exchange_result<void, void>& result) {
    if (event.ended) {
        fail("an event ended twice");
    }
    result ? note("event {} came", event.given) : note("event {} did not come", event.given);
    event.told->returned(result, history::time_point(now()));
    end(event);
}

std::vector<item> scene::make_batch(std::size_t size) {
    const memory::reserve unfailing;
    std::vector<item> made;
    while (made.size() != size) {
        made.push_back(make_item());
    }
    return made;
}

void scene::begin_flow(std::optional<channel_history::operation>& flow, const meeting& where,
                       history::colour as, std::vector<long> numbers, bool tries) {
    if (where.ex.is_buffer()) {
        flow.emplace(as == history::colour::red
                         ? flows_[0].sends(where.id, std::move(numbers), tries)
                         : flows_[0].receives(where.id, tries, numbers.size()));
    }
}

void scene::end(record& op) noexcept {
    op.ended = true;
    op.arrived = true;
    under_way_.back()->place = op.place;
    under_way_[op.place] = under_way_.back();
    under_way_.pop_back();
    op.stop = {};
}

void scene::abandoned(record& op) noexcept {
    note("gave {}, and is destroyed", op.given);
    if (op.where != nullptr) {
        ++op.where->abandoned;
    }
    op.told.reset();
    op.flow.reset();
    end(op);
}

void scene::try_once(meeting& where, history::colour as, bool must_succeed) {
    item mine = make_item();
    const long given = mine.id();
    std::optional<history::operation> told;
    std::optional<channel_history::operation> flow;
    {
        const memory::reserve unfailing;
        note("tries {} with exchanger {} as {}", given, where.id, static_cast<long>(as));
        told.emplace(history_[0].begin({.given = given,
                                        .channel = where.id,
                                        .way = history::way::tries,
                                        .colour = as,
                                        .buffered = where.ex.is_buffer()}));
        begin_flow(flow, where, as, {given}, true);
    }
    bool met = false;
    bool no_partner = false;
    const auto end = [&](const auto& result) {
        --where.users;
        tell(given, result);
        told->returned(result, history::time_point(now()));
        passed(where, flow, given, result);
        met = static_cast<bool>(result);
        where.exchanged += met ? 1U : 0U;
        no_partner = !met && result.error() == exchange_errc::no_partner;
    };
    ++where.users;
    bool waits = false;
    {
        // A waiter of a selection may be stale: another case has been decided.
        const bool certain =
            where.standing == 0 && std::ranges::none_of(under_way_, [&](const record* op) {
                return op->where == &where && op->selects;
            });
        const undisturbed eyes;
        waits = certain && where.ex.somebody_waits();
    }
    const std::uint64_t before = turns();
    where.ex.as(as, mine, [&](auto, auto try_now) { end(try_now()); });
    if (no_partner && waits && turns() == before) {
        fail("a try has not taken the partner that was waiting");
    }
    if (must_succeed && !met) {
        fail("a party waits and cannot be met");
    }
}

void scene::returned_from_circle(meeting& where, long partner) {
    // The partner has arrived, even if its operation has not returned yet.
    // With colours, no other party may wait there or close it either.
    const bool colours = where.ex.has_colours();
    const bool all_have_arrived =
        where.begun == where.circle && !(colours && where.users != 0) &&
        std::ranges::all_of(under_way_, [&](const record* op) {
            return op->where != &where || (op->has_arrived() && !colours) || op->given == partner;
        });
    if (all_have_arrived) {
        destroy(where);
    }
}

// ---- What others do.

void scene::press(button& which) {
    if (std::exchange(which.used, true)) {
        renew(which);
    }
    stop_source& pressed = *which.source;
    const history::stop_id id = which.id;
    if (choices().one_in(2)) {
        renew(which);
    }
    note("requests stop {}", static_cast<long>(id));
    const history::stamp begun = history_.tick();
    pressed.request_stop();
    stopped(id, begun);
}

void scene::stopped(history::stop_id which, history::stamp begun) {
    const history::ending request{which, begun, history_.tick()};
    note("has requested stop {}", static_cast<long>(which));
    const memory::reserve unfailing;
    history_[0].add_stop(request);
}

void scene::perhaps_disturb() {
    if (temper.disturbing == 0 || !choices().one_in(temper.disturbing)) {
        return;
    }
    if (!choices().one_in(8)) {
        press(buttons[choices().below(buttons.size())]);
    } else if (meeting* const where = choose_meeting()) {
        where->ex.is_buffer() && !choices().one_in(4) ? set_limit(*where) : close(*where);
    }
}

void scene::renew(button& which) {
    const memory::reserve unfailing;
    which = {&sources_.emplace_back(), ++last_stop_, false};
}

void scene::close(meeting& where) {
    if (!where.ex.exists()) {
        return;
    }
    note("closes exchanger {}", where.id);
    ++where.users;
    history::ending closing{where.id, history_.tick()};
    if (!where.ex.is_buffer()) {
        where.ex.close();
    } else if (choices().one_in(2)) {
        take(where, [&](std::vector<long>& left) { where.ex.close_and_take(left); });
    } else {
        channel_history::change closed{.channel = where.id, .begun = flows_.tick()};
        where.ex.close();
        closed.ended = flows_.tick();
        const memory::reserve unfailing;
        flows_[0].add_close(closed);
    }
    closing.returned = history_.tick();
    where.closed = true;
    --where.users;
    note("has closed exchanger {}", where.id);
    const memory::reserve unfailing;
    history_[0].add_close(closing);
}

template <class What>
void scene::take(meeting& where, What what) {
    channel_history::record taken{.channel = where.id,
                                  .what = channel_history::act::takes,
                                  .fate = channel_history::fate::done,
                                  .begun = flows_.tick()};
    what(taken.items);
    taken.ended = flows_.tick();
    for (const long each : taken.items) {
        leaves(where, each);
    }
    const memory::reserve unfailing;
    flows_[0].add(taken);
}

void scene::set_limit(meeting& where) {
    channel_history::change change{
        .channel = where.id, .begun = flows_.tick(), .limit = choices().among(limits)};
    note("sets the limit of exchanger {} to {}", where.id, static_cast<long>(change.limit));
    ++where.users;
    where.ex.set_limit(change.limit);
    --where.users;
    change.ended = flows_.tick();
    note("has set the limit of exchanger {}", where.id);
    const memory::reserve unfailing;
    flows_[0].add_limit(change);
}

bool scene::somebody_is_on_the_way_to(const meeting& where) const noexcept {
    return std::ranges::any_of(
        under_way_, [&](const record* op) { return op->where == &where && !op->has_arrived(); });
}

void scene::destroy(meeting& where) {
    if (!where.ex.exists() || std::exchange(where.dying, true)) {
        return;
    }
    where.open = false;
    while (frames_dying_ != 0 ||
           (where.circle == 0 && (where.users != 0 || somebody_is_on_the_way_to(where)))) {
        yield();
    }
    note("destroys exchanger {}", where.id);
    ++exchangers_dying_;
    history::ending closing{where.id, history_.tick()};
    if (where.ex.is_buffer()) {
        take(where, [&](std::vector<long>& left) { where.ex.destroy(left); });
    } else {
        std::vector<long> none;
        where.ex.destroy(none);
    }
    closing.returned = history_.tick();
    where.closed = true;
    --exchangers_dying_;
    note("has destroyed exchanger {}", where.id);
    const memory::reserve unfailing;
    history_[0].add_close(closing);
}

// ---- Checks.

namespace {

/// Whether its executor can still run what is posted to it.
bool is_alive(const record& op) noexcept {
    return op.home == nullptr || !op.home->stopped;
}

std::string about(const record& op, const char* what) {
    return "the operation that gave " + std::to_string(op.given) + " sleeps, although " + what;
}

} // namespace

const record* scene::somebody_who_waits_at(const meeting& where) const noexcept {
    const auto found = std::ranges::find_if(
        under_way_, [&](const record* op) { return op->where == &where && is_alive(*op); });
    return found == under_way_.end() ? nullptr : *found;
}

bool scene::waits_without_executor(const void* frame) const noexcept {
    return frame != nullptr &&
           std::ranges::any_of(under_way_, [&](const record* op) { return op->frame == frame; });
}

bool scene::thread_waits_at(const meeting& where) const noexcept {
    return std::ranges::any_of(
        under_way_, [&](const record* op) { return op->where == &where && op->home == nullptr; });
}

bool scene::some_loop_is_stopped() const noexcept {
    return std::ranges::any_of(loops, [](const looper& each) { return each.stopped && each.loop; });
}

void scene::look_into_buffers() {
    const undisturbed eyes;
    for (meeting& each : meetings) {
        if (each.ex.is_buffer() && each.ex.exists()) {
            const auto [size, limit] = each.ex.size_and_limit();
            each.has_items = size != 0;
            each.has_room = limit != 0;
        }
    }
    // The sender that waits longest is one of these; which one is unknown.
    for (const record* const op : under_way_) {
        if (op->where == nullptr) {
            continue;
        }
        meeting& where = *op->where;
        if (where.has_room && where.has_items && op->colour == history::colour::red) {
            const auto [size, limit] = where.ex.size_and_limit();
            // If a party is gone, or cannot say what it has done, the weight is not known.
            const bool known = where.abandoned == 0 && is_alive(*op) && where.inside == size;
            where.has_room = where.ex.what() == venue::kind::buffer
                                 ? size < limit
                                 : known && where.weight <= limit &&
                                       weight_of(op->given) <= limit - where.weight;
        }
    }
}

std::string scene::check_asleep() {
    const memory::reserve unfailing;
    for (meeting& each : meetings) {
        each.waiting = {};
        each.has_items = each.has_room = false;
    }
    look_into_buffers();
    const history::stamp seen = history_.tick();
    for (record* const op : under_way_) {
        if (!is_alive(*op)) {
            continue;
        }
        if (!op->has_arrived()) {
            return about(*op, "it has not arrived");
        }
        if (op->stop.stop_requested()) {
            return about(*op, "its stop was requested");
        }
        if (op->exact && op->deadline <= now()) {
            return about(*op, "its deadline has passed");
        }
        if (op->where == nullptr) {
            continue;
        }
        if (op->where->closed) {
            return about(*op, "its exchanger is closed");
        }
        auto& waiting = op->where->waiting;
        const auto mine = static_cast<std::size_t>(op->colour);
        // Red is 1 and blue 2.
        if (op->is_double) {
            // It does not take part, or its other case at the same exchanger does not.
        } else if ((++waiting.at(mine) != 1 && mine == 0) ||
                   (mine != 0 && waiting.at(3 - mine) != 0)) {
            return about(*op, "a possible partner sleeps, too");
        }
        if (op->colour == history::colour::red ? op->where->has_room : op->where->has_items) {
            return about(*op, "the buffer has what it waits for");
        }
        if (!op->where->ex.all_are_in_wait_list()) {
            return about(*op, "it is not in the wait list");
        }
        op->told->parked(seen);
    }
    return {};
}

std::string scene::check_quiet() {
    const memory::reserve unfailing;
    for (record* const op : under_way_) {
        if (is_alive(*op) && op->deadline != no_deadline) {
            return about(*op, "it has a deadline, and no thread waits for that");
        }
    }
    const auto waiting = static_cast<std::size_t>(
        std::ranges::count_if(under_way_, [](const record* op) { return op->lead == op; }));
    if (!some_loop_is_stopped() && present_ != waiting) {
        return "a party is lost: " + std::to_string(present_) + " are present, " +
               std::to_string(waiting) + " wait";
    }
    return {};
}

std::string scene::check_end() {
    const memory::reserve unfailing;
    if (!under_way_.empty()) {
        return "operations are left at the end";
    }
    if (present_ != 0) {
        return "parties are left at the end";
    }
    if (items.alive.load() != 0) {
        return std::to_string(items.alive.load()) +
               " items are left at the end, or were destroyed twice";
    }
    for (const meeting& each : meetings) {
        if (const counters* const counted = each.ex.statistics()) {
            const undisturbed eyes;
            const statistics seen = counted->stats();
            // Both parties of an exchange count, unless one was destroyed before it returned.
            if (seen.waiting != 0 || seen.arrivals != 2 * seen.exchanges + seen.ended() ||
                2 * seen.exchanges < each.exchanged ||
                2 * seen.exchanges > each.exchanged + each.abandoned) {
                return "the counters of exchanger " + std::to_string(each.id) + " do not add up";
            }
        }
    }
    return history_.violations_at_rest(history::time_point(now())) + flows_.violations();
}

} // namespace tryst::sim
