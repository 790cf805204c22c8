// SPDX-License-Identifier: MIT
#include "sim/scheduler.hpp"

#include "sim/memory.hpp"
#include "support/fiber.hpp"
#include "support/step_names.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tryst::sim {

namespace {

enum class state : std::uint8_t {
    awake,
    asleep, // at an address, until woken or its deadline
    joining, // until another thread has ended
    quiet, // until nobody else can go on
    ended,
};

struct thread {
    std::string name;
    std::function<void()> body;
    state now = state::awake;
    const void* address = nullptr;
    instant deadline = no_deadline;
    thread_id joined = 0;
    std::int64_t rank = 0; // the highest goes first, if threads are ranked
    std::uint64_t held_up_until = 0; // the decision; not chosen before, while there are others
    bool* waiting = nullptr;
};

constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();
constexpr thread_id nobody = max_threads;
constexpr instant start_of_time = std::chrono::hours(1);

// Sanitized frames are larger, and do not give way to the coroutine that they transfer to.
#ifdef TRYST_TEST_ASAN
constexpr std::size_t stack_size = std::size_t{1} << 20U;
#else
constexpr std::size_t stack_size = std::size_t{1} << 18U;
#endif

static_assert(step_kinds == detail::step_count);

// Kept from run to run:
std::array<std::unique_ptr<test::fiber>, max_threads> fibers;
std::array<std::uint64_t, step_kinds> all_steps_taken{};
trace_of traced = trace_of::nothing;
std::uint64_t runs = 0;

/// What belongs to one run.
struct world {
    bool on_fiber = false;
    random choose{0};
    pace how;
    std::vector<thread> threads;
    std::vector<thread_id> awake; // in no particular, but a definite order
    thread_id current = 0;
    thread_id next = nobody; // chosen already
    std::uint64_t decisions = 0;
    std::uint64_t turns = 0; // of all threads
    std::int64_t lowest_rank = 0;
    instant time = start_of_time;
    std::int64_t turn = 0; // accesses in this turn, gone and to go
    std::int64_t until_choice = 0; // as inside::until_decision, if each access is printed
    std::uint64_t steps = 0; // before this turn
    std::uint64_t step_limit = 0;
    std::uint64_t digest = 0;
    std::string failure;
    bool over = false;
    int by_the_test = 0; // scopes of `undisturbed`
    std::function<std::string()> check;
};
world w;

void mix(std::uint64_t value) noexcept {
    w.digest = (w.digest ^ value) * 0x9E3779B97F4A7C15U;
    w.digest ^= w.digest >> 29U;
}

// ---- Turns and steps.

std::uint64_t steps_so_far() noexcept {
    return w.steps + static_cast<std::uint64_t>(w.turn - inside::until_decision);
}

/// Counts the steps of a turn, and begins one of this length.
void set_turn(std::int64_t length) noexcept {
    w.steps = steps_so_far();
    w.turn = inside::until_decision = length;
}

void new_turn() noexcept {
    w.until_choice = static_cast<std::int64_t>(w.choose.between(1, 2 * w.how.mean_turn - 1));
    set_turn(traced == trace_of::accesses ? 1 : w.until_choice);
}

// ---- The trace.

void print_prefix() noexcept {
    const auto time = static_cast<double>((w.time - start_of_time).count()) / 1e6;
    std::printf("%7llu %9.3f ms  %-11s ", static_cast<unsigned long long>(steps_so_far()), time,
                w.on_fiber ? w.threads[w.current].name.c_str() : "");
}

void print_access(const char* what, const std::source_location& where) noexcept {
    const std::string_view path = where.file_name();
    const std::string_view file = path.substr(path.rfind('/') + 1);
    print_prefix();
    std::printf("    %s at %.*s:%u\n", what, static_cast<int>(file.size()), file.data(),
                static_cast<unsigned>(where.line()));
}

void print_note(const char* text, const std::array<long, 3>& numbers) noexcept {
    print_prefix();
    auto number = numbers.begin();
    for (; *text != '\0'; ++text) {
        if (text[0] == '{' && text[1] == '}') {
            std::printf("%ld", *number++);
            ++text;
        } else {
            std::putchar(*text);
        }
    }
    std::putchar('\n');
}

// ---- Sleeping and waking.

void set_awake(thread_id id) noexcept {
    thread& t = w.threads[id];
    t.now = state::awake;
    t.address = nullptr;
    t.deadline = no_deadline;
    w.awake.push_back(id); // reserved
}

/// The current thread does not go on, for this reason, until another thread wakes it.
void put_to_sleep(state why) noexcept {
    w.threads[w.current].now = why;
    w.awake.erase(std::ranges::find(w.awake, w.current));
}

instant next_deadline() noexcept {
    instant next = no_deadline;
    for (const thread& t : w.threads) {
        next = t.now == state::asleep ? std::min(next, t.deadline) : next;
    }
    return next;
}

void wake_those_who_are_due() noexcept {
    for (thread_id id = 0; id != w.threads.size(); ++id) {
        if (w.threads[id].now == state::asleep && w.threads[id].deadline <= w.time) {
            set_awake(id);
        }
    }
}

/// Lets time pass to the next deadline, and sometimes a little longer.
void advance_to_next_deadline() noexcept {
    const instant next = next_deadline();
    if (next == no_deadline) {
        return;
    }
    w.time = std::max(w.time, next);
    if (w.choose.one_in(4)) {
        w.time += instant(w.choose.below(2'000'000));
    }
    note("time passes");
    wake_those_who_are_due();
}

template <class Eligible>
void wake_one_of_those_who_sleep(Eligible eligible) noexcept {
    std::array<thread_id, max_threads> found{};
    std::size_t count = 0;
    for (thread_id id = 0; id != w.threads.size(); ++id) {
        if (w.threads[id].now == state::asleep && eligible(w.threads[id])) {
            found[count++] = id;
        }
    }
    if (count != 0) {
        set_awake(found[count == 1 ? 0 : w.choose.below(count)]);
    }
}

// ---- Choosing the next thread.

/// Precondition: a thread is awake.
thread_id choose_thread() noexcept {
    ++w.decisions;
    if (w.how.turns == pace::policy::ranked) {
        return *std::ranges::max_element(w.awake, {},
                                         [](thread_id id) { return w.threads[id].rank; });
    }
    thread_id chosen = nobody;
    for (int tries = 4; tries != 0; --tries) {
        chosen = w.awake[w.choose.below(w.awake.size())];
        if (w.threads[chosen].held_up_until <= w.decisions) {
            break;
        }
    }
    return chosen;
}

/// Lets other threads run first for a while.
void hold_up(thread& t) noexcept {
    t.rank = --w.lowest_rank;
    t.held_up_until = w.decisions + w.choose.between(1, 200);
}

/// Lets `w.next` run instead; or a thread that `run_all_threads` chooses, if that is `nobody`.
void leave() noexcept {
    set_turn(0);
    fibers[w.current]->leave();
}

void let_other_run() noexcept {
    w.next = choose_thread();
    if (w.next == w.current) {
        w.next = nobody;
        new_turn();
    } else {
        leave();
    }
}

void spend_step() noexcept {
    if (++w.steps > w.step_limit) {
        fail("this does not end");
    }
}

void set_failure(std::string_view what) {
    const memory::outside real;
    w.failure.assign(what.data(), what.size());
    w.over = true;
}

/// All threads sleep: lets time pass, or wakes the play.
void wake_somebody() {
    wake_those_who_are_due(); // looks at the clock take time, too
    if (!w.awake.empty()) {
        return;
    }
    if (w.check) {
        const undisturbed eyes;
        const std::string wrong = w.check();
        if (!wrong.empty()) {
            set_failure(wrong);
            return;
        }
    }
    if (next_deadline() != no_deadline) {
        advance_to_next_deadline();
        return;
    }
    for (thread_id id = 0; id != w.threads.size(); ++id) {
        if (w.threads[id].now == state::quiet) {
            set_awake(id);
            return;
        }
    }
    const memory::outside real;
    std::string names;
    for (const thread& t : w.threads) {
        if (t.now != state::ended) {
            names += (names.empty() ? "" : ", ") + t.name;
        }
    }
    set_failure("a deadlock: no thread is left to wake " + names);
}

void run_thread(void* argument) {
    const auto id = reinterpret_cast<thread_id>(argument);
    w.threads[id].body();
    note("ends");
    set_turn(forever);
    put_to_sleep(state::ended);
    for (thread_id other = 0; other != w.threads.size(); ++other) {
        if (w.threads[other].now == state::joining && w.threads[other].joined == id) {
            set_awake(other);
        }
    }
    w.over = w.over || id == 0;
}

void run_all_threads() {
    while (!w.over) {
        if (w.next == nobody && w.awake.empty()) {
            wake_somebody();
            continue;
        }
        const thread_id next = w.next == nobody ? choose_thread() : w.next;
        w.next = nobody;
        w.current = next;
        ++w.turns;
        new_turn();
        mix(next);
        mix(w.steps);
        w.on_fiber = true;
        fibers[next]->enter();
        w.on_fiber = false;
        set_turn(0);
    }
}

} // namespace

