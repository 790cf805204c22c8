// SPDX-License-Identifier: MIT
// The whole program that docs/asio.md begins with.
#include "docs/asio.md/1"
