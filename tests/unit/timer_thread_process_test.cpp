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

#include <tryst/case_set.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>

#include "support/bare_coroutine.hpp"
#include "support/queue_executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <system_error>
#include <thread>
#include <utility>

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

// ---- Processes

constexpr int success = 3; ///< The status of a process that ends as it should.

/// Ends this process unless `holds`. (What EXPECT_EQ says in such a process is not printed.)
void require(bool holds, const char* what) {
    if (!holds) {
        static_cast<void>(std::fprintf(stderr, "%s\n", what));
        std::_Exit(1);
    }
}

int status_of(pid_t child) {
    int status = 0;
    require(::waitpid(child, &status, 0) == child, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Calls `body` in a child. @returns its status.
template <class Body>
int status_after(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        std::exit(success);
    }
    return status_of(child);
}
template <class Body>
void run_in_child(Body body) {
    require(status_after(body) == success, "the child has not ended well");
}

/// A test in a new process, which must exit well. It may return.
#define PROCESS_TEST(suite, name)                                                                  \
    struct suite##name##Process {                                                                  \
        static void run();                                                                         \
    };                                                                                             \
    TEST(suite, name) {                                                                            \
        GTEST_FLAG_SET(death_test_style, "threadsafe");                                            \
        EXPECT_EXIT((suite##name##Process::run(), std::exit(success)),                             \
                    ::testing::ExitedWithCode(success), "");                                       \
    }                                                                                              \
    void suite##name##Process::run()

// ---- Timers

/// Calls a function on the timer thread, at once or later.
template <class Function>
class call : timer_node {
public:
    explicit call(Function function, clock::duration after = {}) : function_(std::move(function)) {
        deadline = clock::now() + after;
        fire = [](timer_node* node) noexcept { static_cast<call&>(*node).function_(); };
        timer_thread::instance().arm(this);
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call() { cancel(); }

    void cancel() { timer_thread::instance().disarm(this); }

private:
    Function function_;
};

/// Hangs if there is no timer thread.
void wait_with_a_deadline() {
    std::latch rung(1);
    const call timer([&rung] { rung.count_down(); });
    rung.wait();
}

std::atomic<long> waits_on_other_threads{0};

void begin_waits_on_other_threads() {
    for (int i = 0; i != 2; ++i) {
        std::thread([] {
            while (true) {
                wait_with_a_deadline();
                ++waits_on_other_threads;
            }
        }).detach();
    }
}

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

PROCESS_TEST(TimerThreadExit, LetsStaticDestructorsWaitEvenTheLast) {
    static const waits_in_its_destructor first;
    very_last = [] { // the thread has ended
        wait_with_a_deadline();
        wait_with_a_deadline();
        std::_Exit(success);
    };
    wait_with_a_deadline();
    std::exit(4);
}

PROCESS_TEST(TimerThreadExit, MayStartTheThread) {
    static const waits_in_its_destructor only;
}

PROCESS_TEST(TimerThreadExit, MayBeCalledOnTheThreadBeforeAStaticDestructorWaits) {
    static const waits_in_its_destructor first;
    const call exit([] { std::exit(success); });
    std::latch(1).wait();
}

PROCESS_TEST(TimerThreadExit, WaitsForAFireInProgress) {
    static std::latch entered(1);
    static std::latch go_on(1);
    static std::atomic<bool> finished{false};
    very_last = [] { std::_Exit(finished ? success : 4); };
    const call slow([] {
        entered.count_down();
        go_on.wait();
        finished = true;
    });
    entered.wait();
    (void)std::atexit([] { go_on.count_down(); });
    std::exit(5);
}

PROCESS_TEST(TimerThreadExit, EndsThoughADeadlineIsAlwaysDue) {
    static std::atomic<bool> fired{false};
    static timer_node always;
    always.fire = [](timer_node* node) noexcept {
        fired = true;
        fired.notify_all();
        timer_thread::instance().arm(node);
    };
    timer_thread::instance().arm(&always);
    fired.wait(false);
}

PROCESS_TEST(TimerThreadExit, EndsThoughOtherThreadsBeginWaitsAndServesThem) {
    very_last = [] {
        wait_with_a_deadline(); // what was armed when the thread ended waits for the next arm
        const long before = waits_on_other_threads;
        while (waits_on_other_threads < before + 10) {
            std::this_thread::yield();
        }
        std::_Exit(success);
    };
    begin_waits_on_other_threads();
    wait_with_a_deadline();
    std::exit(4);
}

// ---- fork

PROCESS_TEST(TimerThreadFork, ServesTheDeadlinesOfAChildAndAGrandchild) {
    wait_with_a_deadline();
    run_in_child([] {
        wait_with_a_deadline();
        run_in_child([] {
            wait_with_a_deadline();
            run_in_child([] {}); // which does not wait
        });
    });
    wait_with_a_deadline();
}

PROCESS_TEST(TimerThreadFork, ServesBothIfTheParentHasNeverWaited) {
    run_in_child(wait_with_a_deadline);
    wait_with_a_deadline();
}

PROCESS_TEST(TimerThreadFork, DoesNotPassOnTheTimersOfTheParentButTheChildMayDisarmThem) {
    constexpr int too_late = 4;
    int status = too_late;
    for (auto patience = 10ms; status == too_late; patience *= 2) {
        std::latch rung(1);
        call first([&rung] { rung.count_down(); }, patience);
        call last([] {}, 24h);
        status = status_after([&] {
            if (rung.try_wait()) { // before the fork
                std::exit(too_late);
            }
            std::latch later(1);
            const call own([&later] { later.count_down(); }, patience + 1ms);
            later.wait();
            require(!rung.try_wait(), "a timer of the parent has fired in the child");
            first.cancel();
            last.cancel();
            wait_with_a_deadline();
        });
        rung.wait();
    }
    require(status == success, "the child has not ended well");
}

PROCESS_TEST(TimerThreadFork, MayComeDuringAFire) {
    std::latch entered(1);
    std::latch go_on(1);
    call slow([&] {
        entered.count_down();
        go_on.wait();
    });
    entered.wait();
    run_in_child([&] {
        slow.cancel(); // its function never returns here
        wait_with_a_deadline();
    });
    go_on.count_down();
}

PROCESS_TEST(TimerThreadFork, MayBeCalledOnTheThread) {
    static std::atomic<pid_t> child{0};
    const call fork([] {
        const pid_t forked = ::fork();
        if (forked == 0) {
            // Not `exit`: to LeakSanitizer, what the other threads own is lost.
            static const call next([] { std::_Exit(success); });
            return;
        }
        child = forked;
        child.notify_all();
    });
    child.wait(0);
    wait_with_a_deadline();
    require(status_of(child) == success, "the child has not ended well");
}

PROCESS_TEST(TimerThreadFork, MayComeWhileOtherThreadsBeginWaits) {
    begin_waits_on_other_threads();
    for (int i = 0; i != 20; ++i) {
        wait_with_a_deadline();
        const pid_t child = ::fork();
        if (child == 0) {
            wait_with_a_deadline();
            std::_Exit(success);
        }
        require(status_of(child) == success, "the child has not ended well");
    }
    std::_Exit(success);
}

// ---- signals

sigset_t mask_here() {
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return mask;
}

void check_masks() {
    const sigset_t before = mask_here();
    sigset_t there;
    std::latch done(1);
    const call look([&] {
        there = mask_here();
        done.count_down();
    });
    done.wait();
    const sigset_t after = mask_here();
    for (int number = 1; number != SIGRTMAX; ++number) {
        require(::sigismember(&before, number) == ::sigismember(&after, number),
                "the thread that starts it blocks other signals than before");
    }
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM, SIGPIPE, SIGPROF,
                             SIGABRT, SIGRTMIN, SIGRTMAX}) {
        require(::sigismember(&there, number) == 1, "it takes a signal from the program");
    }
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
        require(::sigismember(&there, fault) == 0, "it blocks a fault");
    }
}

