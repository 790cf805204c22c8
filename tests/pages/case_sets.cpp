// SPDX-License-Identifier: MIT
// What docs/case-sets.md shows: a program.
#include "docs/case-sets.md/1"
