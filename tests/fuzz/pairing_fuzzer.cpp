// SPDX-License-Identifier: MIT
// The entry of libFuzzer: feeds a stream to the decoder, and crashes if anything went wrong.
#include "fuzz/pairing_oracle.hpp"

#include <cstdio>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tryst::test::stream_counts counts;
    const std::string wrong = tryst::test::check_stream({data, size}, counts);
    if (!wrong.empty()) {
        std::fputs(wrong.c_str(), stderr);
        std::abort();
    }
    return 0;
}
