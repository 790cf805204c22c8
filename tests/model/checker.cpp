// SPDX-License-Identifier: MIT
#include "model/checker.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

namespace tryst::model {

namespace {

constexpr bool acquires(std::memory_order order) noexcept {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
}
constexpr bool releases(std::memory_order order) noexcept {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

const char* name_of(std::memory_order order) noexcept {
    switch (order) {
    case std::memory_order_relaxed:
        return "relaxed";
    case std::memory_order_consume:
        return "consume";
    case std::memory_order_acquire:
        return "acquire";
    case std::memory_order_release:
        return "release";
    case std::memory_order_acq_rel:
        return "acq_rel";
    case std::memory_order_seq_cst:
        return "seq_cst";
    }
    return "?";
}

const char* name_of(access kind) noexcept {
    switch (kind) {
    case access::read:
        return "read";
    case access::write:
        return "write";
    case access::allocation:
        return "allocation";
    case access::release:
        return "deallocation";
    }
    return "?";
}

/// `bool ns::type<T>::function(int)` without all but `function`.
std::string short_name(const char* pretty) {
    std::string name(pretty);
    name.resize(std::min(name.find('('), name.size()));
    name.resize(std::min(name.find(" [with"), name.size()));
    return name.substr(name.find_last_of(": ") + 1);
}

std::string pad(std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text + ' ';
}

} // namespace

checker& checker::instance() noexcept {
    static checker only;
    return only;
}

checker::checker() : atomics_(std::make_unique<std::array<atomic_history, max_atomics>>()) {
    for (std::size_t i = 0; i != max_threads; ++i) {
        threads_.push_back(std::make_unique<thread>(memory_.stack(i)));
    }
}

// ---- Exploring

report checker::explore(void (*scene)(), const bounds& limits) {
    limits_ = limits;
    visited_ = {};
    reached_ = 0;
    weakened_ = 0;
    report found;
    const bool random = limits.random_executions != 0;
    std::uint64_t seed = limits.first_seed;
    random ? choices_.begin_random(seed) : choices_.begin_exhaustive();
    bool more = true;
    while (more) {
        ++found.executions;
        execute(scene);
        found.cut += cut_ ? 1 : 0;
        found.longest = std::max(found.longest, steps_);
        if (!failure_.empty()) {
            const report failure = failed(scene, choices_.taken());
            found.failure = failure.failure;
            found.replay = failure.replay;
            found.trace = failure.trace;
            break;
        }
        if (random) {
            more = found.executions != limits.random_executions;
            choices_.begin_random(++seed);
        } else {
            more = choices_.advance();
        }
    }
    found.states = visited_.size();
    found.weakened = weakened_;
    return found;
}

report checker::replay(void (*scene)(), const bounds& limits, const std::string& text) {
    limits_ = limits;
    report found;
    if (const auto taken = choices::from_text(text)) {
        found = failed(scene, *taken);
    } else {
        found.failure = "not a replay: " + text;
    }
    found.executions = 1;
    return found;
}

/// Repeats a failed execution, now with its trace.
report checker::failed(void (*scene)(), const std::vector<std::uint8_t>& taken) {
    const std::string before = std::exchange(failure_, {});
    report found;
    found.replay = choices::to_text(taken);
    choices_.begin_replay(taken);
    tracing_ = true;
    trace_.clear();
    execute(scene);
    tracing_ = false;
    if (!before.empty() && failure_.empty()) {
        failure_ = before + " (but not when repeated: the scene is not deterministic)";
    }
    found.failure = failure_;
    found.trace = trace_;
    found.longest = steps_;
    return found;
}

void checker::begin_execution() {
    memory_.begin_execution();
    failure_.clear();
    thread_count_ = 0;
    atomic_count_ = 0;
    atomics_state_ = 0;
    objects_state_ = 0;
    progress_ = 0;
    sequentially_consistent_ = {};
    kernel_ = {};
    preemptions_ = 0;
    stale_reads_ = 0;
    spurious_ = limits_.spurious_failures;
    starve(0);
    forbidden_ = 0;
    once_ = 0;
    cut_ = false;
    if (choices_.mode() == choices::how::random) {
        // Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A
        // randomized scheduler with probabilistic guarantees of finding bugs", 2010): the thread of
        // highest priority runs; at a few random steps it gets the lowest.
        auto& random = choices_.random();
        std::iota(priorities_.begin(), priorities_.end(), 100U);
        std::ranges::shuffle(priorities_, random);
        priority_changes_.clear();
        for (std::size_t i = random() % 6; i != 0; --i) {
            priority_changes_.push_back(random() % std::max<std::size_t>(steps_, 50));
        }
    }
    steps_ = 0;
}

void checker::execute(void (*scene)()) {
    begin_execution();
    running_ = 0;
    spawn("scene", reinterpret_cast<void (*)(void*)>(scene), nullptr);
    if (sigsetjmp(scheduler_, 1) != 0) {
        active = nullptr; // a signal has ended the execution
    }
    while (failure_.empty()) {
        const std::size_t next = schedule();
        if (next == nobody) {
            break;
        }
        run(next);
    }
    if (failure_.empty() && !cut_ && memory_.live_blocks() != 0) {
        failure_ = std::to_string(memory_.live_blocks()) + " blocks of memory were never freed";
    }
}

void checker::run(std::size_t number) {
    running_ = number;
    thread& t = self();
    // A thread that has come to its first step has not begun: another may begin instead.
    t.yielded = std::exchange(t.fresh, false) && limits_.any_first;
    t.settling = false;
    for (std::size_t i = 0; i != thread_count_; ++i) {
        if (i != number) {
            threads_[i]->alone = false;
            threads_[i]->generous = false;
        }
    }
    t.history = mix(t.history, 0); // no step leaves the state as it was
    active = this;
    t.on.enter();
    active = nullptr;
    if (failure_.empty() && ++steps_ > max_steps) {
        failure_ = "no end after " + std::to_string(max_steps) + " steps: a livelock?";
    }
    ++all_steps_;
}

bool checker::enabled(const thread& t) const {
    return !t.on.finished() && !t.settling && !t.fresh &&
           (t.ready == nullptr || t.ready(t.context));
}

bool checker::known_state(bool is_free) {
    if (choices_.mode() != choices::how::exhaustive || choices_.repeating()) {
        return false;
    }
    fingerprint state = atomics_state_ ^ objects_state_;
    for (std::size_t i = 0; i != thread_count_; ++i) {
        const thread& t = *threads_[i];
        state ^= mix(i + 1, t.history + (t.alone ? 1 : 0) + (t.generous ? 2 : 0) +
                                (t.retries && t.known_progress == progress_ ? 4 : 0));
    }
    if (limits_.preemptions) {
        state = mix(state, is_free ? nobody : running_);
    }
    // An execution that came here at a lower cost, or the same, has explored at least as much.
    return !visited_.insert(
        state, {limits_.preemptions ? preemptions_ : 0, limits_.stale_reads ? stale_reads_ : 0});
}

/// Who can make a step; first of all the thread that made the last one.
std::size_t checker::collect(bool generous, std::array<std::uint8_t, max_threads>& who) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i != thread_count_; ++i) {
        const thread& t = *threads_[i];
        if (enabled(t) && t.generous == generous) {
            who[count++] = static_cast<std::uint8_t>(i);
            if (i == running_) {
                std::rotate(who.begin(), who.begin() + count - 1, who.begin() + count);
            }
        }
    }
    return count;
}

