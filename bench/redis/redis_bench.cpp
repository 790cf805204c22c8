// SPDX-License-Identifier: MIT
// Measures remote exchanges; run.py starts it beside redis-benchmark. Prints one JSON object. The
// exit status is 1 if an item was lost, doubled or given to a wrong party.
#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/io_context.hpp>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace redis = tryst::redis;
namespace {

using item = std::uint64_t;
using steady = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;
using loop = tryst::asio::task_executor<asio::io_context::executor_type>;
using remote_exchanger = redis::remote_exchanger<item>;

[[noreturn]] void fail(const std::string& why) {
    throw std::runtime_error(why);
}

double median(std::vector<double> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    return *middle;
}

double per_event(steady::duration elapsed, std::uint64_t count, double unit) {
    return seconds(elapsed).count() / static_cast<double>(count) / unit;
}

/// The items of each party are successive numbers from its own.
constexpr item first_of(std::uint64_t party) {
    return party << 40U;
}

// ---- Pairs of two connections, in rooms with one party of each.

struct counts {
    std::vector<std::uint64_t> exchanged; ///< By party; parties 2i and 2i+1 share a room.
    std::size_t running = 0;
    std::string problem;

    std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (const std::uint64_t each : exchanged) {
            all += each;
        }
        return all;
    }
};

tryst::task<> exchange_repeatedly(remote_exchanger& room, std::uint64_t me, std::stop_token stop,
                                  counts& all) {
    std::uint64_t& count = all.exchanged[me];
    for (;; ++count) {
        auto got = co_await room.exchange(first_of(me) + count, stop);
        if (!got) {
            if (got.error() != tryst::exchange_errc::cancelled) {
                all.problem = got.error().message() + ": " + got.reason();
            } else if (got.returned() != first_of(me) + count) {
                all.problem = "a party got another item back";
            }
            break;
        }
        // The partner makes the same number of exchanges, with nobody else.
        if (*got != first_of(me ^ 1U) + count) {
            all.problem = "a party got a wrong item";
            break;
        }
    }
    --all.running;
}

void measure_pairs(const std::string& url, std::size_t rooms, seconds duration) {
    asio::io_context io(1);
    redis::connection one(io, redis::options::from_url(url));
    redis::connection other(io, redis::options::from_url(url));
    loop executor(io);
    std::vector<std::unique_ptr<remote_exchanger>> ends;
    std::stop_source stop;
    counts all;
    all.exchanged.resize(2 * rooms);
    all.running = 2 * rooms;
    for (std::size_t i = 0; i != 2 * rooms; ++i) {
        redis::connection& mine = i % 2 == 0 ? one : other;
        ends.push_back(std::make_unique<remote_exchanger>(mine, "bench " + std::to_string(i / 2)));
        executor.spawn(exchange_repeatedly(*ends.back(), i, stop.get_token(), all));
    }
    // At least until each party has exchanged once more, however busy the machine is.
    const auto run_for = [&](seconds time) {
        const auto end = steady::now() + std::chrono::duration_cast<steady::duration>(time);
        const std::vector<std::uint64_t> before = all.exchanged;
        std::size_t lazy = 0;
        while (all.problem.empty() && (steady::now() < end || lazy != before.size())) {
            io.run_one();
            while (lazy != before.size() && all.exchanged[lazy] != before[lazy]) {
                ++lazy;
            }
        }
    };
    run_for(duration / 4);
    const std::uint64_t before = all.sum();
    const auto begin = steady::now();
    run_for(duration);
    const auto elapsed = steady::now() - begin;
    const std::uint64_t pairs = (all.sum() - before) / 2;
    stop.request_stop();
    while (all.running != 0) {
        io.run_one();
    }
    for (std::size_t i = 0; i != rooms; ++i) {
        if (all.exchanged[2 * i] != all.exchanged[2 * i + 1]) {
            all.problem = "the parties of a pair disagree";
        }
    }
    if (!all.problem.empty()) {
        fail(all.problem);
    }
    std::printf("{\"pairs\": %llu, \"pairs_per_second\": %.6g}\n",
                static_cast<unsigned long long>(pairs),
                static_cast<double>(pairs) / seconds(elapsed).count());
}

