// SPDX-License-Identifier: MIT
// What docs/select.md shows, within a program.
#include "context.hpp"

using request = std::string;
using cache = std::vector<std::string>;

void serve(const request& served, cache& with) {
    with.push_back(served);
}

#include "docs/select.md/1"

#include "docs/select.md/2"

using jobs = tryst::synchronous_channel<request>;

tryst::task<std::optional<request>> next_job(jobs& urgent, jobs& ordinary, std::stop_token stop) {
#include "docs/select.md/3"
}

bool is_idle(jobs& urgent, jobs& ordinary) {
#include "docs/select.md/4"
    if (got) {
        auto job = std::move(got).visit(std::identity());
        return !job; // closed
    }
    return true; // no sender waits: get<0>().error() is no_partner
}

#include "docs/select.md/5"

tryst::task<> send(jobs& to, request job) {
    auto sent = co_await to.send(std::move(job));
    static_cast<void>(sent);
}

tryst::task<> keep(tryst::task<cache> worker, cache& end) {
    end = co_await std::move(worker);
}

bool works() {
    tryst::run_loop loop;
    tryst::synchronous_channel<request> requests;
    tryst::exchanger<cache> swaps;
    std::stop_source stop;
    cache end;
    loop.spawn(keep(work(requests, swaps, {"mine"}, stop.get_token()), end));
    loop.run_until_idle();
    const bool sent = static_cast<bool>(requests.try_send("one"));
    loop.run_until_idle();
    auto theirs = swaps.try_exchange({"theirs"});
    loop.run_until_idle();
    const bool sent_too = static_cast<bool>(requests.try_send("two"));
    loop.run_until_idle();
    stop.request_stop();
    loop.run_until_idle();
    return sent && sent_too && theirs && *theirs == cache{"mine", "one"} &&
           end == cache{"theirs", "two"};
}

bool waits_for_a_job() {
    jobs urgent;
    jobs ordinary;
    std::stop_source stop;
    const bool idle = is_idle(urgent, ordinary);
    const auto none = tryst::sync_wait(next_job(urgent, ordinary, stop.get_token()));
    auto [job, nothing] = tryst::sync_wait(
        tryst::when_all(next_job(urgent, ordinary, stop.get_token()), send(ordinary, "job")));
    static_cast<void>(nothing);
    stop.request_stop();
    const auto stopped = tryst::sync_wait(next_job(urgent, ordinary, stop.get_token()));
    return idle && !none && job == "job" && !stopped;
}

/// Sends an item, waits for a beat, sends another, and quits.
bool beats() {
    tryst::run_loop loop;
    jobs in;
    std::vector<request> heard;
    tryst::inplace_stop_source quit;
    int count = 0;
    const auto drive = [&]() -> tryst::task<> {
        co_await send(in, "one");
        co_await tryst::sleep_for(50ms);
        co_await send(in, "two");
        quit.request_stop();
    };
    const auto listen = [&]() -> tryst::task<> {
        count = co_await beat(in, heard, quit.get_token());
    };
    loop.run(tryst::when_all(listen(), drive()));
    return count >= 1 && heard == std::vector<request>{"one", "two"};
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
#include "docs/select.md/9"
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

int main() {
    return works() && waits_for_a_job() && beats() && hears() && counts() ? 0 : 1;
}
