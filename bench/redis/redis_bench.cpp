// SPDX-License-Identifier: MIT
// Measures pairs of a sender and a receiver through Redis, and prints one JSON object. It fails if
// an item was lost, doubled, or out of order. run.py starts it.
#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace redis = tryst::redis;
namespace {

using namespace std::chrono_literals;
using item = std::uint64_t;
using steady = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;
using loop = tryst::asio::task_executor<asio::io_context::executor_type>;
using local = asio::local::stream_protocol;
constexpr item last_mark = item(1) << 63U; // in the last item of a room

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "redis_bench: %s\n", why.c_str());
    std::_Exit(1); // other threads may be waiting
}

/// What the senders and the receivers of a measurement share.
struct run {
    std::string path; ///< The socket of Redis.
    std::size_t rooms;
    bool pauses; ///< Before each item, so that its receiver waits already; for one room.
    std::vector<item> sent = std::vector<item>(rooms); ///< Numbers of items, by room.
    std::vector<item> received = std::vector<item>(rooms);
    std::vector<steady::time_point> begun = {}, ended = {}, got = {}; ///< By item, with pauses.
    std::atomic<std::uint64_t> pairs = 0;
    std::atomic<bool> stop = false;
    std::string prefix = std::to_string(getpid()) + '.';

    std::string name(std::size_t room) const { return prefix + std::to_string(room); }
    item next(std::size_t room, bool last) {
        note(begun);
        return (last ? last_mark : 0) | (item(room) << 40U) | sent[room]++;
    }
    /// @returns whether more items follow.
    bool take(std::size_t room, item taken) {
        note(got);
        if ((taken & ~last_mark) != ((item(room) << 40U) | received[room]++)) {
            fail("a receiver got a wrong item");
        }
        pairs.fetch_add(1, std::memory_order_relaxed);
        return taken < last_mark;
    }
    void note(std::vector<steady::time_point>& times) const {
        if (pauses) {
            times.push_back(steady::now());
        }
    }
};

/// The senders or the receivers: one thread with one connection.
struct tryst_side {
    using channel = redis::remote_channel<item>;
    run& all;
    asio::io_context io{1};
    redis::connection server{io, redis::options::from_url("unix://" + all.path)};
    loop executor{io};
    std::vector<std::unique_ptr<channel>> channels = {};
    std::size_t running = all.rooms;

    explicit tryst_side(run& with, tryst::task<> (tryst_side::*party)(std::size_t)) : all(with) {
        for (std::size_t i = 0; i != all.rooms; ++i) {
            channels.push_back(std::make_unique<channel>(server, all.name(i)));
            executor.spawn((this->*party)(i));
        }
        while (running != 0) {
            io.run_one();
        }
    }
    tryst::task<> send_all(std::size_t room) {
        tryst::exchanger<int> nobody;
        for (bool last = false; !last;) {
            if (all.pauses) {
                [[maybe_unused]] auto timed_out = co_await nobody.exchange(0, 1ms);
            }
            last = all.stop;
            auto sent = co_await channels[room]->send(all.next(room, last));
            if (!sent) {
                fail(sent.reason());
            }
            all.note(all.ended);
        }
        --running;
    }
    tryst::task<> receive_all(std::size_t room) {
        for (bool more = true; more;) {
            auto taken = co_await channels[room]->receive();
            if (!taken) {
                fail(taken.reason());
            }
            more = all.take(room, *taken);
        }
        --running;
    }
};

// ---- The same by hand. A wrong reply may let it wait for ever, so run.py has a timeout.

std::string command(const char* verb, const std::string& list, const std::string& last) {
    std::string text = "*3\r\n$5\r\n" + std::string(verb) + "\r\n";
    for (const std::string& each : {list, last}) {
        text += '$' + std::to_string(each.size()) + "\r\n" + each + "\r\n";
    }
    return text;
}

