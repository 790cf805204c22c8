// SPDX-License-Identifier: MIT
#include TRYST_PLATFORM // has a stop_machine

namespace tryst::test {

void stop_source::unlink(stop_callback_base& callback) noexcept {
    (callback.previous_ == nullptr ? first_ : callback.previous_->next_) = callback.next_;
    if (callback.next_ != nullptr) {
        callback.next_->previous_ = callback.previous_;
    }
    callback.registered_ = false;
}

bool stop_source::stop_requested(site where) {
    machine_.use(false, "asks whether a stop is requested", where);
    if (requested_) {
        machine_.learn(request_);
    }
    return requested_;
}

bool stop_source::add(stop_callback_base& callback, site where) {
    machine_.use(true, "registers a stop callback", where);
    if (requested_) {
        machine_.learn(request_);
        return false;
    }
    callback.previous_ = nullptr;
    callback.next_ = std::exchange(first_, &callback);
    if (callback.next_ != nullptr) {
        callback.next_->previous_ = &callback;
    }
    callback.registered_ = true;
    callback.known_ = machine_.tell();
    return true;
}

void stop_source::remove(stop_callback_base& callback, site where) {
    machine_.use(true, "unregisters its stop callback", where);
    if (callback.registered_) {
        unlink(callback);
    } else if (requester_ != machine_.current()) {
        if (running_ == &callback) {
            machine_.wait([&] { return running_ != &callback; }, "its stop callback has returned",
                          where);
        }
        machine_.learn(returned_);
    } else if (running_ == &callback) {
        running_ = nullptr; // another may get its address while it returns
    }
}

bool stop_source::request_stop(site where) {
    machine_.use(true, "requests the stop", where);
    if (std::exchange(requested_, true)) {
        return false;
    }
    requester_ = machine_.current();
    request_ = machine_.tell();
    while (stop_callback_base* const callback = first_) {
        unlink(*callback);
        running_ = callback;
        machine_.learn(callback->known_);
        machine_.begin_call(callback, sizeof *callback);
        callback->call_(callback); // may end its life
        machine_.use(true, "has called a stop callback", where);
        running_ = nullptr;
        returned_ = machine_.tell();
    }
    return true;
}

} // namespace tryst::test
