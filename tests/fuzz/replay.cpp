// SPDX-License-Identifier: MIT
// Runs programs that the fuzzer has found, on any compiler: a corpus, or one program with its
// trace.
#include "fuzz/program.hpp"

#include <tryst/result.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace tryst;

/// @returns whether the run went well.
bool replay(const std::filesystem::path& program, sim::report& sum) {
    std::ifstream in(program, std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in),
                                          std::istreambuf_iterator<char>()};
    const sim::report told = sim::play_program(bytes);
    sum.exchanged += told.exchanged;
    sum.abandoned += told.abandoned;
    for (std::size_t i = 0; i != sum.failed.size(); ++i) {
        sum.failed.at(i) += told.failed.at(i);
    }
    if (!told.failure.empty()) {
        std::printf("%s: %s\n", program.c_str(), told.failure.c_str());
    }
    return told.failure.empty();
}

bool occurs(const std::string& what, std::size_t times) {
    std::printf("%s: %zu\n", what.c_str(), times);
    return times != 0;
}

/// Whether operations have ended in every possible way.
bool all_outcomes_occur(const sim::report& sum) {
    bool all = occurs("exchanged", sum.exchanged);
    all = occurs("abandoned", sum.abandoned) && all;
    for (std::size_t i = 1; i != sum.failed.size(); ++i) {
        all = occurs(make_error_code(static_cast<exchange_errc>(i)).message(), sum.failed.at(i)) &&
              all;
    }
    return all;
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::puts("usage: fuzz_replay CORPUS|PROGRAM");
        return 2;
    }
    const std::filesystem::path given = arguments[1];
    sim::report sum;
    if (!std::filesystem::is_directory(given)) {
        sim::set_trace(sim::trace_of::events);
        return replay(given, sum) ? 0 : 1;
    }
    bool good = true;
    for (const auto& program : std::filesystem::directory_iterator(given)) {
        good = replay(program.path(), sum) && good;
    }
    return all_outcomes_occur(sum) && good ? 0 : 1;
}
