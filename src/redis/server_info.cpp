// SPDX-License-Identifier: MIT
#include "server_info.hpp"

#include "number.hpp"

#include <algorithm>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

constexpr unsigned oldest_major = 6;
constexpr unsigned oldest_minor = 2;

bool is_too_old(std::string_view version) {
    const std::size_t dot = std::min(version.find('.'), version.size());
    const unsigned major = parse_number<unsigned>(version.substr(0, dot)).value_or(0);
    version.remove_prefix(std::min(dot + 1, version.size()));
    const unsigned minor = parse_number<unsigned>(version.substr(0, version.find('.'))).value_or(0);
    return major < oldest_major || (major == oldest_major && minor < oldest_minor);
}

} // namespace

void server_info::read(std::string_view text) {
    std::string host;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find("\r\n"), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 2, text.size()));
        const std::size_t colon = std::min(line.find(':'), line.size());
        const std::string_view name = line.substr(0, colon);
        const std::string_view value = line.substr(std::min(colon + 1, line.size()));
        if (name == "redis_version") {
            version = value;
        } else if (name == "redis_mode") {
            mode = value;
        } else if (name == "run_id") {
            run_id = value;
        } else if (name == "role") {
            role = value;
        } else if (name == "master_host") {
            host = value;
        } else if (name == "master_port") {
            master = host + ':' + std::string(value);
        }
    }
}

std::string server_info::problem() const {
    if (version.empty()) {
        return "is not a Redis server: its INFO has no redis_version";
    }
    if (is_too_old(version)) {
        return "is Redis " + version + ", and 6.2 is needed";
    }
    if (mode == "sentinel") {
        return "is a Sentinel; name the Redis servers that it watches";
    }
    if (role != "master") {
        return "is a read-only replica" + (master.empty() ? "" : " of " + master) +
               "; name its master";
    }
    return {};
}

} // namespace detail
TRYST_REDIS_END