std::size_t checker::schedule() {
    std::array<std::uint8_t, max_threads> who{};
    std::size_t settling = nobody;
    std::size_t left = 0;
    for (std::size_t i = 0; i != thread_count_; ++i) {
        const thread& t = *threads_[i];
        if (t.fresh) {
            return i; // up to its first step, which touches its own memory only
        }
        left += t.on.finished() ? 0U : 1U;
        settling = t.settling ? i : settling;
    }
    std::size_t count = collect(false, who);
    if (count == 0) {
        count = collect(true, who);
    }
    if (count == 0) {
        if (left != 0 && settling == nobody) {
            failure_ = "deadlock:";
            for (std::size_t i = 0; i != thread_count_; ++i) {
                if (!threads_[i]->on.finished()) {
                    failure_ += std::string(" ") + threads_[i]->name + " waits for " +
                                threads_[i]->waits_for + ";";
                }
            }
            failure_.pop_back();
        }
        return settling;
    }
    const bool free = who[0] != running_ || self().yielded;
    if (!free && limits_.preemptions && preemptions_ >= *limits_.preemptions) {
        count = 1;
    }
    if (known_state(free)) {
        cut_ = true;
        return nobody;
    }
    const std::size_t next = who[pick(who, count)];
    if (!free && next != running_) {
        ++preemptions_;
    }
    return next;
}