// ---- Runs.

verdict run(const random& choices, const pace& how, const std::function<void()>& play,
            std::uint64_t step_limit) {
    ++runs;
    w = {};
    w.choose = choices;
    w.how = how;
    w.step_limit = step_limit;
    w.threads.reserve(max_threads);
    w.awake.reserve(max_threads);
    inside::until_decision = 0;
    memory::begin(how.addresses);
    start("main", play);
    run_all_threads();
    w.turn = inside::until_decision = forever;
    w.check = nullptr;
    for (thread& t : w.threads) {
        t.body = nullptr; // which may have memory of the run
    }
    const memory::loss lost = memory::end();
    if (w.failure.empty()) {
        for (const thread& t : w.threads) {
            if (t.now != state::ended) {
                w.failure = "the play ended before " + t.name;
            }
        }
    }
    if (w.failure.empty() && lost.blocks != 0) {
        w.failure = std::to_string(lost.blocks) +
                    " blocks of memory were not freed, one of about " + std::to_string(lost.size) +
                    " bytes";
    }
    if (w.failure.empty() && lost.written) {
        w.failure = "memory was written after it was freed";
    }
    return {w.failure, w.digest, w.steps};
}

thread_id start(std::string name, std::function<void()> body) {
    const memory::outside real;
    const thread_id id = w.threads.size();
    if (id == max_threads) {
        std::fputs("sim: too many threads\n", stderr);
        std::abort();
    }
    thread& t = w.threads.emplace_back();
    t.name.assign(name.data(), name.size());
    t.body = std::move(body);
    t.rank = static_cast<std::int64_t>(w.choose.below(1U << 20U));
    if (fibers[id] == nullptr) {
        fibers[id] = std::make_unique<test::fiber>(stack_size);
    }
    fibers[id]->prepare(run_thread, reinterpret_cast<void*>(id));
    set_awake(id);
    return id;
}

