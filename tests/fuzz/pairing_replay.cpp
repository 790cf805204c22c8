// SPDX-License-Identifier: MIT
// Feeds the streams that are worth keeping, those of the corpus, to the decoder. No fuzzer is
// needed.
#include "fuzz/pairing_oracle.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::vector<std::uint8_t> contents_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace

/// The argument is the directory of the corpus.
int main(int count, char** arguments) {
    if (count != 2) {
        std::puts("usage: pairing_replay CORPUS");
        return 2;
    }
    tryst::test::stream_counts met;
    bool good = true;
    for (const auto& program : std::filesystem::directory_iterator(arguments[1])) {
        const std::string wrong = tryst::test::check_stream(contents_of(program.path()), met);
        if (!wrong.empty()) {
            std::printf("%s: %s", program.path().c_str(), wrong.c_str());
            good = false;
        }
    }
    std::printf("complete: %zu\nincomplete: %zu\nbad_frame: %zu\ntoo_large: %zu\n", met.complete,
                met.incomplete, met.bad_frame, met.too_large);
    // A corpus that never meets an end says nothing of it.
    const bool all = met.complete * met.incomplete * met.bad_frame * met.too_large != 0;
    return good && all ? 0 : 1;
}