std::size_t checker::pick(const std::array<std::uint8_t, max_threads>& who, std::size_t count) {
    if (choices_.mode() != choices::how::random) {
        return choices_.choose(count);
    }
    const std::span candidates(who.data(), count);
    const auto highest = [&] {
        return std::ranges::max_element(candidates, {}, [&](auto t) { return priorities_[t]; });
    };
    if (std::ranges::find(priority_changes_, steps_) != priority_changes_.end()) {
        priorities_[*highest()] = std::ranges::min(priorities_) - 1;
    }
    const auto index = static_cast<std::size_t>(highest() - candidates.begin());
    choices_.record(index, count);
    return index;
}

// ---- For scenes

void checker::spawn(const char* name, void (*entry)(void*), void* body) {
    if (thread_count_ == max_threads) {
        fail("too many threads");
    }
    const std::size_t number = thread_count_++;
    thread& t = *threads_[number];
    const view inherited = number == 0 ? view() : self().now;
    t.name = name;
    t.entry = entry;
    t.body = body;
    t.now = inherited;
    ++t.now.happened[number];
    t.history = number + 1;
    t.retries = false;
    t.fresh = true;
    t.settling = false;
    t.yielded = false;
    t.alone = false;
    t.generous = false;
    t.ready = nullptr;
    t.waits_for = "";
    t.last_object = nullptr;
    t.locals.fill({});
    t.on.prepare(
        [](void* argument) {
            auto& started = *static_cast<thread*>(argument);
            try {
                if (started.body == nullptr) {
                    reinterpret_cast<void (*)()>(started.entry)();
                } else {
                    started.entry(started.body);
                }
            } catch (const std::exception& e) {
                instance().fail(std::string("an exception left a thread: ") + e.what());
            }
            for (const local_object& each : started.locals) {
                if (each.object != nullptr) {
                    each.end(each.object);
                }
            }
        },
        &t);
    if (number != 0) {
        end_event();
    }
}

void checker::join() {
    const auto all_ended = [](void* self) {
        auto& c = *static_cast<checker*>(self);
        const auto others = std::span(c.threads_).subspan(1, c.thread_count_ - 1);
        return std::ranges::all_of(others, [](const auto& t) { return t->on.finished(); });
    };
    wait(all_ended, this, "the others to end");
    for (std::size_t i = 1; i != thread_count_; ++i) {
        self().now.join(threads_[i]->now);
    }
    end_event();
}

void checker::settle() {
    self().settling = true;
    step("quiescence");
}

void checker::fail(const std::string& message) {
    if (failure_.empty()) {
        const outside here;
        failure_ = message;
    }
    self().on.leave();
    std::abort(); // nobody enters it again
}

// ---- Steps

void checker::yield() noexcept {
    thread& t = self();
    t.yielded = true;
    t.generous = std::exchange(t.alone, true);
}

void checker::step(const char* what) {
    self().waits_for = what;
    self().on.leave();
}

