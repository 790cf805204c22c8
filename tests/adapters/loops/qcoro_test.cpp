// SPDX-License-Identifier: MIT
// Tasks of QCoro and tasks of tryst on one Qt thread, each awaiting what the other library offers.
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

/// A Qt thread with an executor, whose coroutine swaps 1 for the 2 of another thread.
class QCoroTask : public testing::Test {
protected:
    /// Calls `start`, which starts the coroutine, and runs the loop until that calls `finish`.
    template <class Start>
    void run(Start start) {
        QTimer::singleShot(0, &loop, start);
        std::jthread partner([&] {
            until_someone_waits(ex);
            EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
        });
        loop.exec();
        EXPECT_EQ(theirs, 2);
        EXPECT_EQ(thread, std::this_thread::get_id());
    }
    void finish(int item) {
        theirs = item;
        thread = std::this_thread::get_id();
        loop.quit();
    }

    tryst::qt::executor on;
    QEventLoop loop;
    tryst::exchanger<int> ex;
    int theirs = 0;
    std::thread::id thread;
};

// g++ 12 copies what is awaited in a task of QCoro, whose `await_transform` returns a reference.
// Operations cannot be copied.
#ifdef __clang__

TEST_F(QCoroTask, ResumesOnItsThreadInTheScopeOfTheExecutor) {
    const tryst::executor_scope here(on.executor());
    const auto swap = [&]() -> QCoro::Task<int> {
        const auto got = co_await ex.exchange(1);
        co_return *got;
    };
    const auto swap_and_finish = [&]() -> QCoro::Task<> { finish(co_await swap()); };
    run([&] { swap_and_finish(); });
}

TEST_F(QCoroTask, MayScheduleItselfOnItsThread) {
    const auto come_home = [&]() -> QCoro::Task<> {
        const auto got = co_await ex.exchange(1); // resumes on the partner's thread
        co_await on.executor().schedule();
        finish(*got);
    };
    run([&] { come_home(); });
}

#endif

QCoro::Task<int> count_after(std::chrono::milliseconds time) {
    QTimer timer;
    timer.start(time);
    co_await timer;
    co_return 3;
}

TEST_F(QCoroTask, IsAwaitedByATask) {
    const auto await_qcoro = [&]() -> tryst::task<> {
        QTimer timer;
        timer.start(1ms);
        auto timeout = qCoro(timer).waitForTimeout();
        co_await timeout;
        auto counting = count_after(1ms);
        EXPECT_EQ(co_await counting, 3);
        const auto got = co_await ex.exchange(1); // still on its executor
        finish(*got);
    };
    run([&] { on.spawn(await_qcoro()); });
}

} // namespace
