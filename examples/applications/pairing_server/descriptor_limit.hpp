// SPDX-License-Identifier: MIT
/// @file
/// The limit of open descriptors, because each connection needs one. POSIX.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace pairing {

/// Raises the soft limit to the hard limit. If that fails, the soft limit remains.
inline void raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/// The number of descriptors if some are kept for other uses: as many as `reserved`, but at most a
/// quarter of all.
inline std::size_t descriptors_without(std::size_t reserved) noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return std::numeric_limits<std::size_t>::max();
    }
    const auto all = static_cast<std::size_t>(limit.rlim_cur);
    return all - std::min(reserved, all / 4);
}

/// The number that the next descriptor gets; the largest number if there is none.
inline std::size_t lowest_free_descriptor() noexcept {
    const int probe = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (probe < 0) {
        return std::numeric_limits<std::size_t>::max();
    }
    ::close(probe);
    return static_cast<std::size_t>(probe);
}

} // namespace pairing
