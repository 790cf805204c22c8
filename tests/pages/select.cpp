// SPDX-License-Identifier: MIT
// What docs/select.md shows, within a program.
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using request = std::string;
using cache = std::vector<std::string>;

void serve(const request& served, cache& with) {
    with.push_back(served);
}

tryst::task<cache> work(tryst::synchronous_channel<request>& requests,
                        tryst::exchanger<cache>& swaps, cache mine, std::stop_token stop) {
    while (true) {
        auto got =
            co_await tryst::select(requests.receive(), swaps.exchange(std::move(mine)), stop);
        switch (got.index()) {
        case 0: // a request; the cache has not been swapped, and is back
            mine = std::move(got.get<1>()).returned();
            serve(*got.get<0>(), mine);
            break;
        case 1: // another worker's cache
            mine = *std::move(got.get<1>());
            break;
        default: // tryst::select_npos: stopped, and no case took place
            co_return std::move(got.get<1>()).returned();
        }
    }
}

using jobs = tryst::synchronous_channel<request>;

tryst::task<std::optional<request>> next_job(jobs& urgent, jobs& ordinary, std::stop_token stop) {
    auto got = co_await tryst::select(urgent.receive(), ordinary.receive(), 50ms, stop);
    if (!got) { // get<0>().error() is timed_out or cancelled, and so is get<1>().error()
        co_return std::nullopt;
    }
    auto job = std::move(got).visit(std::identity());
    if (!job) { // its channel is closed
        co_return std::nullopt;
    }
    co_return *std::move(job);
}

bool is_idle(jobs& urgent, jobs& ordinary) {
    auto got = tryst::try_select(urgent.receive(), ordinary.receive()); // a plain call
    if (got) {
        auto job = std::move(got).visit(std::identity());
        return !job; // closed
    }
    return true; // no sender waits: get<0>().error() is no_partner
}

tryst::task<> hear_all(std::vector<jobs*> sources, std::vector<request>& heard,
                       std::stop_token stop) {
    while (!sources.empty()) {
        auto listen = [](jobs* source) { return source->receive(); };
        auto got = co_await tryst::select_from(sources, listen, stop);
        if (!got) {
            co_return; // stopped
        }
        const auto which = static_cast<std::ptrdiff_t>(got.index());
        auto job = got.get();
        if (job) {
            heard.push_back(*std::move(job));
        } else {
            sources.erase(sources.begin() + which); // closed: listen to the others
        }
    }
}

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

int main() {
    return works() && waits_for_a_job() && hears() ? 0 : 1;
}
