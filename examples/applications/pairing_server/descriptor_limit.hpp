// SPDX-License-Identifier: MIT
/// @file
/// Raises the limit of open descriptors, because each connection needs one. POSIX.
#pragma once

#include <sys/resource.h>

namespace pairing {

/// Raises the soft limit to the hard limit. If that fails, the soft limit remains.
inline void raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace pairing