/// One connection, and one write for all rooms.
void push_all(run& all) {
    asio::io_context io;
    local::socket server(io);
    server.connect(all.path);
    std::array<char, 16384> buffer;
    for (bool last = false; !last;) {
        if (all.pauses) {
            std::this_thread::sleep_for(1ms);
        }
        last = all.stop;
        std::string commands;
        for (std::size_t i = 0; i != all.rooms; ++i) {
            const item mine = all.next(i, last);
            commands +=
                command("RPUSH", all.name(i), {reinterpret_cast<const char*>(&mine), sizeof mine});
        }
        asio::write(server, asio::buffer(commands));
        for (auto replies = static_cast<std::ptrdiff_t>(all.rooms); replies > 0;) { // ":1\r\n"
            const auto size = static_cast<std::ptrdiff_t>(server.read_some(asio::buffer(buffer)));
            replies -= std::count(buffer.begin(), buffer.begin() + size, '\n');
        }
        all.note(all.ended);
    }
}

/// A connection for each room, and one thread with epoll for all of them.
/// @param request  makes the next command of a room.
/// @param is_whole  whether a reply is complete.
/// @param take  gets a reply; @returns whether more follow.
template <class Request, class IsWhole, class Take>
void serve_each(run& all, Request request, IsWhole is_whole, Take take) {
    struct party {
        local::socket server;
        std::string reply = {};
    };
    asio::io_context io;
    std::vector<party> parties;
    const int ready = epoll_create1(0);
    for (std::size_t i = 0; i != all.rooms; ++i) {
        parties.push_back({local::socket(io)});
        parties[i].server.connect(all.path);
        epoll_event wanted{.events = EPOLLIN, .data = {.u64 = i}};
        epoll_ctl(ready, EPOLL_CTL_ADD, parties[i].server.native_handle(), &wanted);
        asio::write(parties[i].server, asio::buffer(request(i)));
    }
    std::array<epoll_event, 256> events{};
    std::array<char, 1024> buffer;
    for (std::size_t running = all.rooms; running != 0;) {
        // A single connection needs no epoll: its read blocks.
        const int count = all.rooms == 1 ? 1 : epoll_wait(ready, events.data(), events.size(), -1);
        for (int i = 0; i < count; ++i) {
            const std::size_t room = events[static_cast<std::size_t>(i)].data.u64;
            auto& [server, reply] = parties[room];
            reply.append(buffer.data(), server.read_some(asio::buffer(buffer)));
            if (!is_whole(room, reply)) {
                continue;
            }
            if (take(room, reply)) {
                asio::write(server, asio::buffer(request(room)));
            } else {
                --running;
            }
            reply.clear();
        }
    }
    close(ready);
}

/// A sender that waits for the reply to its RPUSH before the next.
void push_each(run& all) {
    std::vector<char> last(all.rooms);
    serve_each(
        all,
        [&](std::size_t room) {
            last[room] = all.stop;
            const item mine = all.next(room, last[room] != 0);
            return command("RPUSH", all.name(room),
                           {reinterpret_cast<const char*>(&mine), sizeof mine});
        },
        [](std::size_t, const std::string& reply) { return reply.ends_with('\n'); },
        [&](std::size_t room, const std::string&) {
            all.note(all.ended);
            return last[room] == 0;
        });
}

/// BLPOP occupies a connection.
void pop_each(run& all) {
    serve_each(
        all, [&](std::size_t room) { return command("BLPOP", all.name(room), "0"); },
        [&](std::size_t room, const std::string& reply) { // an array of the name and the item
            return reply.size() ==
                   command("", all.name(room), "12345678").size() - std::strlen("$5\r\n\r\n");
        },
        [&](std::size_t room, const std::string& reply) {
            item taken = 0;
            std::memcpy(&taken, &reply[reply.size() - 2 - sizeof taken], sizeof taken);
            return all.take(room, taken);
        });
}