void join(thread_id other) {
    access("join", std::source_location::current());
    if (w.threads[other].now != state::ended) {
        w.threads[w.current].joined = other;
        put_to_sleep(state::joining);
        leave();
    }
}

bool has_ended(thread_id other) noexcept {
    return w.threads[other].now == state::ended;
}

void until_quiet() {
    put_to_sleep(state::quiet);
    leave();
}

void when_all_sleep(std::function<std::string()> check) {
    const memory::outside real;
    w.check = std::move(check);
}

void tell_when_waiting(bool* flag) noexcept {
    w.threads[w.current].waiting = flag;
}

void fail(std::string_view what) {
    if (!w.on_fiber) {
        std::fprintf(stderr, "sim: %.*s\n", static_cast<int>(what.size()), what.data());
        std::abort();
    }
    set_failure(what);
    note("FAILS");
    leave();
    std::abort(); // never reached: this thread is not entered again
}

random& choices() noexcept {
    return w.choose;
}

// ---- For the platform.

thread_id current_thread() noexcept {
    return w.current;
}

std::uint64_t turns() noexcept {
    return w.turns;
}

std::uint64_t run_number() noexcept {
    return runs;
}

instant now() noexcept {
    return w.time;
}

instant look_at_clock() noexcept {
    access("look at the clock", std::source_location::current());
    return w.time += w.how.tick;
}