unsigned checker::step_at(const unsigned* atomic, const char* what) {
    step(what);
    enter(access::read, atomic, sizeof *atomic); // it must still be alive
    (*atomics_)[*atomic].address = atomic;
    return *atomic;
}

void checker::hand_over(std::span<std::byte> block, const view& known) noexcept {
    memory_.hand_over(block, known, running_);
    for (std::size_t i = 0; i != atomic_count_; ++i) {
        const auto* const address = reinterpret_cast<const std::byte*>((*atomics_)[i].address);
        if (address >= block.data() && address < block.data() + block.size()) {
            self().now.floor[i] = std::max(self().now.floor[i], known.floor[i]);
        }
    }
}

void checker::wait(bool (*ready)(void*), void* context, const char* what) {
    thread& t = self();
    t.ready = ready;
    t.context = context;
    step(what);
    t.ready = nullptr;
}

unsigned checker::make_atomic(word initial) {
    if (atomic_count_ == max_atomics) {
        fail("too many atomics");
    }
    const auto number = static_cast<unsigned>(atomic_count_++);
    atomic_history& a = (*atomics_)[number];
    a.address = nullptr;
    a.id = mix(event_id(), number);
    a.order = a.id;
    a.count = 1;
    a.stores[0] = {initial, a.id, rank_distance, false, {}};
    return number;
}

std::size_t checker::oldest_readable(unsigned atomic, std::memory_order order) noexcept {
    const atomic_history& a = (*atomics_)[atomic];
    if (limits_.stale_reads && stale_reads_ >= *limits_.stale_reads) {
        return a.count - 1;
    }
    rank oldest = self().now.floor[atomic];
    if (order == std::memory_order_seq_cst) {
        oldest = std::max(oldest, sequentially_consistent_.floor[atomic]);
    }
    return a.index_of(oldest);
}

std::size_t checker::atomic_history::index_of(rank floor) const noexcept {
    std::size_t index = count - 1;
    while (index != 0 && stores[index - 1].place >= floor) {
        --index;
    }
    return index;
}

void checker::read(unsigned atomic, std::size_t index, std::memory_order order) {
    thread& t = self();
    const store_event& from = (*atomics_)[atomic].stores[index];
    t.alone = t.alone && from.place <= t.now.floor[atomic];
    t.now.floor[atomic] = std::max(t.now.floor[atomic], from.place);
    if (acquires(order)) {
        t.now.join(from.released);
    }
    if (order == std::memory_order_seq_cst) {
        auto& latest = sequentially_consistent_.floor[atomic];
        latest = std::max(latest, from.place);
        objects_state_ = mix(objects_state_, event_id());
    }
    if (index + 1 != (*atomics_)[atomic].count) {
        ++stale_reads_;
    }
    remember(from.id);
    t.last_atomic = static_cast<std::uint8_t>(atomic);
    t.last_object = nullptr;
}

void checker::insert(unsigned atomic, std::size_t index, word value, std::memory_order order) {
    thread& t = self();
    atomic_history& a = (*atomics_)[atomic];
    if (a.count == max_stores) {
        fail("no end after " + std::to_string(max_stores) + " stores to one atomic: a livelock?");
    }
    auto* const place = a.stores.begin() + index;
    const bool last = index == a.count;
    const rank before = place[-1].place;
    const auto mine =
        static_cast<rank>(last ? before + rank_distance : (before + place->place) / 2);
    if (mine == before) {
        fail("too many stores between two others");
    }
    t.alone = t.alone && place[-1].value == value; // an idempotent update gets nobody on
    std::move_backward(place, a.stores.begin() + a.count, a.stores.begin() + a.count + 1);
    ++a.count;
    progress_ += t.retries ? 0U : 1U;
    t.now.floor[atomic] = mine;
    *place = {value, event_id(), mine, false, releases(order) ? t.now : view()};
    if (order == std::memory_order_seq_cst) {
        sequentially_consistent_.floor[atomic] = mine;
        objects_state_ = mix(objects_state_, place->id);
    }
    atomics_state_ ^= a.order;
    a.order = a.id;
    for (std::size_t i = 1; i != a.count; ++i) {
        a.order = mix(a.order, a.stores[i].id);
    }
    atomics_state_ ^= a.order;
    remember(place->id);
    stale_reads_ += last || a.stores[index - 1].updated ? 0U : 1U; // an update has counted its read
    t.last_atomic = static_cast<std::uint8_t>(atomic);
    t.last_object = nullptr;
}

