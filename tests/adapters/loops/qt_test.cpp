// SPDX-License-Identifier: MIT
// What is particular to Qt. Its headers come first, and define keywords such as `slots`.
#include <QtCore/QCoreApplication>
#include <QtCore/QEventLoop>
#include <QtCore/QObject>
#include <QtCore/QThread>
#include <QtCore/QTimer>

#include <tryst/qt.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace {

/// A thread with an event loop, as most programs have them.
class worker {
public:
    worker() {
        object_.moveToThread(&thread_);
        thread_.start();
    }
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() {
        thread_.quit();
        thread_.wait();
    }
    QThread* thread() noexcept { return &thread_; }
    const QObject* object() const noexcept { return &object_; }

private:
    QThread thread_;
    QObject object_;
};

tryst::task<> send_thread(tryst::synchronous_channel<QThread*>& channel) {
    const auto sent = co_await channel.send(QThread::currentThread());
    EXPECT_TRUE(sent);
}

TEST(QtThread, RunsTheTasksOfAnExecutorThatAnotherThreadMade) {
    tryst::synchronous_channel<QThread*> channel;
    std::optional<tryst::qt::executor> executor; // destroyed after the thread
    worker other;
    executor.emplace(other.thread());
    executor->spawn(send_thread(channel));
    EXPECT_EQ(*tryst::sync_wait(channel.receive()), other.thread());
}

TEST(QtThread, IsThatInWhichAnObjectLives) {
    tryst::synchronous_channel<QThread*> channel;
    std::optional<tryst::qt::executor> executor;
    worker other;
    executor.emplace(other.object());
    executor->spawn(send_thread(channel));
    EXPECT_EQ(*tryst::sync_wait(channel.receive()), other.thread());
}

tryst::task<> quit(tryst::exchanger<int>& ex) {
    const auto got = co_await ex.exchange_for(1, std::chrono::milliseconds(1));
    EXPECT_EQ(got.error(), tryst::exchange_errc::timed_out);
    QCoreApplication::quit();
}

TEST(QtThread, MayBeTheMainThread) {
    tryst::qt::executor executor;
    tryst::exchanger<int> ex;
    for (int run = 0; run != 2; ++run) {
        QTimer::singleShot(0, [&] { executor.spawn(quit(ex)); });
        EXPECT_EQ(QCoreApplication::exec(), 0);
    }
}

} // namespace
