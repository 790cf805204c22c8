// SPDX-License-Identifier: MIT
// The executor that docs/event-loops.md writes: a queue of work that a pool of threads serves.
#include "context.hpp"

#include "docs/event-loops.md/5"

#include "docs/event-loops.md/6"
