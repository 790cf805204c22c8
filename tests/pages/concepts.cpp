// SPDX-License-Identifier: MIT
// What docs/concepts.md shows: a program.
#include "context.hpp"

#include "docs/concepts.md/1"
