// SPDX-License-Identifier: MIT
// The timer thread and its process: exit(3), fork(2), signals.
namespace {
void (*very_last)() = nullptr; // called after the destructors of all other static objects
struct calls_very_last {
    ~calls_very_last() {
        if (very_last != nullptr) {
            very_last();
        }
    }
};
[[gnu::init_priority(101)]] const calls_very_last first_static_object;
} // namespace

#include <tryst/detail/run/timer_thread.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/task.hpp>

#include "support/bare_coroutine.hpp"
#include "support/queue_executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

// The children of these tests have one thread, and start others.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { // NOLINT(bugprone-reserved-identifier)
    return "die_after_fork=0";
}

namespace tryst::test {
namespace {

using detail::clock;
using detail::timer_thread;
using namespace std::chrono_literals;

/// Runs the rest of its caller on the timer thread.
auto to_timer_thread() {
    return sleep_for(1ns);
}

detached_coroutine count_down_on_timer_thread(std::latch& done) {
    const bool passed = co_await to_timer_thread();
    done.count_down(passed ? 1 : 0);
}

/// Waits with a deadline, without an executor. Hangs if there is no timer thread.
void wait_with_a_deadline() {
    std::latch done(1);
    count_down_on_timer_thread(done);
    done.wait();
}

int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Forks a child that runs `body` and exits with the status that it returns.
template <class Body>
int run_in_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::exit(body());
    }
    return status_of(child);
}

void begin_waits_on_other_threads() {
    for (int i = 0; i != 2; ++i) {
        std::thread([] {
            while (true) {
                wait_with_a_deadline();
            }
        }).detach();
    }
}

/// Stays in its `fire` until it is let go.
struct slow_timer : timer_node {
    slow_timer() {
        deadline = clock::now();
        fire = [](timer_node* node) noexcept {
            auto& self = static_cast<slow_timer&>(*node);
            self.entered.count_down();
            self.go_on.wait();
            self.finished = true;
        };
    }
    std::latch entered{1};
    std::latch go_on{1};
    std::atomic<bool> finished{false};
};

