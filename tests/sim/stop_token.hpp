// SPDX-License-Identifier: MIT
/// @file
/// Stops for simulated threads.
#pragma once

#include "sim/scheduler.hpp"

#include <cstddef>
#include <source_location>

namespace tryst::test {

/// Memory is sequentially consistent: there is nothing to tell.
class stop_machine {
public:
    struct knowledge {};

    static std::size_t current() { return sim::current_thread(); }
    static void use(bool /*changes*/, const char* what, const std::source_location& where) {
        sim::access(what, where);
    }
    template <class Done>
    static void wait(Done done, const char* /*what*/, const std::source_location& /*where*/) {
        while (!done()) {
            sim::yield();
        }
    }
    static knowledge tell() { return {}; }
    static void learn(knowledge /*what*/) {}
    static void begin_call(const void* /*callback*/, std::size_t /*size*/) {
        sim::access("stop callback begins", std::source_location::current());
    }
};

} // namespace tryst::test

#include "support/simulated_stop.hpp"

namespace tryst::sim {

using test::stop_callback;
using test::stop_source;
using test::stop_token;

} // namespace tryst::sim