// ---- The latency of a pair, from the second arrival until both have their items.

/// A blocking connection that calls the script itself.
class raw_link {
public:
    explicit raw_link(const std::string& path) : link_(redisConnectUnix(path.c_str())) {
        if (!link_ || link_->err != 0) {
            fail("hiredis cannot connect to " + path);
        }
    }
    raw_link(const raw_link&) = delete;
    raw_link& operator=(const raw_link&) = delete;
    ~raw_link() { redisFree(link_); }

    void send(std::span<const std::string> words) {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (const std::string& each : words) {
            texts.push_back(each.data());
            sizes.push_back(each.size());
        }
        redisAppendCommandArgv(link_, static_cast<int>(texts.size()), texts.data(), sizes.data());
    }

    /// @returns the reply; of an array, the element of this index.
    std::string receive(std::size_t index = 0) {
        void* reply = nullptr;
        if (redisGetReply(link_, &reply) != REDIS_OK) {
            fail(static_cast<const char*>(link_->errstr));
        }
        const std::unique_ptr<void, void (*)(void*)> owner(reply, freeReplyObject);
        const auto* got = static_cast<const redisReply*>(reply);
        if (got->type == REDIS_REPLY_ARRAY && index < got->elements) {
            got = got->element[index];
        }
        if (got->type == REDIS_REPLY_ERROR || !got->str) {
            fail("Redis: " + std::string(got->str ? got->str : "no text"));
        }
        return {got->str, got->len};
    }

    std::string call(std::span<const std::string> words, std::size_t index = 0) {
        send(words);
        return receive(index);
    }

private:
    redisContext* link_;
};

tryst::task<> wait_for_partner(remote_exchanger& room, item mine, item expected,
                               tryst::exchanger<steady::time_point>& done) {
    auto got = co_await room.exchange(mine);
    if (!got || *got != expected) {
        std::terminate(); // the other party cannot get to its end
    }
    auto told = co_await done.exchange(steady::now());
    std::ignore = told;
}

tryst::task<> measure_latency_of(remote_exchanger& one, remote_exchanger& other, loop& executor,
                                 std::string path, std::string sha, std::uint64_t count,
                                 std::string& problem) {
    raw_link calls(path);
    raw_link messages(path);
    const std::vector<std::string> subscribe{"SUBSCRIBE", "tryst:wake:raw"};
    std::ignore = messages.call(subscribe);
    const std::vector<std::string> key_words{
        "EVALSHA",        sha, "4", "tryst:x:{raw}", "tryst:x:{raw}:items", "tryst:x:{raw}:1",
        "tryst:x:{raw}:2"};
    const auto words = [&](std::initializer_list<std::string> more) {
        std::vector<std::string> all = key_words;
        all.insert(all.end(), more);
        return all;
    };
    // The arguments are those of rendezvous.lua.
    const auto join =
        words({"join", "raw.1", "1", "", "60000", "", "600000", "fresh", "tryst:wake:"});
    const std::string generation = calls.call(join, 1);
    const auto arrive = words({"arrive", "raw.1", "1", generation, "60000", "1", "1", "1", "1", "1",
                               "12345678", "tryst:wake:", "4096"});
    std::vector<double> pair;
    std::vector<double> raw;
    tryst::exchanger<steady::time_point> done;
    for (std::uint64_t i = 0; i != count; ++i) {
        executor.spawn(wait_for_partner(one, first_of(0) + i, first_of(1) + i, done));
        for (;;) {
            auto now = co_await other.statistics();
            if (!now) {
                problem = now.reason();
                co_return;
            }
            if (now->waiting == 1) {
                break;
            }
        }
        auto begin = steady::now();
        auto got = co_await other.exchange(first_of(1) + i);
        const auto mine = steady::now();
        if (!got || *got != first_of(0) + i) {
            problem = "a party got no item, or a wrong one";
            co_return;
        }
        auto partners = co_await done.exchange(mine);
        pair.push_back(per_event(std::max(mine, *partners) - begin, 1, 1e-6));

        if (calls.call(arrive) != "waiting") {
            fail("the room was not empty");
        }
        begin = steady::now();
        if (calls.call(arrive) != "matched") {
            fail("nobody waited");
        }
        std::ignore = messages.receive();
        raw.push_back(per_event(steady::now() - begin, 1, 1e-6));
    }
    std::printf("{\"pair_us\": %.5g, \"raw_us\": %.5g}\n", median(pair), median(raw));
}

