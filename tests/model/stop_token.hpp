// SPDX-License-Identifier: MIT
/// @file
/// Stops for model threads. They order what the standard says ([thread.stoptoken]) and nothing
/// else: a request before the calls it makes and before whoever sees it; a call before the end of
/// its callback's life; a callback's registration before its call.
#pragma once

#include "model/checker.hpp"
#include "model/shared_object.hpp"

#include <cstddef>

namespace tryst::test {

class stop_machine {
public:
    using knowledge = model::view;

    static std::size_t current() { return model::the_checker().current(); }

    /// A step of the calling thread.
    void use(bool changes, const char* what, model::site where) {
        model::the_checker().use(object_, changes, what, where);
    }
    /// A step that comes when it is `done`.
    template <class Done>
    void wait(Done done, const char* what, model::site where) {
        model::the_checker().use_when(
            object_, [](void* context) { return (*static_cast<Done*>(context))(); }, &done, what,
            where);
    }
    /// What is to be known to those who learn it.
    static knowledge tell() {
        const knowledge mine = model::the_checker().knowledge();
        model::the_checker().next_event();
        return mine;
    }
    static void learn(const knowledge& what) { model::the_checker().knowledge().join(what); }
    static void begin_call(const void* callback, std::size_t size) {
        model::the_checker().enter(model::access::read, callback, size);
    }

private:
    model::shared_object object_;
};

} // namespace tryst::test

#include "support/simulated_stop.hpp"

namespace tryst::model {

using test::stop_callback;
using test::stop_source;
using test::stop_token;

} // namespace tryst::model