void checker::update_at(unsigned atomic, std::size_t index, word value, std::memory_order order) {
    atomic_history& a = (*atomics_)[atomic];
    a.stores[index].updated = true;
    insert(atomic, index + 1, value, order);
    a.stores[index + 1].released.join(
        a.stores[index].released); // it goes on with the release sequence
}

std::memory_order checker::actual(std::memory_order order, site where, bool on_failure) {
    if (!limits_.weakened) {
        return order;
    }
    const weakening& w = *limits_.weakened;
    if (where.line() < w.first_line || where.line() > w.last_line || on_failure != w.on_failure ||
        !std::string_view(where.file_name()).ends_with(w.file)) {
        return order;
    }
    ++weakened_;
    return w.order;
}

word checker::load(const unsigned* which, std::memory_order order, site where) {
    order = actual(order, where);
    const unsigned atomic = step_at(which, "a load");
    const atomic_history& a = (*atomics_)[atomic];
    const std::size_t latest = a.count - 1;
    const std::size_t index = latest - choose(a.count - oldest_readable(atomic, order));
    read(atomic, index, order);
    end_event();
    const word value = a.stores[index].value;
    note(where, [&] {
        return "load  " + show_atomic(atomic) + " = " + show(value) + ", " + model::name_of(order) +
               (index == latest ? "" : " (stale by " + std::to_string(latest - index) + ")");
    });
    return value;
}

void checker::store(const unsigned* which, word desired, std::memory_order order, site where) {
    order = actual(order, where);
    const unsigned atomic = step_at(which, "a store");
    const atomic_history& a = (*atomics_)[atomic];
    std::array<std::uint8_t, max_stores> places{};
    std::size_t count = 0;
    for (std::size_t i = a.count; i > oldest_readable(atomic, order); --i) {
        if (!a.stores[i - 1].updated) {
            places[count++] = static_cast<std::uint8_t>(i);
        }
    }
    const std::size_t index = places[choose(count)];
    const std::size_t later = a.count - index;
    insert(atomic, index, desired, order);
    end_event();
    note(where, [&] {
        return "store " + show_atomic(atomic) + " := " + show(desired) + ", " +
               model::name_of(order) +
               (later == 0 ? "" : " (before " + std::to_string(later) + " others)");
    });
}

word checker::update(const unsigned* which, operation with, word operand, std::memory_order order,
                     const char* what, site where) {
    order = actual(order, where);
    const unsigned atomic = step_at(which, "a read-modify-write");
    const atomic_history& a = (*atomics_)[atomic];
    std::array<std::uint8_t, max_stores> places{};
    std::size_t count = 0;
    for (std::size_t i = a.count; i-- > oldest_readable(atomic, order);) {
        if (!a.stores[i].updated) {
            places[count++] = static_cast<std::uint8_t>(i);
        }
    }
    const std::size_t index = places[choose(count)];
    const word old = a.stores[index].value;
    read(atomic, index, order);
    update_at(atomic, index, with(old, operand), order);
    end_event();
    note(where, [&] {
        return std::string(what) + " " + show_atomic(atomic) + ": " + show(old) + " -> " +
               show(with(old, operand)) + ", " + model::name_of(order);
    });
    return old;
}

