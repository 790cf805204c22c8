// SPDX-License-Identifier: MIT
#include "resp.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

constexpr std::string_view aggregates = "*>~%";
constexpr std::string_view end_of_line = "\r\n";

bool is_one_of(std::string_view types, char type) {
    return types.find(type) != types.npos;
}

std::optional<std::int64_t> integer_in(std::string_view text, char type) {
    if (type == '#') {
        return text == "t" ? std::optional(1) : text == "f" ? std::optional(0) : std::nullopt;
    }
    return parse_number<std::int64_t>(text);
}

/// The number of elements or bytes that a header announces.
std::size_t count_in(std::string_view digits, char type) {
    return parse_number<std::size_t>(digits).value_or(0) * (type == '%' ? 2 : 1);
}

} // namespace

void append_header(std::string& out, char mark, std::size_t number) {
    out += mark;
    out += std::to_string(number);
    out += end_of_line;
}

void append_argument(std::string& out, std::string_view argument) {
    append_header(out, '$', argument.size());
    out += argument;
    out += end_of_line;
}

void append_command(std::string& out, std::span<const std::string_view> words) {
    append_header(out, '*', words.size());
    for (const std::string_view word : words) {
        append_argument(out, word);
    }
}

// A large string gets exactly the memory that it needs, and many small ones get twice as much each
// time, so that their bytes are not moved too often.
std::span<char> reply_reader::space() {
    const std::size_t present = end_ - begin_;
    const std::size_t needed = std::max(scanned_ + string_, end_ + 1) - begin_;
    std::size_t wanted = capacity_;
    if (present == 0 && needed <= usual_capacity) {
        wanted = usual_capacity; // gives back the memory of a large reply
    } else if (needed > capacity_) {
        wanted = std::max(needed, std::min(2 * capacity_, max_string_ + beside_string));
    }
    if (wanted != capacity_) {
        // NOLINTNEXTLINE(*-avoid-c-arrays)
        auto larger = std::make_unique_for_overwrite<char[]>(wanted);
        std::copy_n(input_.get() + begin_, present, larger.get());
        input_ = std::move(larger);
        capacity_ = wanted;
    } else if (begin_ + needed > capacity_ || present == 0) {
        std::memmove(input_.get(), input_.get() + begin_, present);
    } else {
        return {input_.get() + end_, capacity_ - end_};
    }
    scanned_ -= begin_;
    searched_ -= std::min(searched_, begin_);
    end_ -= begin_;
    begin_ = 0;
    return {input_.get() + end_, capacity_ - end_};
}

const reply* reply_reader::next() {
    if (!error_.empty() || !scan()) {
        return nullptr;
    }
    if (reply_.elements.capacity() > usual_elements) {
        reply_ = {};
    }
    const char* at = input_.get() + begin_;
    build(reply_, at);
    begin_ = scanned_;
    restart();
    return &reply_;
}

void reply_reader::restart() {
    elements_ = depth_ = 0;
    missing_[0] = 1;
}

bool reply_reader::refuse(std::string why) {
    error_ = std::move(why);
    return false;
}

/// @returns whether a whole reply has arrived.
bool reply_reader::scan() {
    for (;;) {
        if (string_ != 0) {
            if (end_ - scanned_ < string_) {
                return false;
            }
            scanned_ += std::exchange(string_, 0);
            if (std::string_view(input_.get() + scanned_ - 2, 2) != end_of_line) {
                return refuse("a string does not end where its length says");
            }
        }
        while (missing_[depth_] == 0) {
            if (depth_ == 0) {
                return true;
            }
            --depth_;
        }
        searched_ = std::max(searched_, scanned_);
        const std::string_view rest(input_.get() + searched_, end_ - searched_);
        const std::size_t found = std::min(rest.find('\n'), rest.size());
        searched_ += found;
        if (searched_ - scanned_ > max_line) {
            return refuse("a line is longer than " + std::to_string(max_line) + " bytes");
        }
        if (found == rest.size()) {
            return false;
        }
        const std::string_view line(input_.get() + scanned_, ++searched_ - scanned_);
        scanned_ = searched_;
        --missing_[depth_];
        if (!scan_line(line)) {
            return false;
        }
        const std::size_t longest = max_string_ + beside_string;
        if (scanned_ - begin_ + string_ > longest) {
            return refuse("a reply is longer than " + std::to_string(longest) + " bytes");
        }
    }
}

/// Counts the element that `line`, given with its end, begins.
bool reply_reader::scan_line(std::string_view line) {
    if (line.size() < 3 || !line.ends_with(end_of_line)) {
        return refuse("a line has no type, or does not end with CR LF");
    }
    const char type = line.front();
    const std::string_view text = line.substr(1, line.size() - 3);
    if (is_one_of("+-,(_", type) || (is_one_of("$*", type) && text == "-1")) {
        return true;
    }
    if (type == ':' || type == '#') {
        return integer_in(text, type) || refuse("a number or boolean is malformed");
    }
    if (!is_one_of("$!=", type) && !is_one_of(aggregates, type)) {
        const bool is_text = type >= ' ' && type <= '~';
        return refuse("a reply begins with " + (is_text ? '\'' + std::string(1, type) + '\''
                                                        : "byte " + std::to_string(type & 0xff)));
    }
    const auto length = parse_number<std::uint64_t>(text);
    if (!length) {
        return refuse("a length is malformed");
    }
    const bool is_string = !is_one_of(aggregates, type);
    const std::size_t limit = is_string ? max_string_ : max_elements / (type == '%' ? 2 : 1);
    if (*length > limit) {
        return refuse((is_string ? "a string of " : "an array or map of ") +
                      std::to_string(*length) + "; the limit is " + std::to_string(limit));
    }
    if (is_string) {
        string_ = static_cast<std::size_t>(*length) + end_of_line.size();
        return true;
    }
    const std::size_t count = count_in(text, type);
    if (count != 0 && ++depth_ > max_depth) {
        return refuse("arrays are nested more than " + std::to_string(max_depth) + " deep");
    }
    missing_[depth_] = count != 0 ? count : missing_[depth_];
    elements_ += count;
    return elements_ <= max_elements ||
           refuse("a reply has more than " + std::to_string(max_elements) + " elements");
}

/// Reads what `scan` has found to be valid. Recursion is bounded by `max_depth`.
void reply_reader::build(reply& into, const char*& at) const {
    const std::string_view rest(at, scanned_ - static_cast<std::size_t>(at - input_.get()));
    into.type = rest.front();
    into.text = rest.substr(1, rest.find(end_of_line) - 1);
    at += into.text.size() + 3;
    into.integer = 0;
    std::size_t count = 0;
    if (is_one_of(":#", into.type)) {
        into.integer = integer_in(into.text, into.type).value_or(0);
    } else if (is_one_of("$*", into.type) && into.text == "-1") {
        into = {};
    } else if (is_one_of(aggregates, into.type)) {
        count = count_in(std::exchange(into.text, {}), into.type);
    } else if (is_one_of("$!=", into.type)) {
        into.text = {at, count_in(into.text, into.type)};
        at += into.text.size() + end_of_line.size();
        if (into.type == '=') {
            into.text.remove_prefix(std::min<std::size_t>(into.text.size(), 4));
        }
    }
    into.elements.resize(count);
    for (reply& element : into.elements) {
        build(element, at);
    }
}

} // namespace detail
TRYST_REDIS_END
