// SPDX-License-Identifier: MIT
// What docs/concepts.md shows, within a program.
#include "context.hpp"

using buffer = std::vector<char>;

tryst::task<> stage(tryst::exchanger<buffer>& ex, buffer full) {
#include "docs/concepts.md/1"
}

tryst::task<> stages(tryst::exchanger<buffer>& ex, buffer mine) {
#include "docs/concepts.md/2"
}
