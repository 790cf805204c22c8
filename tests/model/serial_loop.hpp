// SPDX-License-Identifier: MIT
/// @file
/// A loop without atomics of its own: an executor of which a scene can say how much its posts
/// order.
#pragma once

#include "model/shared_object.hpp"

#include <tryst/executor.hpp>

#include <array>
#include <cstddef>

namespace tryst::model {

/* What run_loop is, reduced to the contract of executor_vtable: work posted on the loop is local,
 * work from elsewhere a step, timers fire when the model's time has come.
 *
 * With `bounds::bare_posts` a post orders the memory of the frame that it resumes, which changes
 * hands with its atomics, and nothing else: what a party learns of the exchanger and of other
 * memory it must learn from the protocol's own atomics. */
class serial_loop {
public:
    /// Not inline, so that it is not instrumented: a world's loops have 10,000 bytes.
    serial_loop() noexcept;
    serial_loop(const serial_loop&) = delete;
    serial_loop& operator=(const serial_loop&) = delete;

    executor_ref executor() noexcept { return {this, &vtable}; }

    /// Calls `start`, then runs what is posted until all work that `start` declared has ended. On a
    /// model thread, which is the loop's from then on.
    template <class Start>
    void run(Start start) {
        const executor_scope here(executor());
        start();
        while (work_ != 0) {
            run_next();
        }
    }

    void begin_work() noexcept { ++work_; }
    void end_work() noexcept { --work_; }

private:
    struct mail {
        executor_node* node;
        view known; // by the poster
    };

    static serial_loop& loop(void* self) noexcept { return *static_cast<serial_loop*>(self); }

    void post(executor_node* node);
    bool retract(executor_node* node);
    void arm(timer_node* node);
    void disarm(timer_node* node) noexcept;
    timer_node* due() const noexcept;
    void run_next();
    void take_mail();

    static const executor_vtable vtable;

    shared_object mailbox_;
    std::size_t mail_count_ = 0;
    std::array<mail, 8> mail_{};
    std::size_t ready_count_ = 0;
    std::array<executor_node*, 8> ready_{};
    std::size_t timer_count_ = 0;
    std::array<timer_node*, 4> timers_{};
    std::size_t work_ = 0;
    executor_node* running_ = nullptr;
};

} // namespace tryst::model
