// SPDX-License-Identifier: MIT
/// @file
/// Connections are descriptors: as many as the administrator allows, not as many as a shell starts with.
/// POSIX.
#pragma once

#include <sys/resource.h>

namespace pairing {

/// Raises the soft limit to the hard one. If that fails, the soft one is the limit.
inline void raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace pairing