/// Each test runs in a new process, and says how that ends.
class process : public ::testing::Test {
protected:
    process() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

using TimerThreadExit = process;
using TimerThreadFork = process;
using TimerThreadSignals = process;

/// A test in a process of its own, which must exit with `status`.
#define PROCESS_TEST(suite, name, status)                                                          \
    struct suite##name##Process {                                                                  \
        static void run();                                                                         \
    };                                                                                             \
    TEST_F(suite, name) {                                                                          \
        EXPECT_EXIT(suite##name##Process::run(), ::testing::ExitedWithCode(status), "");           \
    }                                                                                              \
    void suite##name##Process::run()

// ---- exit

struct waits_in_its_destructor {
    waits_in_its_destructor() = default;
    waits_in_its_destructor(const waits_in_its_destructor&) = delete;
    waits_in_its_destructor& operator=(const waits_in_its_destructor&) = delete;
    ~waits_in_its_destructor() {
        wait_with_a_deadline();
        wait_with_a_deadline();
    }
};

PROCESS_TEST(TimerThreadExit, LetsAStaticDestructorWait, 3) {
    static const waits_in_its_destructor first;
    wait_with_a_deadline(); // starts the thread, which therefore ends before `first`
    static const waits_in_its_destructor last;
    std::exit(3);
}

PROCESS_TEST(TimerThreadExit, LetsTheLastStaticDestructorWait, 4) {
    very_last = [] {
        wait_with_a_deadline();
        wait_with_a_deadline();
        std::_Exit(4);
    };
    wait_with_a_deadline();
    std::exit(3);
}

PROCESS_TEST(TimerThreadExit, MayStartTheThread, 3) {
    static const waits_in_its_destructor only;
    std::exit(3);
}

detached_coroutine exit_on_timer_thread() {
    (void)co_await to_timer_thread();
    std::exit(7);
}

PROCESS_TEST(TimerThreadExit, MayBeCalledOnTheThreadBeforeAStaticDestructorWaits, 7) {
    static const waits_in_its_destructor first;
    exit_on_timer_thread();
    std::latch(1).wait();
}

PROCESS_TEST(TimerThreadExit, WaitsForAFireInProgress, 3) {
    static slow_timer timer;
    very_last = [] { std::_Exit(timer.finished ? 3 : 4); };
    timer_thread::instance().arm(&timer);
    timer.entered.wait();
    (void)std::atexit([] { timer.go_on.count_down(); });
    std::exit(5);
}

detached_coroutine wait_again_and_again(std::atomic<int>& waits) {
    while (const bool passed = co_await to_timer_thread()) { // a name: see docs/compilers.md
        (void)passed;
        ++waits;
        waits.notify_all();
    }
}

PROCESS_TEST(TimerThreadExit, EndsThoughADeadlineIsAlwaysDue, 3) {
    static std::atomic<int> waits{0};
    wait_again_and_again(waits);
    waits.wait(0);
    std::exit(3);
}

PROCESS_TEST(TimerThreadExit, EndsThoughOtherThreadsBeginWaits, 3) {
    begin_waits_on_other_threads();
    wait_with_a_deadline();
    std::exit(3);
}

struct waits_for_another_thread {
    waits_for_another_thread() = default;
    waits_for_another_thread(const waits_for_another_thread&) = delete;
    waits_for_another_thread& operator=(const waits_for_another_thread&) = delete;
    ~waits_for_another_thread() {
        go_on = false;
        other.join();
    }
    std::atomic<bool> go_on{true};
    std::thread other{[this] {
        while (go_on) {
            wait_with_a_deadline();
        }
        for (int i = 0; i != 100; ++i) {
            wait_with_a_deadline();
        }
    }};
};

PROCESS_TEST(TimerThreadExit, ServesTheWaitsOfOtherThreads, 3) {
    static const waits_for_another_thread first;
    wait_with_a_deadline();
    std::exit(3);
}

// ---- fork

PROCESS_TEST(TimerThreadFork, ServesTheDeadlinesOfAChildAndAGrandchild, 3) {
    wait_with_a_deadline();
    std::exit(run_in_child([] {
        wait_with_a_deadline();
        return run_in_child([] {
            wait_with_a_deadline();
            return run_in_child([] { return 3; }); // which does not wait
        });
    }));
}

PROCESS_TEST(TimerThreadFork, ServesBothIfTheParentHasNeverWaited, 3) {
    const int status = run_in_child([] {
        wait_with_a_deadline();
        return 3;
    });
    wait_with_a_deadline();
    std::exit(status);
}

bare_coroutine wait_until(exchanger<int>& ex, clock::time_point deadline, std::atomic<int>& item) {
    auto got = co_await ex.exchange(1, deadline);
    item = got ? *got : -1;
}

detached_coroutine wait_alone_until(exchanger<int>& ex, clock::time_point deadline,
                                    std::atomic<int>& item) {
    auto got = co_await ex.exchange(1, deadline);
    item = got ? *got : -1;
    item.notify_all();
}

int fork_with_a_pending_wait(clock::duration patience) {
    exchanger<int> ex;
    std::atomic<int> item{0};
    const auto deadline = clock::now() + patience;
    wait_alone_until(ex, deadline, item);
    const int status = run_in_child([&] {
        if (item != 0) {
            return 1; // the deadline had passed before the fork
        }
        exchanger<int> other;
        std::atomic<int> others_item{0};
        wait_alone_until(other, deadline + 1ns, others_item);
        others_item.wait(0);
        if (item != 0) {
            return 2;
        }
        return ex.try_exchange(3) && item == 3 ? 3 : 4;
    });
    item.wait(0);
    return status;
}

PROCESS_TEST(TimerThreadFork, DoesNotPassOnTheDeadlinesOfTheParent, 3) {
    int status = 1;
    for (auto patience = 10ms; status == 1; patience *= 2) {
        status = fork_with_a_pending_wait(patience);
    }
    std::exit(status);
}

PROCESS_TEST(TimerThreadFork, LetsTheChildDestroyAWaitOfTheParent, 3) {
    exchanger<int> ex;
    std::atomic<int> item{0};
    std::vector<bare_coroutine> waiting;
    for (int i = 0; i != 3; ++i) {
        waiting.push_back(wait_until(ex, clock::now() + 24h, item));
    }
    std::exit(run_in_child([&] {
        wait_with_a_deadline();
        waiting.clear();
        wait_with_a_deadline();
        return 3;
    }));
}

PROCESS_TEST(TimerThreadFork, MayComeDuringAFire, 3) {
    slow_timer timer;
    timer_thread::instance().arm(&timer);
    timer.entered.wait();
    const int status = run_in_child([&] {
        timer_thread::instance().disarm(&timer); // its `fire` never returns here
        wait_with_a_deadline();
        return 3;
    });
    timer.go_on.count_down();
    timer_thread::instance().disarm(&timer);
    std::exit(status);
}

detached_coroutine fork_on_timer_thread(std::atomic<pid_t>& child) {
    (void)co_await to_timer_thread();
    const pid_t forked = ::fork();
    if (forked == 0) {
        static std::atomic<int> waits{0};
        wait_again_and_again(waits);
        (void)co_await to_timer_thread();
        std::_Exit(7); // not `exit`: to LeakSanitizer, what the other threads own is lost
    }
    child = forked;
    child.notify_all();
}

PROCESS_TEST(TimerThreadFork, MayBeCalledOnTheThread, 7) {
    std::atomic<pid_t> child{0};
    fork_on_timer_thread(child);
    child.wait(0);
    wait_with_a_deadline();
    std::exit(status_of(child));
}

PROCESS_TEST(TimerThreadFork, MayComeWhileOtherThreadsBeginWaits, 3) {
    begin_waits_on_other_threads();
    for (int i = 0; i != 20; ++i) {
        wait_with_a_deadline();
        const pid_t child = ::fork();
        if (child == 0) {
            wait_with_a_deadline();
            std::_Exit(3);
        }
        if (status_of(child) != 3) {
            std::_Exit(4);
        }
    }
    std::_Exit(3);
}

// ---- signals

detached_coroutine get_mask_of_timer_thread(sigset_t& mask, std::latch& done) {
    const auto caller = std::this_thread::get_id();
    while (std::this_thread::get_id() == caller) { // a sleep may be over before it begins
        (void)co_await to_timer_thread();
    }
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    done.count_down();
}

bool blocks_all_but_faults() {
    sigset_t mask;
    std::latch done(1);
    get_mask_of_timer_thread(mask, done);
    done.wait();
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM, SIGPIPE, SIGPROF,
                             SIGABRT, SIGRTMIN, SIGRTMAX}) {
        if (::sigismember(&mask, number) != 1) {
            return false;
        }
    }
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
        if (::sigismember(&mask, fault) != 0) {
            return false;
        }
    }
    return true;
}