bool checker::compare_exchange(const unsigned* which, word& expected, word desired,
                               std::memory_order success, std::memory_order failure, bool weak,
                               site where) {
    success = actual(success, where);
    failure = actual(failure, where, true);
    const unsigned atomic = step_at(which, "a compare-exchange");
    const atomic_history& a = (*atomics_)[atomic];
    const std::size_t latest = a.count - 1;
    std::array<std::uint8_t, 2 * max_stores> at{};
    std::size_t wins = 0;
    for (std::size_t i = a.count; i-- > oldest_readable(atomic, success);) {
        if (a.stores[i].value == expected && !a.stores[i].updated) {
            at[wins++] = static_cast<std::uint8_t>(i);
        }
    }
    std::size_t all = wins;
    for (std::size_t i = a.count; i-- > oldest_readable(atomic, failure);) {
        if (a.stores[i].value != expected) {
            at[all++] = static_cast<std::uint8_t>(i);
        }
    }
    const bool can_be_spurious = weak && a.stores[latest].value == expected && spurious_ != 0;
    const std::size_t taken = choose(all + (can_be_spurious ? 1 : 0));
    const word wanted = expected;
    const bool succeeded = taken < wins;
    std::size_t index = latest;
    if (succeeded) {
        index = at[taken];
        read(atomic, index, success);
        update_at(atomic, index, desired, success);
    } else {
        if (taken < all) {
            index = at[taken];
        } else {
            --spurious_;
        }
        expected = a.stores[index].value;
        read(atomic, index, failure);
        remember(1); // apart from a success
    }
    end_event();
    note(where, [&] {
        return "cas   " + show_atomic(atomic) + ": " +
               (succeeded ? show(wanted) + " -> " + show(desired) + ", " + model::name_of(success)
                          : show(wanted) + " expected, fails on " + show(expected) + ", " +
                                model::name_of(failure) + (index == latest ? "" : " (stale)"));
    });
    return succeeded;
}

void checker::wait_for_change(site where) {
    thread& t = self();
    if (t.last_object != nullptr) {
        wait(
            [](void* waiting) {
                const thread& w = *static_cast<thread*>(waiting);
                return w.last_object->version != w.last_version;
            },
            &t, "a change");
    } else {
        wait(
            [](void* waiting) {
                const thread& w = *static_cast<thread*>(waiting);
                const auto& a = (*instance().atomics_)[w.last_atomic];
                return a.stores[a.count - 1].place > w.now.floor[w.last_atomic];
            },
            &t, "a change");
        // What it has seen would make it wait again: stores become visible in the end.
        ++t.now.floor[t.last_atomic];
    }
    remember(2);
    note(where, [] { return std::string("sees that something has changed"); });
}

void checker::begin_try() noexcept {
    thread& t = self();
    t.known_progress = progress_;
    // Stores become visible in the end, and it may have no further try.
    for (std::size_t i = 0; i != atomic_count_; ++i) {
        const atomic_history& a = (*atomics_)[i];
        t.now.floor[i] = a.stores[a.count - 1].place;
    }
    remember(mix(5, atomics_state_));
}

void checker::begin_retries() noexcept {
    self().retries = true;
    begin_try();
}

void checker::wait_for_progress(site where) {
    thread& t = self();
    wait(
        [](void* waiting) {
            return static_cast<thread*>(waiting)->known_progress != instance().progress_;
        },
        &t, "progress");
    begin_try();
    note(where, [] { return std::string("tries again"); });
}

void checker::end_retries() noexcept {
    self().retries = false;
    ++progress_;
}

void checker::use(shared_object& object, bool changes, const char* what, site where) {
    use_when(object, nullptr, nullptr, what, where, changes);
}

void checker::use_when(shared_object& object, bool (*ready)(void*), void* context, const char* what,
                       site where, bool changes) {
    wait(ready, context, what);
    thread& t = self();
    remember(object.history);
    if (changes) {
        t.alone = false;
        progress_ += t.retries ? 0U : 1U;
        objects_state_ ^= object.history;
        object.history = mix(object.history, event_id());
        objects_state_ ^= object.history;
        ++object.version;
    }
    end_event();
    t.last_object = &object;
    t.last_version = object.version;
    note(where, [&] { return std::string(what); });
}

