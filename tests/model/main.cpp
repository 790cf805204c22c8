// SPDX-License-Identifier: MIT
#include "model/checker.hpp"
#include "model/scenes.hpp"
#include "support/step_names.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <sys/time.h>
#include <utility>
#include <vector>

namespace {

using namespace tryst::model;

void usage(std::FILE* to) {
    std::fputs(
        "usage: model_check --list\n"
        "       model_check [OPTION...] SCENE...\n"
        "SCENE is a name, or a text as in scenes.txt, without a name: 'slot Ls Ln stop'.\n"
        "  -p, --preemptions N   at most N preemptions in an execution (default: no bound)\n"
        "  -f, --any-first       any thread may begin; else it is the last one, or a preemption\n"
        "  -S, --stale-reads N   at most N reads of values that are not the latest\n"
        "  -b, --bare-posts      posts order nothing but the frame that they resume\n"
        "  -a, --all K           all scenes of K parties that exchange\n"
        "  -r, --random N        N executions at random (PCT), instead of all\n"
        "  -s, --seed S          the first of their seeds\n"
        "  -R, --replay CHOICES  repeat the execution that a failure has printed\n"
        "  -i, --ignore-reach    a scene need not come to all it must: only failures count\n"
        "  -w, --weaken FILE:FIRST-LAST:success|failure:ORDER\n"
        "                        give the atomic operation on these lines of FILE that memory\n"
        "                        order; exits with 3 if no scene fails and none makes it\n"
        "  -x, --stop            stop at the first scene that is not as it must be\n",
        to);
}

std::vector<scene> all_scenes() {
    std::vector<scene> all;
    for (const auto scenes :
         {litmus_scenes(), text_scenes(), loop_scenes(), case_set_scenes(), future_scenes()}) {
        all.insert(all.end(), scenes.begin(), scenes.end());
    }
    for (const scene& s : all) {
        if (s.words.empty() && !is_tested(s.name)) {
            std::fprintf(stderr, "scenes.txt: no test of %s\n", std::string(s.name).c_str());
            std::exit(2);
        }
    }
    return all;
}

/// A model thread that crashes, or never comes to its next step, has failed: go on from the
/// scheduler.
void catch_signals() {
    static std::array<char, std::size_t{64} << 10U> stack;
    stack_t alternative{};
    alternative.ss_sp = stack.data();
    alternative.ss_size = stack.size();
    ::sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = [](int number) {
        if (number == SIGVTALRM) {
            if (checker::of_this_thread() != nullptr && the_checker().hangs()) {
                the_checker().interrupt("no end between two steps");
            }
        } else if (checker::of_this_thread() != nullptr) {
            the_checker().interrupt(::strsignal(number));
        } else {
            std::_Exit(128 + number);
        }
    };
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGVTALRM}) {
        ::sigaction(number, &action, nullptr);
    }
    const itimerval every_second{{1, 0}, {1, 0}};
    ::setitimer(ITIMER_VIRTUAL, &every_second, nullptr);
}

/// `detail/meet/slot.hpp:52-53:success:relaxed`, as `--weaken` takes it.
std::optional<weakening> weakening_from(const std::string& text) {
    static const std::regex form(R"((.+):(\d+)-(\d+):(success|failure):(\w+))");
    constexpr std::array orders{std::pair{"relaxed", std::memory_order_relaxed},
                                std::pair{"acquire", std::memory_order_acquire},
                                std::pair{"release", std::memory_order_release},
                                std::pair{"acq_rel", std::memory_order_acq_rel}};
    std::smatch part;
    if (std::regex_match(text, part, form)) {
        for (const auto& [name, order] : orders) {
            if (part[5] == name) {
                return weakening{"/" + part[1].str(), static_cast<unsigned>(std::stoul(part[2])),
                                 static_cast<unsigned>(std::stoul(part[3])), part[4] == "failure",
                                 order};
            }
        }
    }
    return std::nullopt;
}

/// `3 preemptions`, or `any preemptions`.
std::string show(std::optional<unsigned> limit, const char* what) {
    return (limit ? std::to_string(*limit) : "any") + " " + what;
}

/// The steps of `set`, as `reaches` makes it; or the outcomes, by number.
std::string show_steps(std::uint64_t set, const scene& of) {
    std::string text;
    for (; set != 0; set &= set - 1) {
        const auto step = static_cast<std::size_t>(std::countr_zero(set));
        text += text.empty() ? "" : ", ";
        text +=
            of.venue.empty() ? std::to_string(step) : std::string(tryst::test::step_names[step]);
    }
    return text;
}

