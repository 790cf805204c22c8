// SPDX-License-Identifier: MIT
// What docs/select.md shows, within a program. Its first block is the program.
#include "context.hpp"

#include "docs/select.md/1"

namespace {

using request = std::string;
using jobs = tryst::synchronous_channel<request>;

tryst::task<std::optional<request>> next_job(jobs& urgent, jobs& ordinary, std::stop_token stop) {
#include "docs/select.md/2"
}

#include "docs/select.md/3"

tryst::task<> send(jobs& to, request job) {
    auto sent = co_await to.send(std::move(job));
    static_cast<void>(sent);
}

bool waits_for_a_job() {
    jobs urgent;
    jobs ordinary;
    std::stop_source stop;
    const auto none = tryst::sync_wait(next_job(urgent, ordinary, stop.get_token()));
    auto [job, nothing] = tryst::sync_wait(
        tryst::when_all(next_job(urgent, ordinary, stop.get_token()), send(ordinary, "job")));
    static_cast<void>(nothing);
    stop.request_stop();
    const auto stopped = tryst::sync_wait(next_job(urgent, ordinary, stop.get_token()));
    return !none && job == "job" && !stopped;
}

bool hears() {
    tryst::run_loop loop;
    jobs sources[2];
    std::vector<request> heard;
    std::stop_source stop;
    loop.spawn(hear_all({&sources[0], &sources[1]}, heard, stop.get_token()));
    loop.spawn(send(sources[0], "zero"));
    loop.spawn(send(sources[1], "one"));
    loop.run_until_idle();
    sources[0].close();
    loop.run_until_idle();
    auto sent = sources[1].try_send("more");
    loop.run_until_idle();
    stop.request_stop();
    loop.run_until_idle();
    return sent && heard == std::vector<request>{"zero", "one", "more"};
}

tryst::task<int> count_words() {
    co_await tryst::sleep_for(1ms);
    co_return 7;
}

tryst::task<int> count_or_obey(tryst::run_loop& loop, jobs& commands) {
#include "docs/select.md/6"
    co_return got.index() == 0 ? 0 : *got.get<1>();
}

bool counts() {
    tryst::run_loop loop;
    jobs commands;
    const int counted = loop.run(count_or_obey(loop, commands));
    loop.spawn(send(commands, "stop"));
    const int stopped = loop.run(count_or_obey(loop, commands));
    loop.run_until_idle();
    return counted == 7 && stopped == 0;
}

// The page's `main` runs its own program only, so this runs before it.
[[maybe_unused]] const bool all_work = [] {
    if (!waits_for_a_job() || !hears() || !counts()) {
        std::abort();
    }
    return true;
}();

} // namespace
