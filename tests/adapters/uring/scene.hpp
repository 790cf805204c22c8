// SPDX-License-Identifier: MIT
/// @file
/// Operations that wait until something happens that does not, for cancellation_test.cpp.
#pragma once

#include <tryst/task.hpp>
#include <tryst/uring/context.hpp>
#include <tryst/uring/limits.hpp>

#include <memory>
#include <ostream>
#include <system_error>
#include <vector>

namespace tryst::test {

/// The files that an operation waits for, and the operation.
class scene {
public:
    scene() = default;
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;
    virtual ~scene() = default;

    /// Awaits it. @returns its error, if it failed.
    virtual task<std::error_code> wait(uring::context& loop, uring::limits until) = 0;
    /// Whether nothing was transferred.
    virtual bool is_untouched() const { return true; }
};

template <class Scene>
std::unique_ptr<scene> make() {
    return std::make_unique<Scene>();
}

struct operation_that_waits {
    const char* name;
    std::unique_ptr<scene> (*make)();

    friend std::ostream& operator<<(std::ostream& out, const operation_that_waits& self) {
        return out << self.name;
    }
};

/// Those with several buffers or a message, and `splice`.
std::vector<operation_that_waits> message_operations_that_wait();

} // namespace tryst::test
