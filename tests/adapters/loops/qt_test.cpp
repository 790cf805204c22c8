// SPDX-License-Identifier: MIT
// What is particular to Qt. Its headers come first, and define keywords such as `slots`.
#include <QtCore/QCoreApplication>
#include <QtCore/QEventLoop>
#include <QtCore/QObject>
#include <QtCore/QString>
#include <QtCore/QStringList>
#include <QtCore/QThread>
#include <QtCore/QTimer>
#include <QtCore/QtGlobal>

#include <tryst/qt.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <optional>
#include <utility>

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
    for (const bool by_object : {false, true}) { // which lives in the thread
        tryst::synchronous_channel<QThread*> channel;
        std::optional<tryst::qt::executor> executor; // destroyed after the thread
        worker other;
        by_object ? executor.emplace(other.object()) : executor.emplace(other.thread());
        executor->spawn(send_thread(channel));
        EXPECT_EQ(*tryst::sync_wait(channel.receive()), other.thread());
    }
}

tryst::task<> quit(tryst::exchanger<int>& ex) {
    const auto got = co_await ex.exchange(1, std::chrono::milliseconds(1));
    EXPECT_EQ(got.error(), tryst::exchange_errc::timed_out);
    QCoreApplication::quit();
}

/// Collects the warnings of Qt.
class warnings {
public:
    warnings() : before_(qInstallMessageHandler(keep)) { kept().clear(); }
    warnings(const warnings&) = delete;
    warnings& operator=(const warnings&) = delete;
    ~warnings() { qInstallMessageHandler(before_); }
    static QStringList& kept() {
        static QStringList all;
        return all;
    }

private:
    static void keep(QtMsgType /*type*/, const QMessageLogContext& /*where*/, const QString& text) {
        kept().append(text);
    }
    QtMessageHandler before_;
};

tryst::task<bool> time_out_after(tryst::synchronous_channel<int>& channel,
                                 std::chrono::nanoseconds patience, std::latch& waits) {
    waits.count_down();
    const auto sent = co_await channel.send(1, patience);
    co_return sent.error() == tryst::exchange_errc::timed_out;
}

/// A thread whose loop has a deadline.
class QtThreadWithDeadline : public testing::Test {
protected:
    ~QtThreadWithDeadline() override { end(); }

    void start_and_wait(std::chrono::nanoseconds patience) {
        std::latch waits(1);
        timed_out.emplace(executor->spawn_future(time_out_after(channel, patience, waits)));
        thread.start();
        waits.wait();
    }
    /// Ends the thread after it has run what was queued before.
    void end() {
        thread.quit();
        thread.wait();
    }

    tryst::synchronous_channel<int> channel;
    QThread thread;
    std::optional<tryst::qt::executor> executor{&thread};
    std::optional<tryst::join_handle<bool>> timed_out;
};

TEST_F(QtThreadWithDeadline, MayFinishBeforeTheExecutorIsDestroyed) {
    const warnings seen;
    start_and_wait(std::chrono::hours(1));
    end();
    executor.reset();
    EXPECT_TRUE(warnings::kept().empty()) << warnings::kept().join("; ").toStdString();
}

TEST_F(QtThreadWithDeadline, MayFinishAndStartAgain) {
    start_and_wait(std::chrono::milliseconds(200));
    end();
    thread.start();
    EXPECT_TRUE(tryst::sync_wait(*std::move(timed_out)));
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
