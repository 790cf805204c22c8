// SPDX-License-Identifier: MIT
/// @file
/// RESP3, the protocol of Redis: reads numbers, writes commands, and cuts a stream of bytes into
/// replies.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

/// @returns nothing unless all of `text` is one number in the range of the type.
template <class Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
    Number number{};
    const char* const end = std::to_address(text.end());
    const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, number, base);
    if (error != std::errc() || stopped != end) {
        return std::nullopt;
    }
    return number;
}

/// Appends `mark`, `number` and the end of a line.
void append_header(std::string& out, char mark, std::size_t number);
/// Appends one argument of a command.
void append_argument(std::string& out, std::string_view argument);
/// Appends a whole command.
void append_command(std::string& out, std::span<const std::string_view> words);

/// A reply. Its texts are views into the input of its `reply_reader`.
struct reply {
    /// As in RESP3, except that the nulls of RESP2 have type '_', too.
    char type = '_';
    std::string_view text; ///< Of strings, errors and numbers; without "txt:" if verbatim.
    std::int64_t integer = 0; ///< Of ':' and '#'.
    std::vector<reply> elements; ///< Of arrays, sets and pushes; a map's keys and values in turn.

    bool is_error() const { return type == '-' || type == '!'; }
    bool is_push(std::string_view kind) const {
        return type == '>' && !elements.empty() && elements[0].text == kind;
    }
};

/* A reply is read in two steps. `scan` looks at each byte once, in whatever pieces they arrive,
 * and checks every limit before anything is allocated. When it has found the end of a reply,
 * `build` makes the views, which no growth of the input can invalidate any more. */

/// Cuts a stream of bytes into replies, and refuses what is larger than a program wants to hold.
class reply_reader {
public:
    static constexpr std::size_t max_elements = 4096; ///< Of one reply; a map has two per pair.
    static constexpr std::size_t max_depth = 4; ///< Of arrays in arrays.
    static constexpr std::size_t max_line = std::size_t{64} * 1024;
    static constexpr std::size_t beside_string = max_line; ///< Of one reply, in bytes.

    /// @param max_string  the longest string, in bytes.
    explicit reply_reader(std::size_t max_string) : max_string_(max_string) {}

    /// Where to put bytes that arrive. Not empty. Invalidates the last reply.
    std::span<char> space();
    /// The first `count` bytes of `space()` have arrived.
    void add(std::size_t count) { end_ += count; }

    /// @returns the next reply, valid until the next call of `next` or `space`; or null, if more
    /// bytes are needed or after an error.
    const reply* next();
    /// What is wrong with the input; empty if nothing is.
    const std::string& error() const { return error_; }

private:
    static constexpr std::size_t usual_capacity = std::size_t{16} * 1024;
    static constexpr std::size_t usual_elements = 256;

    bool scan();
    bool scan_line(std::string_view line);
    bool scan_length(std::string_view digits, bool is_string);
    bool refuse(std::string why);
    void restart();
    void build(reply& into, const char*& at) const;

    const std::size_t max_string_;
    std::string error_;
    reply reply_; ///< Kept for its memory.

    std::unique_ptr<char[]> input_; // NOLINT(*-avoid-c-arrays): not to be initialised
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0; ///< Where the present reply begins.
    std::size_t scanned_ = 0; ///< Where the next part of it begins.
    std::size_t searched_ = 0; ///< No line that begins at `scanned_` ends before.
    std::size_t end_ = 0; ///< The end of what has arrived.
    // Of the present reply.
    std::size_t string_ = 0; ///< The bytes of the string at `scanned_` with the end of its line.
    std::size_t elements_ = 0;
    std::size_t depth_ = 0;
    std::array<std::size_t, max_depth + 1> missing_{1}; ///< At each depth.
};

} // namespace detail
TRYST_REDIS_END
