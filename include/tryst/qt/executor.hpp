// SPDX-License-Identifier: MIT
/// @file
/// Runs tasks of tryst on the event loop of a Qt thread.
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

/// @namespace tryst::qt
/// The adapter for Qt.
namespace tryst::qt {

namespace detail {

/// Receives events that wake its thread. The destructor of `QObject` removes those on their way.
class receiver final : public QObject {
public:
    explicit receiver(loop_turns& turns, QThread* lives_in = QThread::currentThread())
        : turns_(turns) {
        moveToThread(lives_in);
    }
    receiver(loop_turns& turns, const QObject* neighbour) : receiver(turns, neighbour->thread()) {}

    void wake() noexcept { QCoreApplication::postEvent(this, new QEvent(QEvent::User)); }

    void set_timer(std::chrono::nanoseconds after) noexcept {
        const auto whole = std::chrono::ceil<std::chrono::milliseconds>(after).count();
        timer_.start(static_cast<int>(whole), Qt::PreciseTimer, this);
    }
    void cancel_timer() noexcept { timer_.stop(); }

private:
    bool event(QEvent* what) override {
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
};

} // namespace detail

/// Runs tasks of tryst on a thread's Qt event loop: the calling thread's, that of a `QThread*`, or
/// of the thread in which a `QObject*` lives. See `tryst::loop_executor`.
///
/// The tasks wait while the thread's event loop does not run. Destroy the executor on the thread,
/// or when the thread has finished.
///
/// @throws std::bad_alloc. If there is no memory to wake the loop later, the program ends.
/// @allocation one event of Qt for each time that the loop is woken, not for each resumption.
using executor = loop_executor<detail::receiver>;

} // namespace tryst::qt
