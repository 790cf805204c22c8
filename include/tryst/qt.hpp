// SPDX-License-Identifier: MIT
/// @file
/// Runs tasks of tryst on the event loop of a Qt thread (target `tryst::qt`).
/// Qt.
#pragma once

#include <tryst/loop_executor.hpp>

#include <QtCore/QBasicTimer>
#include <QtCore/QCoreApplication>
#include <QtCore/QEvent>
#include <QtCore/QObject>
#include <QtCore/QThread>
#include <QtCore/Qt>

#include <chrono>

#if defined(__SANITIZE_THREAD__)
#define TRYST_QT_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRYST_QT_TSAN
#endif
#endif
#ifdef TRYST_QT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/// @namespace tryst::qt
/// The adapter for Qt.
namespace tryst::qt {

namespace detail {

// Qt is rarely instrumented: ThreadSanitizer does not see that the mutex of a thread's event
// queue orders a post before the event.
inline void before_post([[maybe_unused]] void* receiver) noexcept {
#ifdef TRYST_QT_TSAN
    __tsan_release(receiver);
#endif
}
inline void in_event([[maybe_unused]] void* receiver) noexcept {
#ifdef TRYST_QT_TSAN
    __tsan_acquire(receiver);
#endif
}

/// Receives events that wake its thread. The destructor of `QObject` removes those on their way.
class receiver : public QObject {
public:
    explicit receiver(loop_turns& turns, QThread* lives_in = QThread::currentThread())
        : turns_(turns) {
        moveToThread(lives_in);
        // A thread's timers end with it. It may start again, and then has to call us.
        connect(
            lives_in, &QThread::finished, this,
            [this] {
                lost_timer_ = timer_.isActive();
                timer_.stop();
            },
            Qt::DirectConnection);
        connect(
            lives_in, &QThread::started, this,
            [this] {
                if (lost_timer_) {
                    set_timer(std::chrono::nanoseconds(0));
                }
            },
            Qt::DirectConnection);
    }
    receiver(loop_turns& turns, const QObject* neighbour) : receiver(turns, neighbour->thread()) {}

    void wake() noexcept {
        auto* const event = new QEvent(QEvent::User);
        before_post(this);
        QCoreApplication::postEvent(this, event);
    }

    void set_timer(std::chrono::nanoseconds after) noexcept {
        const auto whole = std::chrono::ceil<std::chrono::milliseconds>(after).count();
        timer_.start(static_cast<int>(whole), Qt::PreciseTimer, this);
    }
    void cancel_timer() noexcept { timer_.stop(); }

private:
    bool event(QEvent* what) override {
        in_event(this);
        switch (what->type()) {
        case QEvent::User:
            turns_.run_turn();
            return true;
        case QEvent::Timer:
            timer_.stop(); // before the call, which may start it again
            turns_.timer_expired();
            return true;
        default:
            return QObject::event(what);
        }
    }

    loop_turns& turns_;
    QBasicTimer timer_;
    bool lost_timer_ = false; ///< Whether it was set when the thread finished.
};

} // namespace detail

/// Runs tasks of tryst on a thread's Qt event loop: the calling thread's, that of a `QThread*`, or
/// of the thread in which a `QObject*` lives. See `tryst::loop_executor`. The tasks wait while that
/// event loop does not run. Destroy the executor on the thread, or when the thread has finished.
///
/// @throws std::bad_alloc. If there is no memory to wake the loop later, the program ends.
/// @allocation one event of Qt for each time that the loop is woken, not for each resumption.
using executor = loop_executor<detail::receiver>;

} // namespace tryst::qt
