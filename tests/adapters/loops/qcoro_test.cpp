// SPDX-License-Identifier: MIT
// Tasks of QCoro and tasks of tryst on one Qt thread, each awaiting what the other library offers.
#include "adapters/loops/host_thread.hpp"
#include "adapters/loops/hosts.hpp"
#include "support/insides.hpp"

#include <tryst/qt.hpp>
#include <tryst/tryst.hpp>

#include <qcoro/qcorotask.h>
#include <qcoro/qcorotimer.h>

#include <gtest/gtest.h>

#include <QtCore/QEventLoop>
#include <QtCore/QTimer>

#include <chrono>
#include <thread>

namespace {

using namespace std::chrono_literals;
using tryst::test::until_someone_waits;

// g++ 12 copies what is awaited in a task of QCoro, whose `await_transform` returns a reference.
// Operations cannot be copied.
#ifdef __clang__

QCoro::Task<int> swap_in_qcoro(tryst::exchanger<int>& ex, int mine, std::thread::id& thread) {
    const auto got = co_await ex.exchange(mine);
    thread = std::this_thread::get_id();
    co_return *got;
}

QCoro::Task<> finish(QEventLoop& loop, tryst::exchanger<int>& ex, int& theirs,
                     std::thread::id& thread) {
    theirs = co_await swap_in_qcoro(ex, 1, thread);
    loop.quit();
}

TEST(QCoroTask, ResumesOnItsThreadInTheScopeOfTheExecutor) {
    tryst::qt::executor on;
    QEventLoop loop;
    tryst::exchanger<int> ex;
    int theirs = 0;
    std::thread::id thread;
    const tryst::executor_scope here(on.executor());
    QTimer::singleShot(0, &loop, [&] { finish(loop, ex, theirs, thread); });
    std::jthread partner([&] {
        until_someone_waits(ex);
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    });
    loop.exec();
    EXPECT_EQ(theirs, 2);
    EXPECT_EQ(thread, std::this_thread::get_id());
}

QCoro::Task<> come_home(QEventLoop& loop, tryst::executor_ref home, tryst::exchanger<int>& ex,
                        int& theirs, std::thread::id& thread) {
    const auto got = co_await ex.exchange(1); // resumes on the partner's thread
    co_await home.schedule();
    thread = std::this_thread::get_id();
    theirs = *got;
    loop.quit();
}

TEST(QCoroTask, MayScheduleItselfOnItsThread) {
    tryst::qt::executor on;
    QEventLoop loop;
    tryst::exchanger<int> ex;
    int theirs = 0;
    std::thread::id thread;
    QTimer::singleShot(0, &loop, [&] { come_home(loop, on.executor(), ex, theirs, thread); });
    std::jthread partner([&] {
        until_someone_waits(ex);
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    });
    loop.exec();
    EXPECT_EQ(theirs, 2);
    EXPECT_EQ(thread, std::this_thread::get_id());
}

#endif

QCoro::Task<int> count_after(std::chrono::milliseconds time) {
    QTimer timer;
    timer.start(time);
    co_await timer;
    co_return 3;
}

tryst::task<> await_qcoro(QEventLoop& loop, tryst::exchanger<int>& ex, int& timers, int& theirs,
                          std::thread::id& thread) {
    QTimer timer;
    timer.start(1ms);
    auto timeout = qCoro(timer).waitForTimeout();
    co_await timeout;
    auto counting = count_after(1ms);
    timers = co_await counting;
    const auto got = co_await ex.exchange(1); // still on its executor
    thread = std::this_thread::get_id();
    theirs = *got;
    loop.quit();
}

TEST(QCoroTask, IsAwaitedByATask) {
    tryst::qt::executor on;
    QEventLoop loop;
    tryst::exchanger<int> ex;
    int timers = 0;
    int theirs = 0;
    std::thread::id thread;
    on.spawn(await_qcoro(loop, ex, timers, theirs, thread));
    std::jthread partner([&] {
        until_someone_waits(ex);
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    });
    loop.exec();
    EXPECT_EQ(timers, 3);
    EXPECT_EQ(theirs, 2);
    EXPECT_EQ(thread, std::this_thread::get_id());
}

} // namespace