void checker::publish(shared_object& object, const char* what, site where) {
    use(object, true, what, where);
    object.held.join(self().now);
    end_event();
}

void checker::await(shared_object& object, std::uint32_t version, const char* what, site where) {
    struct wait {
        const shared_object& object;
        std::uint32_t version;
    } waiting{object, version};
    use_when(
        object,
        [](void* context) {
            const auto& w = *static_cast<wait*>(context);
            return w.object.version >= w.version;
        },
        &waiting, what, where, false);
    self().now.join(object.held);
}

bool checker::fails_spuriously() {
    if (spurious_ == 0 || choose(2) == 0) {
        return false;
    }
    --spurious_;
    remember(3);
    return true;
}

// ---- Plain memory

void checker::enter(access kind, const void* address, std::size_t size) {
    if (size == 0 || !memory_.contains(address)) {
        return;
    }
    if (const conflict c = memory_.enter(kind, address, size, running_, self().now); c.found) {
        report_conflict(c, kind, address);
    }
}

void checker::report_conflict(const conflict& c, access kind, const void* address) {
    std::ostringstream text;
    if (c.earlier == access::release) {
        text << "use after free: ";
    } else {
        text << "data race: ";
    }
    text << "a " << model::name_of(kind) << " at @" << std::hex << memory_.offset_of(address)
         << " by " << self().name << " is not ordered after the " << model::name_of(c.earlier)
         << " by " << name_of(c.thread);
    fail(text.str());
}

void* checker::allocate(std::size_t size, std::size_t alignment) {
    void* const block = memory_.allocate(size, alignment, running_);
    if (block == nullptr) {
        fail("out of the model's memory");
    }
    enter(access::allocation, block, size);
    return block;
}

void* checker::try_allocate(std::size_t size, std::size_t alignment) {
    if (failures_ != 0 && (fails_surely_ || choose(2) == 1)) {
        --failures_;
        observe(1);
        note(site::current(), [] { return std::string("no memory"); });
        return nullptr;
    }
    return allocate(size, alignment);
}

void checker::release(void* block) {
    enter(access::release, block, plain_memory::size_of(block));
    memory_.give_back(block, running_);
}

// ---- Trace, and ends from outside

std::string checker::show(word value) const {
    std::ostringstream text;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (const auto* const address = reinterpret_cast<const void*>(value);
        memory_.contains(address)) {
        text << '@' << std::hex << memory_.offset_of(address);
    } else {
        text << value;
    }
    return text.str();
}

void checker::reached(std::size_t number, const char* name, site where) {
    reached_ |= std::uint64_t{1} << number;
    note(where, [&] { return std::string("-- ") + name; });
    if ((forbidden_ >> number & 1U) != 0) {
        fail(std::string("what must not happen here: ") + name);
    }
    forbidden_ |= once_ & std::uint64_t{1} << number;
}

std::string checker::show_atomic(unsigned atomic) {
    return "a" + std::to_string(atomic);
}

void checker::add_line(site where, const std::string& text) {
    const char* const slash = std::strrchr(where.file_name(), '/');
    trace_.push_back(pad(std::to_string(steps_), 4) + pad(self().name, 12) +
                     pad(std::string(slash == nullptr ? where.file_name() : slash + 1) + ":" +
                             std::to_string(where.line()),
                         26) +
                     pad(short_name(where.function_name()), 18) + text);
}

bool checker::hangs() noexcept {
    return std::exchange(steps_at_last_watch_, all_steps_) == all_steps_;
}

void checker::interrupt(const char* why) noexcept {
    active = nullptr;
    failure_ = std::string(why) + " in " + self().name;
    siglongjmp(scheduler_, 1);
}

} // namespace tryst::model
