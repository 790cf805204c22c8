// SPDX-License-Identifier: MIT
/// @file
/// What the checker is let loose on.
#pragma once

#include "model/checker.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tryst::model {

struct scene {
    std::string_view name;
    std::string_view about;
    void (*body)();
    /// A bit for each step of the protocol (detail::step), or outcome of a litmus test, that some
    /// execution must reach, lest the scene be empty.
    std::uint64_t must_reach = 0;
    /// What must go wrong, for a scene that shows that the checker finds it; else empty.
    std::string_view must_fail = {};
};

/// Fails the execution if something is not as it must be.
inline void require(bool condition, const char* what) {
    if (!condition) {
        the_checker().fail(what);
    }
}

/// Starts a thread for each body. They must live until it has ended.
template <class... Body>
void start(Body&... bodies) {
    static constexpr std::array names{"first", "second", "third", "fourth", "fifth", "sixth"};
    std::size_t number = 0;
    (the_checker().spawn(
         names.at(number++), [](void* self) { (*static_cast<Body*>(self))(); }, &bodies),
     ...);
}

/// Runs a thread for each body to its end.
template <class... Body>
void run_threads(Body... bodies) {
    start(bodies...);
    the_checker().join();
}

/// What `must_reach` says.
template <class... Number>
constexpr std::uint64_t reaches(Number... numbers) {
    return ((std::uint64_t{1} << static_cast<unsigned>(numbers)) | ... | 0U);
}

std::span<const scene> counter_scenes();
std::span<const scene> litmus_scenes();
std::span<const scene> exchange_scenes();
std::span<const scene> dual_scenes();
std::span<const scene> loop_scenes();
std::span<const scene> select_scenes();

} // namespace tryst::model