PROCESS_TEST(TimerThreadSignals, AreBlockedThereExceptFaultsAndNotInTheThreadThatStartsIt) {
    check_masks();
    run_in_child(check_masks);
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

detached_coroutine exchange(exchanger<int>& ex, int item, outcome& end) {
    const auto got = co_await ex.exchange(item);
    end.note(got);
}
detached_coroutine exchange_in_time(exchanger<int>& ex, int item, outcome& end) {
    const auto got = co_await ex.exchange(item, 1h);
    end.note(got);
}
detached_coroutine select_in_time(exchanger<int>& ex, int item, outcome& end) {
    const auto got = co_await select(ex.exchange(item), 1h);
    end.note(got.get<0>());
}

PROCESS_TEST(TimerThreadFailure, GivesAnItemBackUnlessAPartnerWaitsAndDoesNotLast) {
    exchanger<int> ex;
    for (auto* const wait : {exchange_in_time, select_in_time}) {
        for (const bool on_executor : {false, true}) {
            const no_more_threads none;
            queue_executor queue; // which has no timers
            const executor_scope here(on_executor ? queue.ref() : executor_ref());
            const auto run_all = [&queue] {
                while (queue.size() != 0) {
                    queue.run_one();
                }
            };
            outcome alone;
            wait(ex, 7, alone);
            run_all();
            require(alone.error == exchange_errc::out_of_memory && alone.item == 7,
                    "the item was not given back");
            require(!ex.try_exchange(1), "the item was offered");
            outcome first;
            outcome second;
            exchange(ex, 1, first);
            wait(ex, 2, second);
            run_all();
            require(!first.error && first.item == 2 && second.item == 1,
                    "a partner that waits is not met");
        }
    }
    outcome later;
    exchange_in_time(ex, 1, later);
    require(ex.try_exchange(2) == 1 && later.item == 2, "the failure lasts");
    wait_with_a_deadline();
}

PROCESS_TEST(TimerThreadFailure, DoesNotMatterToAnExecutorWithTimers) {
    const no_more_threads none;
    exchanger<int> ex;
    run_loop loop;
    require(loop.run(ex.exchange(1, 1ms)).error() == exchange_errc::timed_out, "not timed out");
}

PROCESS_TEST(TimerThreadFailure, DoesNotMatterToAThreadThatServesItsOwnDeadline) {
    const no_more_threads none;
    exchanger<int> ex;
    require(sync_wait(ex.exchange(1, 1ms)).error() == exchange_errc::timed_out, "not timed out");
    require(sync_wait(select(ex.exchange(1), 1ms)).error() == exchange_errc::timed_out,
            "a selection was not timed out");
    case_set<int, exchange_case<exchanger<int>>> set;
    set.add(ex.exchange(1), 1);
    require(sync_wait(set.next(1ms)).error() == exchange_errc::timed_out,
            "a set was not timed out");
}

TEST(TimerThreadFailure, EndsTheProgramInASleep) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            const no_more_threads none;
            wait_with_a_deadline();
        },
        ::testing::KilledBySignal(SIGABRT), "");
}

#endif

} // namespace
} // namespace tryst::test