void measure_latency(const std::string& path, const std::string& sha, std::uint64_t count) {
    asio::io_context io(1);
    const redis::options where = redis::options::from_url("unix://" + path);
    redis::connection one(io, where);
    redis::connection other(io, where);
    loop executor(io);
    remote_exchanger at_one(one, "latency");
    remote_exchanger at_other(other, "latency");
    std::string problem;
    std::exception_ptr thrown;
    tryst::asio::async_wait(
        measure_latency_of(at_one, at_other, executor, path, sha, count, problem),
        [&](std::exception_ptr error) {
            thrown = std::move(error);
            one.close();
            other.close();
        });
    io.run();
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    if (!problem.empty()) {
        fail(problem);
    }
}

// ---- Pairs within one process, in one room.

struct local_run {
    std::uint64_t left; ///< Exchanges, each of one party.
    std::size_t running;
    item given = 0;
    item got = 0;
    std::string problem = {};
};

template <class Exchanger>
tryst::task<> exchange_locally(Exchanger& room, item next, local_run& all, asio::io_context& io) {
    for (;; ++next) {
        auto got = co_await room.exchange(next);
        if (!got) {
            if (got.error() != tryst::exchange_errc::closed) {
                all.problem = got.error().message();
            }
            break;
        }
        all.given += next;
        all.got += *got;
        if (all.left != 0 && --all.left == 0) {
            room.close();
        }
    }
    if (--all.running == 0) {
        io.stop();
    }
}

/// @returns nanoseconds per pair.
template <class Exchanger>
double time_local_pairs(Exchanger& room, asio::io_context& io, std::size_t tasks,
                        std::uint64_t pairs) {
    loop executor(io);
    local_run all{2 * pairs, tasks};
    for (std::size_t i = 0; i != tasks; ++i) {
        executor.spawn(exchange_locally(room, first_of(i), all, io));
    }
    io.restart();
    const auto begin = steady::now();
    io.run();
    const auto elapsed = steady::now() - begin;
    if (!all.problem.empty()) {
        fail(all.problem);
    }
    if (all.left != 0 || all.given != all.got) {
        fail("items were lost or doubled");
    }
    return per_event(elapsed, pairs, 1e-9);
}

void measure_local(const std::string& url, std::size_t tasks, std::uint64_t pairs) {
    asio::io_context io(1);
    redis::connection server(io, redis::options::from_url(url));
    tryst::asio::async_wait(server.connected(), [&](std::exception_ptr, auto ready) {
        if (!ready) {
            fail(ready.reason());
        }
        io.stop();
    });
    io.run();
    // Each run closes its room, and a closed room stays closed.
    remote_exchanger remote(server, "local " + std::to_string(std::random_device()()));
    tryst::exchanger<item> plain;
    const double plain_ns = time_local_pairs(plain, io, tasks, pairs);
    const double remote_ns = time_local_pairs(remote, io, tasks, pairs);
    std::printf("{\"plain_ns\": %.5g, \"remote_ns\": %.5g}\n", plain_ns, remote_ns);
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    try {
        if (argc == 5 && words[1] == "pairs") {
            measure_pairs("unix://" + words[2], std::stoul(words[3]), seconds(std::stod(words[4])));
        } else if (argc == 5 && words[1] == "latency") {
            measure_latency(words[2], words[3], std::stoul(words[4]));
        } else if (argc == 5 && words[1] == "local") {
            measure_local("unix://" + words[2], std::stoul(words[3]), std::stoul(words[4]));
        } else {
            std::fputs("usage: redis_bench pairs SOCKET ROOMS SECONDS\n"
                       "       redis_bench latency SOCKET SHA PAIRS\n"
                       "       redis_bench local SOCKET TASKS PAIRS\n",
                       stderr);
            return 2;
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "redis_bench: %s\n", error.what());
        return 1;
    }
}
