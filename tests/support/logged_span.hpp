// SPDX-License-Identifier: MIT
/// @file
/// A span, for the policy `traced`, that writes down how each wait has ended.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace tryst::test {

class logged_span {
public:
    explicit logged_span(const char* name) noexcept : name_(name) { ++alive; }
    logged_span(const logged_span&) = delete;
    logged_span& operator=(const logged_span&) = delete;
    ~logged_span() { --alive; }

    void end(std::error_code error) noexcept {
        lines.push_back(name_ + ": " + (error ? error.message() : "exchanged"));
    }

    static inline std::vector<std::string> lines;
    static inline int alive = 0;

private:
    std::string name_;
};

} // namespace tryst::test
