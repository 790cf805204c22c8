// SPDX-License-Identifier: MIT
#include "model/serial_loop.hpp"

#include "model/checker.hpp"

#include <algorithm>
#include <cstring>

namespace tryst::model {

namespace {

/// Adds to an array with a count.
template <class Array, class Value>
void add(Array& array, std::size_t& count, Value value) {
    if (count == array.size()) {
        the_checker().fail("too much work for one loop of the model");
    }
    array[count++] = value;
}

/// Takes element `i` out, and keeps the others in order.
template <class Array>
auto take(Array& array, std::size_t& count, std::size_t i) {
    const auto value = array[i];
    std::move(array.begin() + i + 1, array.begin() + count, array.begin() + i);
    --count;
    return value;
}

template <class Array, class Value>
std::size_t index_of(const Array& array, std::size_t count, Value value) {
    return static_cast<std::size_t>(std::find(array.begin(), array.begin() + count, value) -
                                    array.begin());
}

} // namespace

serial_loop::serial_loop() noexcept = default;

const executor_vtable serial_loop::vtable{
    .post = [](void* self, executor_node* node) noexcept { loop(self).post(node); },
    .serial = true,
    .running_here =
        [](const void* self) noexcept {
            return current_executor() ==
                   static_cast<serial_loop*>(const_cast<void*>(self))->executor();
        },
    .retract = [](void* self, executor_node* node) noexcept { return loop(self).retract(node); },
    .now = [](const void* /*self*/) noexcept { return detail::clock::now(); },
    .arm = [](void* self, timer_node* node) noexcept { loop(self).arm(node); },
    .disarm = [](void* self, timer_node* node) noexcept { loop(self).disarm(node); }};

void serial_loop::post(executor_node* node) {
    checker& c = the_checker();
    if (current_executor() == executor()) {
        add(ready_, ready_count_, node);
        if (node == running_) {
            c.yield(); // it looks again for what another thread is about to do
        }
        return;
    }
    c.use(mailbox_, true, "posts", site::current());
    add(mail_, mail_count_, mail{node, c.knowledge()});
    c.next_event();
}

void serial_loop::take_mail() {
    checker& c = the_checker();
    for (std::size_t i = 0; i != mail_count_; ++i) {
        const auto block = c.memory().block_of(mail_[i].node);
        if (c.limits().bare_posts && !block.empty()) {
            c.hand_over(block, mail_[i].known);
        } else {
            c.knowledge().join(mail_[i].known);
        }
        add(ready_, ready_count_, mail_[i].node);
    }
    mail_count_ = 0;
}

timer_node* serial_loop::due() const noexcept {
    const auto now = the_checker().os().time();
    for (std::size_t i = 0; i != timer_count_; ++i) {
        if (timers_[i]->deadline.time_since_epoch().count() <= now) {
            return timers_[i];
        }
    }
    return nullptr;
}

void serial_loop::run_next() {
    checker& c = the_checker();
    if (ready_count_ != 0) {
        running_ = take(ready_, ready_count_, 0);
        running_->run(running_);
        running_ = nullptr;
        return;
    }
    c.use_when(
        mailbox_,
        [](void* self) { return loop(self).mail_count_ != 0 || loop(self).due() != nullptr; }, this,
        "takes mail or a timer", site::current());
    timer_node* const timer = due();
    if (timer != nullptr && (mail_count_ == 0 || c.choose(2) != 0)) {
        c.observe(1 + index_of(timers_, timer_count_, timer)); // not mail, and this one of them
        disarm(timer);
        timer->fire(timer);
    } else {
        take_mail();
    }
}

bool serial_loop::retract(executor_node* node) {
    the_checker().use(mailbox_, true, "looks for a node to retract", site::current());
    take_mail();
    const std::size_t i = index_of(ready_, ready_count_, node);
    if (i == ready_count_) {
        return false;
    }
    take(ready_, ready_count_, i);
    return true;
}

void serial_loop::arm(timer_node* node) {
    add(timers_, timer_count_, node);
}

void serial_loop::disarm(timer_node* node) noexcept {
    if (const std::size_t i = index_of(timers_, timer_count_, node); i != timer_count_) {
        take(timers_, timer_count_, i);
    }
}

} // namespace tryst::model
