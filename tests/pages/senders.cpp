// SPDX-License-Identifier: MIT
// The whole program that docs/execution.md begins with.
#include "docs/execution.md/1"
