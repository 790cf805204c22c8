// SPDX-License-Identifier: MIT
/// @file
/// The head of an HTTP request, without sockets. Boost.Beast parses it.
/// Tested by tests/examples/pairing_http_request_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pairing {

enum class http_status : std::uint16_t {
    ok = 200,
    bad_request = 400,
    not_found = 404,
    method_not_allowed = 405,
    request_timeout = 408,
    header_too_large = 431,
    unavailable = 503,
};

std::string_view name_of(http_status which) noexcept;

struct http_request {
    bool is_head = false; ///< HEAD; otherwise GET.
    std::string path; ///< Without the query.
};

/// Receives the head of one request. Ignores what follows it.
class http_request_decoder {
public:
    static constexpr std::size_t largest_head = 8192;

    /// Room for the next bytes; empty once the head is complete or refused.
    std::span<char> space() noexcept;

    /// Appends the first `count` bytes of the last `space`.
    void commit(std::size_t count);

    /// The request, once its head is complete.
    const std::optional<http_request>& request() const noexcept { return request_; }

    /// Why the request is refused; nullopt if it is not.
    std::optional<http_status> refusal() const noexcept { return refusal_; }

private:
    void parse();

    std::array<char, largest_head> head_; // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::size_t size_ = 0;
    std::optional<http_request> request_;
    std::optional<http_status> refusal_;
};

} // namespace pairing
