// SPDX-License-Identifier: MIT
#include <tryst/redis/options.hpp>

#include "resp.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

TRYST_REDIS_BEGIN

namespace {

constexpr std::chrono::milliseconds shortest_lease{100};

// What is wrong is never quoted: after a forgotten character, it may be a part of a password.
[[noreturn]] void refuse(std::string_view part, std::string_view problem) {
    throw std::invalid_argument("tryst: the Redis URL's " + std::string(part) + ' ' +
                                std::string(problem));
}

/// Removes the beginning of `text` up to the first `separator`, and returns it.
/// If there is no `separator`, that is all of it.
std::string_view take_until(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

std::string decode(std::string_view part, std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        const std::string_view digits = text.substr(i + 1, 2);
        const auto character = detail::parse_number<unsigned char>(digits, 16);
        if (digits.size() != 2 || !character) {
            refuse(part, "has a '%' that two hexadecimal digits do not follow; write '%' as %25");
        }
        decoded += static_cast<char>(*character);
        i += 2;
    }
    return decoded;
}

void parse_credentials(options& into, std::string_view text) {
    if (text.find('@') != text.npos) {
        refuse("user or password", "contains '@'; write it as %40");
    }
    into.user = decode("user", take_until(text, ':'));
    into.password = decode("password", text);
    if (into.user.empty() && into.password.empty()) {
        refuse("password", "is empty; remove the '@', or write :password@");
    }
}

address parse_host(std::string_view text) {
    address parsed;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == text.npos) {
            refuse("host", "begins with '[', but has no ']'");
        }
        parsed.host = decode("host", text.substr(1, end - 1));
        text.remove_prefix(end + 1);
        if (!text.empty() && !text.starts_with(':')) {
            refuse("host", "has more after ']' than a port");
        }
    } else {
        const std::size_t end = std::min(text.find(':'), text.size());
        parsed.host = decode("host", text.substr(0, end));
        text.remove_prefix(end);
        if (text.rfind(':') != 0 && !text.empty()) {
            refuse("host", "has several ':'; write an IPv6 address in brackets");
        }
    }
    if (parsed.host.empty()) {
        refuse("host", "is empty");
    }
    if (parsed.host.find('\0') != parsed.host.npos) {
        refuse("host", "contains a zero byte");
    }
    if (!text.empty()) { // it begins with ':'
        const std::optional<std::uint16_t> number =
            detail::parse_number<std::uint16_t>(text.substr(1));
        if (!number || *number == 0) {
            refuse("port", "is not a number from 1 to 65535");
        }
        parsed.port = *number;
    }
    return parsed;
}

unsigned parse_database(std::string_view text) {
    const std::optional<unsigned> number = detail::parse_number<unsigned>(text);
    if (!number || *number > unsigned{std::numeric_limits<int>::max()}) {
        refuse("database", "is not a number, as in /0");
    }
    return *number;
}

// The value of a parameter, by the type of its member.

void read_value(std::string& into, std::string_view /*name*/, std::string_view text) {
    into = text;
}

void read_value(bool& into, std::string_view name, std::string_view text) {
    if (text != "true" && text != "false") {
        refuse(name, "is neither true nor false");
    }
    into = text == "true";
}

void read_value(std::size_t& into, std::string_view name, std::string_view text) {
    const std::size_t smallest = name == "max_item" ? 1 : 0;
    const std::optional<std::size_t> size = detail::parse_number<std::size_t>(text);
    if (!size || *size < smallest) {
        refuse(name, "is not a number of bytes, at least " + std::to_string(smallest));
    }
    into = *size;
}

void read_value(std::chrono::milliseconds& into, std::string_view name, std::string_view text) {
    using rep = std::chrono::milliseconds::rep;
    rep factor = 1;
    if (text.ends_with("ms")) {
        text.remove_suffix(2);
    } else if (text.ends_with('s')) {
        text.remove_suffix(1);
        factor = 1000;
    } else {
        refuse(name, "has no unit; write 500ms or 2s");
    }
    const std::optional<rep> count = detail::parse_number<rep>(text);
    constexpr rep day = rep{24} * 60 * 60 * 1000;
    if (!count || *count <= 0 || *count > day / factor) {
        refuse(name, "is not a duration from 1ms to 86400s");
    }
    into = std::chrono::milliseconds(*count * factor);
}

