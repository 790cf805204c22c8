// SPDX-License-Identifier: MIT
#include "sim/scene.hpp"

#include "support/insides.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <system_error>

namespace tryst::sim {

scene::scene() noexcept = default;
scene::~scene() = default;

// ---- The stage.

meeting& scene::add_meeting(std::size_t capacity) {
    meeting* made = nullptr;
    {
        const memory::reserve unfailing;
        made = &meetings.emplace_back(static_cast<history::channel_id>(meetings.size() + 1));
    }
    try {
        made->ex = std::make_unique<exchanger<item>>(capacity);
        made->open = true;
        if (capacity != 0 && choices().one_in(2)) {
            const undisturbed hands; // as if there had been collisions before
            test::grow(*made->ex, static_cast<int>(choices().between(1, capacity)));
        }
        note("exchanger {} has a capacity of {}", made->id, static_cast<long>(capacity));
    } catch (const std::bad_alloc&) {
        note("exchanger {} could not be made", made->id);
    }
    return *made;
}

void scene::add_button() {
    const memory::reserve unfailing;
    buttons.push_back({stop_source(), ++last_stop_, false});
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

meeting* scene::choose_meeting() noexcept {
    const std::size_t first = choices().below(std::max<std::size_t>(meetings.size(), 1));
    for (std::size_t i = 0; i != meetings.size(); ++i) {
        meeting& each = meetings[(first + i) % meetings.size()];
        if (each.open && each.circle == 0) {
            return &each;
        }
    }
    return nullptr;
}

wish scene::make_wish(bool can_have_deadline) noexcept {
    if (temper.trying != 0 && choices().one_in(temper.trying)) {
        return {.how = wish::way::tries};
    }
    return make_wish_to_wait(can_have_deadline);
}

wish scene::make_wish_to_wait(bool can_have_deadline) noexcept {
    random& dice = choices();
    wish made;
    if (temper.stoppable != 0 && !buttons.empty() && dice.one_in(temper.stoppable)) {
        made.stop = &buttons[dice.below(buttons.size())];
    }
    if (can_have_deadline && temper.timed != 0 && dice.one_in(temper.timed)) {
        // Now and then over before it began; and often at the very instant of others.
        const instant patience = temper.grain * static_cast<long>(dice.below(6)) - temper.grain;
        if (dice.one_in(2)) {
            made.how = wish::way::waits_for;
            made.patience = patience;
        } else {
            made.how = wish::way::waits_until;
            made.patience = now() - now() % temper.grain + patience;
        }
    }
    return made;
}

record& scene::begin(meeting& where, const wish& what, long given) {
    const memory::reserve unfailing;
    record& op = records_.emplace_back();
    op.given = given;
    op.where = &where;
    op.home = loop_of(current_executor());
    ++where.begun;
    history::call call{.given = given, .channel = where.id};
    if (what.stop != nullptr) {
        op.stop = what.stop->source.get_token();
        call.stop = what.stop->id;
    }
    if (what.how == wish::way::waits_for || what.how == wish::way::waits_until) {
        op.deadline = what.how == wish::way::waits_for
                          ? now() + std::max(what.patience, instant::zero())
                          : what.patience;
        op.exact = what.how == wish::way::waits_until;
        call.deadline = history::time_point(op.deadline);
        if (op.deadline <= now()) {
            call.way = history::way::overdue;
        }
    }
    op.place = under_way_.size();
    under_way_.push_back(&op);
    note("gives {} to exchanger {}", given, where.id);
    if (what.stop != nullptr) {
        note("  until stop {}", static_cast<long>(call.stop));
    }
    if (op.deadline != no_deadline) {
        note("  until {}", static_cast<long>(op.deadline.count()));
    }
    op.told.emplace(history_[0].begin(call));
    return op;
}

void scene::end(record& op) noexcept {
    op.ended = true;
    op.arrived = true;
    under_way_.back()->place = op.place;
    under_way_[op.place] = under_way_.back();
    under_way_.pop_back();
    op.stop = {};
}

void scene::ended(record& op, const exchange_result<item>& result) {
    if (op.ended) {
        fail("an operation ended twice");
    }
    if (result) {
        note("gave {}, and has {}", op.given, result->id());
    } else {
        note("gave {}, and has {} back: error {}", op.given, result.returned().id(),
             result.error().value());
    }
    op.told->returned(result, history::time_point(now()));
    end(op);
}

void scene::abandoned(record& op) noexcept {
    note("gave {}, and is destroyed", op.given);
    op.told.reset();
    end(op);
}

void scene::try_once(meeting& where, bool must_succeed) {
    item mine = make_item();
    const long given = mine.id();
    std::optional<history::operation> told;
    {
        const memory::reserve unfailing;
        note("tries {} with exchanger {}", given, where.id);
        told.emplace(
            history_[0].begin({.given = given, .channel = where.id, .way = history::way::tries}));
    }
    ++where.users;
    const exchange_result<item> result = where.ex->try_exchange(std::move(mine));
    --where.users;
    if (result) {
        note("gave {}, and has {}", given, result->id());
    } else {
        note("gave {}, and has {} back: error {}", given, result.returned().id(),
             result.error().value());
    }
    told->returned(result, history::time_point(now()));
    if (must_succeed && !result) {
        fail("somebody waits, and cannot be met");
    }
}

void scene::returned_from_circle(meeting& where, long partner) {
    // The partner has arrived, even if it is still on its way back.
    const bool all_have_arrived =
        where.begun == where.circle && std::ranges::all_of(under_way_, [&](const record* op) {
            return op->where != &where || op->arrived || op->given == partner;
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
    const stop_source pressed = which.source;
    const history::stop_id id = which.id;
    if (choices().one_in(2)) {
        renew(which);
    }
    note("requests stop {}", static_cast<long>(id));
    history::ending request{id, history_.tick()};
    pressed.request_stop();
    request.returned = history_.tick();
    note("has requested stop {}", static_cast<long>(id));
    const memory::reserve unfailing;
    history_[0].add_stop(request);
}

void scene::renew(button& which) {
    const memory::reserve unfailing;
    which = {stop_source(), ++last_stop_, false};
}

void scene::close(meeting& where) {
    if (where.ex == nullptr) {
        return;
    }
    note("closes exchanger {}", where.id);
    ++where.users;
    history::ending closing{where.id, history_.tick()};
    where.ex->close();
    closing.returned = history_.tick();
    where.closed = true;
    --where.users;
    note("has closed exchanger {}", where.id);
    const memory::reserve unfailing;
    history_[0].add_close(closing);
}

bool scene::somebody_is_on_the_way_to(const meeting& where) const noexcept {
    return std::ranges::any_of(
        under_way_, [&](const record* op) { return op->where == &where && !op->arrived; });
}

void scene::destroy(meeting& where) {
    if (where.ex == nullptr || std::exchange(where.dying, true)) {
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
    where.ex.reset();
    closing.returned = history_.tick();
    where.closed = true;
    --exchangers_dying_;
    note("has destroyed exchanger {}", where.id);
    const memory::reserve unfailing;
    history_[0].add_close(closing);
}

// ---- The eyes of the test.

namespace {

/// Whether its executor can still run what is posted to it.
bool is_alive(const record& op) noexcept {
    return op.home == nullptr || !op.home->stopped;
}

std::string about(const record& op, const char* what) {
    return "the operation that gave " + std::to_string(op.given) + " sleeps, although " + what;
}

} // namespace

bool scene::somebody_waits_at(const meeting& where) const noexcept {
    return std::ranges::any_of(
        under_way_, [&](const record* op) { return op->where == &where && is_alive(*op); });
}

bool scene::thread_waits_at(const meeting& where) const noexcept {
    return std::ranges::any_of(
        under_way_, [&](const record* op) { return op->where == &where && op->home == nullptr; });
}

bool scene::some_loop_is_stopped() const noexcept {
    return std::ranges::any_of(loops, [](const looper& each) { return each.stopped && each.loop; });
}

std::string scene::check_asleep() {
    const memory::reserve unfailing;
    for (meeting& each : meetings) {
        each.waiting = 0;
    }
    const history::stamp seen = history_.tick();
    for (record* const op : under_way_) {
        if (!is_alive(*op)) {
            continue;
        }
        if (!op->arrived) {
            return about(*op, "it has not arrived");
        }
        if (op->where->closed) {
            return about(*op, "its exchanger is closed");
        }
        if (op->stop.stop_requested()) {
            return about(*op, "its stop was requested");
        }
        if (op->exact && op->deadline <= now()) {
            return about(*op, "its deadline has passed");
        }
        if (++op->where->waiting != 1) {
            return about(*op, "a partner sleeps, too");
        }
        if (!test::waits_at_home(*op->where->ex)) {
            return about(*op, "it is not in slot 0");
        }
        op->told->parked(seen);
    }
    return {};
}

std::string scene::check_quiet() {
    const memory::reserve unfailing;
    for (record* const op : under_way_) {
        if (is_alive(*op) && op->deadline != no_deadline) {
            return about(*op, "it has a deadline, and nobody waits for it");
        }
    }
    if (!some_loop_is_stopped() && present_ != under_way_.size()) {
        return "a party is lost: " + std::to_string(present_) + " are present, " +
               std::to_string(under_way_.size()) + " wait";
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
        return std::to_string(items.alive.load()) + " items are left at the end, if not died twice";
    }
    return history_.violations_at_rest(history::time_point(now()));
}

} // namespace tryst::sim
