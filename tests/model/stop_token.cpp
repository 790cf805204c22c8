// SPDX-License-Identifier: MIT
#include "model/stop_token.hpp"

#include <algorithm>

namespace tryst::model {

bool stop_source::stop_requested(site where) {
    checker& c = the_checker();
    c.use(object_, false, "asks whether a stop is requested", where);
    if (requested_) {
        c.knowledge().join(request_);
    }
    return requested_;
}

bool stop_source::add(stop_callback_base* callback, site where) {
    checker& c = the_checker();
    c.use(object_, true, "registers a stop callback", where);
    if (requested_) {
        c.knowledge().join(request_);
        return false;
    }
    if (count_ == callbacks_.size()) {
        c.fail("too many stop callbacks");
    }
    callbacks_[count_++] = {callback, c.knowledge()};
    c.next_event();
    return true;
}

void stop_source::remove(stop_callback_base* callback, site where) {
    checker& c = the_checker();
    c.use(object_, true, "unregisters its stop callback", where);
    auto* const end = callbacks_.begin() + count_;
    auto* const found = std::find_if(callbacks_.begin(), end,
                                     [&](const auto& each) { return each.callback == callback; });
    if (found != end) {
        std::move(found + 1, end, found);
        --count_;
        return;
    }
    if (running_ == callback && requester_ != c.current()) {
        struct wait {
            stop_source& source;
            stop_callback_base* callback;
        } waiting{*this, callback};
        c.use_when(
            object_,
            [](void* context) {
                const auto& w = *static_cast<wait*>(context);
                return w.source.running_ != w.callback;
            },
            &waiting, "its stop callback has returned", where);
    }
    if (requester_ != c.current()) {
        c.knowledge().join(object_.held);
    }
}

bool stop_source::request_stop(site where) {
    checker& c = the_checker();
    c.use(object_, true, "requests the stop", where);
    if (requested_) {
        return false;
    }
    requested_ = true;
    requester_ = c.current();
    request_ = c.knowledge();
    c.next_event();
    while (count_ != 0) {
        const registration next = callbacks_[0];
        std::move(callbacks_.begin() + 1, callbacks_.begin() + count_, callbacks_.begin());
        --count_;
        running_ = next.callback;
        c.knowledge().join(next.known);
        c.enter(access::read, next.callback, sizeof *next.callback);
        next.callback->call_(next.callback);
        c.use(object_, true, "has called a stop callback", where);
        running_ = nullptr;
        object_.held = c.knowledge();
        c.next_event();
    }
    return true;
}

} // namespace tryst::model
