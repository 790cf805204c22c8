// SPDX-License-Identifier: MIT
#include "sim/stop_token.hpp"

namespace tryst::sim {

bool stop_state::request_stop() noexcept {
    point("request_stop");
    if (std::exchange(requested_, true)) {
        return false;
    }
    runner_ = current_thread();
    while (entry* const callback = first_) {
        first_ = callback->next;
        if (first_ != nullptr) {
            first_->previous = nullptr;
        }
        callback->registered = false;
        running_ = callback;
        point("stop callback begins");
        callback->call(callback); // may end its life
        point("stop callback returns");
        running_ = nullptr;
    }
    return true;
}

bool stop_state::add(entry& callback) noexcept {
    point("register stop callback");
    if (requested_) {
        return false;
    }
    callback.previous = nullptr;
    callback.next = std::exchange(first_, &callback);
    if (callback.next != nullptr) {
        callback.next->previous = &callback;
    }
    callback.registered = true;
    return true;
}

void stop_state::remove(entry& callback) noexcept {
    point("deregister stop callback");
    if (callback.registered) {
        (callback.previous == nullptr ? first_ : callback.previous->next) = callback.next;
        if (callback.next != nullptr) {
            callback.next->previous = callback.previous;
        }
        callback.registered = false;
    } else if (runner_ != current_thread()) {
        while (running_ == &callback) {
            yield();
        }
    } else if (running_ == &callback) {
        running_ = nullptr; // another may get its address while it returns
    }
}

} // namespace tryst::sim