/// The processor time of a process, in seconds.
double used_by(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        fail("cannot read the processor time of process " + std::to_string(process));
    }
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void measure(const std::string& what, run& all, pid_t server, seconds duration) {
    const bool by_hand = what.starts_with("lists");
    std::thread receivers(
        [&] { by_hand ? pop_each(all) : void(tryst_side(all, &tryst_side::receive_all)); });
    std::thread senders([&] {
        what == "lists" ? push_each(all)
        : by_hand       ? push_all(all)
                        : void(tryst_side(all, &tryst_side::send_all));
    });
    const auto totals_after = [&](seconds time) {
        for (const std::uint64_t before = all.pairs; all.pairs == before;) {
            std::this_thread::sleep_for(time);
        }
        return std::array{static_cast<double>(all.pairs), used_by(server), used_by(getpid()),
                          seconds(steady::now().time_since_epoch()).count()};
    };
    const auto begin = totals_after(duration / 4);
    const auto end = totals_after(duration);
    all.stop = true;
    senders.join();
    receivers.join();
    if (all.sent != all.received) {
        fail("an item was lost or doubled");
    }
    std::vector<double> latencies{0}; // from the second arrival until both have their items
    for (std::size_t i = 0; i != all.got.size(); ++i) {
        latencies.push_back(seconds(std::max(all.ended[i], all.got[i]) - all.begun[i]).count());
    }
    std::ranges::sort(latencies);
    const double pairs = end[0] - begin[0];
    std::printf("{\"per_second\": %g, \"redis_us\": %g, \"client_us\": %g, \"latency_us\": %g}\n",
                pairs / (end[3] - begin[3]), (end[1] - begin[1]) / pairs * 1e6,
                (end[2] - begin[2]) / pairs * 1e6, latencies[latencies.size() / 2] * 1e6);
}

// ---- Pairs within one process, in one room

struct local_run {
    std::int64_t left; ///< Exchanges, each of one party.
    std::size_t running;
    item surplus = 0; ///< Items given minus items received.
};

template <class Exchanger>
tryst::task<> exchange_locally(Exchanger& room, item next, local_run& all) {
    for (;; ++next) {
        auto got = co_await room.exchange(next);
        if (!got) {
            break; // closed
        }
        all.surplus += next - *got;
        if (--all.left == 0) {
            room.close(); // pairs that have met still end
        }
    }
    --all.running;
}

template <class Exchanger>
void measure_locally(Exchanger& room, asio::io_context& io, std::size_t tasks, seconds duration) {
    const auto pairs = static_cast<std::int64_t>(300'000 * duration.count()) + 1;
    local_run all{2 * pairs, tasks};
    loop executor(io);
    const auto begin = steady::now();
    for (std::size_t i = 0; i != tasks; ++i) {
        executor.spawn(exchange_locally(room, item(i) << 40U, all));
    }
    while (all.running != 0) {
        io.run_one();
    }
    const seconds elapsed = steady::now() - begin;
    if (all.left > 0 || all.surplus != 0) {
        fail("an item was lost or doubled");
    }
    std::printf("{\"pair_ns\": %g}\n", elapsed.count() / static_cast<double>(pairs) * 1e9);
}

} // namespace

/// Arguments: what to measure, the socket and the process of Redis, the number of rooms or of
/// tasks, and the duration in seconds.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    const std::string& what = words.at(1);
    const std::size_t count = std::stoul(words.at(4));
    const seconds duration(std::stod(words.at(5)));
    asio::io_context io(1);
    if (what == "plain exchanger") {
        tryst::exchanger<item> room;
        measure_locally(room, io, count, duration);
    } else if (what == "remote exchanger") {
        redis::connection server(io, redis::options::from_url("unix://" + words[2]));
        redis::remote_exchanger<item> room(server, std::to_string(getpid()));
        measure_locally(room, io, count, duration);
    } else {
        run all{words[2], count, what.ends_with(" with pauses")};
        measure(what, all, std::stoi(words[3]), duration);
    }
}