/// @param weakened  is told how many operations had a weaker order than the source says.
/// @returns whether the scene is as it must be.
bool check(const scene& s, const bounds& limits, const char* replayed, bool ignores_reach,
           std::uint64_t& weakened) {
    const auto start = std::chrono::steady_clock::now();
    playing = &s;
    const report found = replayed == nullptr ? the_checker().explore(s.body, limits)
                                             : the_checker().replay(s.body, limits, replayed);
    weakened += found.weakened;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const std::string preemptions =
        limits.random_executions != 0 ? "random" : show(limits.preemptions, "preemptions");
    const std::string stale_reads = show(limits.stale_reads, "stale reads");
    std::string verdict = "holds";
    bool good = found.failure.empty();
    if (!s.must_fail.empty()) {
        good = found.failure.find(s.must_fail) != std::string::npos;
        verdict = good ? "fails, as it must" : "does not fail as it must";
    } else if (!good) {
        verdict = "FAILS";
    } else if (const auto missed = s.must_reach & ~the_checker().reached();
               missed != 0 && !ignores_reach && replayed == nullptr &&
               limits.random_executions == 0) {
        verdict = "never reaches " + show_steps(missed, s);
        good = false;
    }
    std::printf("%-32s %-15s %-15s %-11s %10llu executions (%llu cut) %9llu states %5zu steps "
                "%7.2f s  %s\n",
                std::string(s.name).c_str(), preemptions.c_str(), stale_reads.c_str(),
                limits.bare_posts ? "bare posts" : "posts order",
                static_cast<unsigned long long>(found.executions),
                static_cast<unsigned long long>(found.cut),
                static_cast<unsigned long long>(found.states), found.longest, time.count(),
                verdict.c_str());
    if (!good || replayed != nullptr) {
        for (const std::string& line : found.trace) {
            std::printf("  %s\n", line.c_str());
        }
        std::printf("  %s\n", found.failure.empty() ? "no failure" : found.failure.c_str());
        if (!found.replay.empty()) {
            std::printf(
                "  again: model_check%s%s%s%s --replay %s '%s'\n",
                limits.preemptions ? (" -p " + std::to_string(*limits.preemptions)).c_str() : "",
                limits.stale_reads ? (" -S " + std::to_string(*limits.stale_reads)).c_str() : "",
                limits.any_first ? " -f" : "", limits.bare_posts ? " -b" : "", found.replay.c_str(),
                std::string(s.name).c_str());
        }
    }
    std::fflush(stdout);
    return good;
}

} // namespace

int main(int argc, char** argv) {
    constexpr std::array options{option{"preemptions", required_argument, nullptr, 'p'},
                                 option{"any-first", no_argument, nullptr, 'f'},
                                 option{"stale-reads", required_argument, nullptr, 'S'},
                                 option{"bare-posts", no_argument, nullptr, 'b'},
                                 option{"all", required_argument, nullptr, 'a'},
                                 option{"random", required_argument, nullptr, 'r'},
                                 option{"seed", required_argument, nullptr, 's'},
                                 option{"replay", required_argument, nullptr, 'R'},
                                 option{"ignore-reach", no_argument, nullptr, 'i'},
                                 option{"weaken", required_argument, nullptr, 'w'},
                                 option{"stop", no_argument, nullptr, 'x'},
                                 option{"list", no_argument, nullptr, 'l'},
                                 option{"help", no_argument, nullptr, 'h'},
                                 option{nullptr, 0, nullptr, 0}};
    bounds limits;
    const char* replayed = nullptr;
    bool ignores_reach = false;
    bool stops = false;
    const auto scenes = all_scenes();
    std::vector<std::string> chosen;
    for (int c = 0;
         (c = ::getopt_long(argc, argv, "p:fS:ba:r:s:R:iw:xlh", options.data(), nullptr)) != -1;) {
        switch (c) {
        case 'p':
            limits.preemptions = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
            break;
        case 'f':
            limits.any_first = true;
            break;
        case 'S':
            limits.stale_reads = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
            break;
        case 'b':
            limits.bare_posts = true;
            break;
        case 'a':
            chosen = all_small_scenes(std::strtoul(optarg, nullptr, 10));
            break;
        case 'r':
            limits.random_executions = std::strtoull(optarg, nullptr, 10);
            break;
        case 's':
            limits.first_seed = std::strtoull(optarg, nullptr, 10);
            break;
        case 'R':
            replayed = optarg;
            break;
        case 'i':
            ignores_reach = true;
            break;
        case 'w':
            limits.weakened = weakening_from(optarg);
            if (!limits.weakened) {
                std::fprintf(stderr, "model_check: --weaken: not as --help says: %s\n", optarg);
                return 2;
            }
            break;
        case 'x':
            stops = true;
            break;
        case 'l':
            for (const scene& s : scenes) {
                std::printf("%-32s %s\n", std::string(s.name).c_str(),
                            std::string(s.about).c_str());
            }
            return 0;
        case 'h':
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return 2;
        }
    }
    chosen.insert(chosen.end(), argv + optind, argv + argc);
    if (chosen.empty()) {
        usage(stderr);
        return 2;
    }
    catch_signals();
    bool good = true;
    std::uint64_t weakened = 0;
    for (const std::string& name : chosen) {
        const auto known = std::ranges::find(scenes, name, &scene::name);
        if (known == scenes.end() && name.find(' ') == name.npos) {
            std::fprintf(stderr, "model_check: no scene %s; see --list\n", name.c_str());
            return 2;
        }
        const std::string line = " " + name;
        scene s = known == scenes.end() ? scene_of(line) : *known;
        s.name = name;
        good = check(s, limits, replayed, ignores_reach, weakened) && good;
        if (!good && stops) {
            break;
        }
    }
    if (good && limits.weakened && weakened == 0) {
        std::fputs("model_check: --weaken: no scene makes that operation\n", stderr);
        return 3;
    }
    return good ? 0 : 1;
}