PROCESS_TEST(TimerThreadSignals, AreBlockedExceptFaultsAlsoInAChild, 3) {
    const bool blocked = blocks_all_but_faults();
    std::exit(blocked ? run_in_child([] { return blocks_all_but_faults() ? 3 : 5; }) : 4);
}

PROCESS_TEST(TimerThreadSignals, GoToTheProgramThatWaitsForThem, 3) {
    wait_with_a_deadline();
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &term, nullptr);
    ::kill(::getpid(), SIGTERM);
    int got = 0;
    std::exit(::sigwait(&term, &got) == 0 && got == SIGTERM ? 3 : 4);
}

PROCESS_TEST(TimerThreadSignals, AreNotBlockedInTheThreadThatStartsIt, 3) {
    sigset_t before;
    sigset_t after;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
    wait_with_a_deadline();
    ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
    for (int number = 1; number != SIGRTMAX; ++number) {
        if (::sigismember(&before, number) != ::sigismember(&after, number)) {
            std::exit(4);
        }
    }
    std::exit(3);
}

// ---- No thread

#ifdef __GLIBC__

/// Until its end, no thread can be started, because there is no memory for its stack.
class no_more_threads {
public:
    no_more_threads() {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        ::pthread_getattr_default_np(&huge);
        ::pthread_attr_setstacksize(&huge, std::size_t{1} << 56);
        ::pthread_setattr_default_np(&huge);
        ::pthread_attr_destroy(&huge);
    }
    no_more_threads(const no_more_threads&) = delete;
    no_more_threads& operator=(const no_more_threads&) = delete;
    ~no_more_threads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_;
};

