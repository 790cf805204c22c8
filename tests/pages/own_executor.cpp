// SPDX-License-Identifier: MIT
// The executor that docs/waiters.md writes: a queue of work that a pool of threads serves.
#include "context.hpp"

#include "docs/waiters.md/5"

#include "docs/waiters.md/6"

#include "docs/waiters.md/7"
