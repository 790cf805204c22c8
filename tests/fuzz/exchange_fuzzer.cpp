// SPDX-License-Identifier: MIT
// libFuzzer's entry point: its bytes are the choices of one run of the simulation.
#include "fuzz/program.hpp"

#include <cstdio>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const tryst::sim::report told = tryst::sim::play_program({data, size});
    if (!told.failure.empty()) {
        std::fprintf(stderr, "%s\n", told.failure.c_str());
        std::abort();
    }
    return 0;
}