struct outcome {
    template <class Result>
    void note(const Result& got) {
        error = got.error();
        item = got ? *got : got.returned();
    }
    std::error_code error;
    int item = 0;
};

detached_coroutine exchange_in_time(exchanger<int>& ex, int item, outcome& end) {
    const auto got = co_await ex.exchange(item, 1h);
    end.note(got);
}

detached_coroutine exchange_before(exchanger<int>& ex, int item, outcome& end) {
    const auto got = co_await ex.exchange(item, clock::now() + 1h);
    end.note(got);
}

detached_coroutine select_in_time(exchanger<int>& ex, int item, outcome& end) {
    const auto got = co_await select(ex.exchange(item), 1h);
    end.note(got.get<0>());
}

detached_coroutine exchange_without_end(exchanger<int>& ex, int item, outcome& end) {
    const auto got = co_await ex.exchange(item);
    end.note(got);
}

/// Calls `check` with each kind of wait, and a function that runs what it has posted.
template <class Check>
int with_each_wait(Check check) {
    for (auto* const wait : {exchange_in_time, exchange_before, select_in_time}) {
        if (const int status = check(wait, [] {})) {
            return status;
        }
        queue_executor queue; // which has no timers
        const executor_scope here(queue.ref());
        const auto run_all = [&] {
            while (queue.size() != 0) {
                queue.run_one();
            }
        };
        if (const int status = check(wait, run_all)) {
            return status + 10;
        }
    }
    return 3;
}

using TimerThreadFailure = process;

PROCESS_TEST(TimerThreadFailure, GivesAnItemBackBeforeItIsOffered, 3) {
    const no_more_threads here;
    std::exit(with_each_wait([](auto wait, auto run) {
        exchanger<int> ex;
        outcome end;
        wait(ex, 7, end);
        run();
        if (end.error != exchange_errc::out_of_memory || end.item != 7) {
            return 4;
        }
        return ex.try_exchange(1) ? 5 : 0;
    }));
}

PROCESS_TEST(TimerThreadFailure, DoesNotMatterIfAPartnerWaits, 3) {
    const no_more_threads here;
    std::exit(with_each_wait([](auto wait, auto run) {
        exchanger<int> ex;
        outcome one;
        outcome two;
        exchange_without_end(ex, 1, one);
        wait(ex, 2, two);
        run();
        return one.error || two.error || one.item != 2 || two.item != 1 ? 4 : 0;
    }));
}

PROCESS_TEST(TimerThreadFailure, DoesNotLast, 3) {
    exchanger<int> ex;
    outcome first;
    outcome second;
    {
        const no_more_threads here;
        exchange_in_time(ex, 1, first);
    }
    exchange_in_time(ex, 2, second);
    wait_with_a_deadline();
    const auto got = ex.try_exchange(3);
    std::exit(first.error && got && *got == 2 && !second.error ? 3 : 4);
}

PROCESS_TEST(TimerThreadFailure, DoesNotMatterToAnExecutorWithTimers, 3) {
    const no_more_threads here;
    exchanger<int> ex;
    run_loop loop;
    std::error_code error;
    const auto wait = [](exchanger<int>& alone, std::error_code& how) -> task<> {
        const auto got = co_await alone.exchange(1, 1ms);
        how = got.error();
    };
    loop.run(wait(ex, error));
    std::exit(error == exchange_errc::timed_out ? 3 : 4);
}

TEST_F(TimerThreadFailure, EndsTheProgramInASleep) {
    EXPECT_EXIT(
        {
            const no_more_threads here;
            std::latch done(1);
            count_down_on_timer_thread(done);
        },
        ::testing::KilledBySignal(SIGABRT), "");
}

#endif

} // namespace
} // namespace tryst::test
