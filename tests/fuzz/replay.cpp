// SPDX-License-Identifier: MIT
// Runs the programs that are worth keeping: those of the corpus. No fuzzer is needed.
#include "fuzz/interpreter.hpp"

#include <tryst/result.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace tryst;

std::vector<std::uint8_t> contents_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A corpus that never meets an end says nothing of it.
bool was_met(const std::string& what, std::size_t times) {
    std::printf("%s: %zu\n", what.c_str(), times);
    return times != 0;
}

bool all_were_met(const test::outcome_counts& met) {
    bool all = was_met("exchanged", met.exchanged);
    all = was_met("destroyed", met.destroyed) && all;
    for (const auto why : {exchange_errc::timed_out, exchange_errc::cancelled,
                           exchange_errc::closed, exchange_errc::no_partner}) {
        all =
            was_met(make_error_code(why).message(), met.failed.at(static_cast<std::size_t>(why))) &&
            all;
    }
    return all;
}

} // namespace

/// The argument is the directory of the corpus.
int main(int count, char** arguments) {
    if (count != 2) {
        std::puts("usage: replay CORPUS");
        return 2;
    }
    test::outcome_counts met;
    bool good = true;
    for (const auto& program : std::filesystem::directory_iterator(arguments[1])) {
        const std::string wrong = test::interpret(contents_of(program.path()), met);
        if (!wrong.empty()) {
            std::printf("%s:\n%s", program.path().c_str(), wrong.c_str());
            good = false;
        }
    }
    return all_were_met(met) && good ? 0 : 1;
}