unsigned processors() noexcept {
    return w.how.processors;
}

namespace {
void is_waiting() noexcept {
    if (bool* const flag = w.threads[w.current].waiting) {
        *flag = true;
    }
}
} // namespace

void pause(const std::source_location& where) noexcept {
    access("pause", where);
}

void yield_waiting() noexcept {
    if (w.on_fiber) {
        is_waiting();
    }
    yield();
}

void yield() noexcept {
    if (!w.on_fiber) {
        return;
    }
    set_turn(0);
    spend_step();
    w.threads[w.current].rank = --w.lowest_rank;
    if (w.awake.size() == 1) {
        // It waits for a thread that sleeps.
        advance_to_next_deadline();
    }
    let_other_run();
}

void sleep(const void* address, instant deadline) noexcept {
    is_waiting();
    if (w.time >= deadline || (w.how.spurious != 0 && w.choose.one_in(w.how.spurious))) {
        return;
    }
    thread& t = w.threads[w.current];
    t.address = address;
    t.deadline = deadline;
    note("sleeps");
    put_to_sleep(state::asleep);
    leave();
}

void wake(const void* address) noexcept {
    wake_one_of_those_who_sleep([=](const thread& t) { return t.address == address; });
}

void linger() noexcept {
    if (w.on_fiber && w.how.dwell != 0 && w.choose.one_in(w.how.dwell)) {
        set_turn(0);
        hold_up(w.threads[w.current]);
        let_other_run();
    }
}

void step_taken(unsigned step) noexcept {
    if (w.by_the_test != 0) {
        return;
    }
    ++all_steps_taken[step];
    if (!w.on_fiber) {
        return;
    }
    if (traced != trace_of::nothing) {
        print_prefix();
        std::printf("  %s\n", test::step_names[step].data());
    }
    mix(step);
    linger();
}

std::uint64_t times_taken(unsigned step) noexcept {
    return all_steps_taken[step];
}

// ---- The trace.

void note(sentence what, long a, long b, long c) noexcept {
    mix(what.hash);
    mix(static_cast<std::uint64_t>(a));
    mix(static_cast<std::uint64_t>(b));
    mix(static_cast<std::uint64_t>(c));
    if (traced != trace_of::nothing) {
        print_note(what.text, {a, b, c});
    }
}

void set_trace(trace_of what) noexcept {
    traced = what;
}

// ---- Accesses.

void inside::decide(const char* what, const std::source_location& where) noexcept {
    if (traced == trace_of::accesses) {
        print_access(what, where);
        if (--w.until_choice > 0) {
            set_turn(1);
            return;
        }
    }
    set_turn(0);
    if (w.steps > w.step_limit) {
        fail("this does not end");
    }
    if (w.how.spurious != 0 && w.choose.one_in(w.how.spurious)) {
        wake_one_of_those_who_sleep([](const thread&) { return true; });
    }
    if (w.how.drift != 0 && w.choose.one_in(w.how.drift)) {
        advance_to_next_deadline();
    }
    if (w.how.turns != pace::policy::fair && w.choose.one_in(16)) {
        hold_up(w.threads[w.current]);
    }
    let_other_run();
}

undisturbed::undisturbed() noexcept : saved_(inside::until_decision) {
    set_turn(forever);
    ++w.by_the_test;
}
undisturbed::~undisturbed() {
    --w.by_the_test;
    inside::until_decision = w.turn; // not counted
    set_turn(saved_);
}

} // namespace tryst::sim