using parameter = std::variant<std::size_t options::*, std::string options::*,
                               std::chrono::milliseconds options::*, std::string tls_options::*,
                               bool tls_options::*>;

constexpr std::pair<std::string_view, parameter> parameters[] = {
    {"max_item", &options::max_item},
    {"published_item", &options::published_item},
    {"prefix", &options::key_prefix},
    {"connect_timeout", &options::connect_timeout},
    {"request_timeout", &options::request_timeout},
    {"backoff_min", &options::backoff_min},
    {"backoff_max", &options::backoff_max},
    {"lease", &options::lease},
    {"timeout", &options::connect_timeout},
    {"timeout", &options::request_timeout},
    {"ca_file", &tls_options::ca_file},
    {"cert_file", &tls_options::cert_file},
    {"key_file", &tls_options::key_file},
    {"server_name", &tls_options::server_name},
    {"verify", &tls_options::verify},
};

void parse_parameter(options& into, std::string_view name, std::string_view value) {
    bool is_known = name == "db";
    if (is_known) {
        into.database = parse_database(value);
    }
    const auto set = [&]<class Owner, class Value>(Value Owner::* member) {
        if constexpr (std::is_same_v<Owner, options>) {
            read_value(into.*member, name, value);
            is_known = true;
        } else if (into.tls.enabled) {
            read_value(into.tls.*member, name, value);
            is_known = true;
        }
    };
    for (const auto& [its_name, member] : parameters) {
        if (name == its_name) {
            std::visit(set, member);
        }
    }
    if (!is_known) {
        refuse("parameter", "\"" + std::string(name) + "\" is unknown, or needs rediss://");
    }
    if (into.lease < shortest_lease) {
        refuse("lease", "is shorter than 100ms");
    }
}

} // namespace

std::string address::text() const {
    if (!path.empty()) {
        return path;
    }
    const bool is_ipv6 = host.find(':') != host.npos;
    return (is_ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

options options::from_url(std::string_view url) {
    options parsed;
    const std::size_t scheme_end = url.find("://");
    const std::string_view scheme = url.substr(0, scheme_end);
    if (scheme_end == url.npos || (scheme != "redis" && scheme != "rediss" && scheme != "unix")) {
        refuse("scheme", "is not redis://, rediss:// or unix://");
    }
    parsed.tls.enabled = scheme == "rediss";
    url.remove_prefix(scheme_end + 3);

    const std::size_t authority_end = std::min(url.find_first_of("/?#"), url.size());
    std::string_view authority = url.substr(0, authority_end);
    url.remove_prefix(authority_end);
    // Otherwise a part of the password would be taken for something that may be shown.
    if (url.find('@') != url.npos) {
        refuse("user or password",
               "contains '/', '?' or '#', or a later part contains '@'; write them as %2F, %3F, "
               "%23 and %40");
    }
    if (url.find('#') != url.npos) {
        refuse("last part", "contains '#'; write it as %23");
    }
    if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
        parse_credentials(parsed, authority.substr(0, at));
        authority.remove_prefix(at + 1);
    }

    std::string_view path = take_until(url, '?');
    if (scheme == "unix") {
        if (!authority.empty() || path.size() < 2) {
            refuse("path", "is missing or not absolute, as in unix:///run/redis.sock");
        }
        parsed.hosts = {address{.path = decode("path", path)}};
    } else {
        parsed.hosts.clear();
        for (bool is_last = false; !is_last;) {
            is_last = authority.find(',') == authority.npos;
            parsed.hosts.push_back(parse_host(take_until(authority, ',')));
        }
        if (path.size() > 1) {
            parsed.database = parse_database(path.substr(1));
        }
    }

    while (!url.empty()) {
        std::string_view value = take_until(url, '&');
        const std::string name = decode("parameter", take_until(value, '='));
        parse_parameter(parsed, name, decode(name, value));
    }
    if (parsed.backoff_min > parsed.backoff_max) {
        refuse("backoff_min", "is longer than backoff_max");
    }
    return parsed;
}

TRYST_REDIS_END
