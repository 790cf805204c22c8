// SPDX-License-Identifier: MIT
// Pairs of a sender and a receiver through Redis, beside a pair written by hand: RPUSH, whose reply
// the sender awaits, and BLPOP, each with a connection of its own. An item that is lost, doubled or
// out of order ends the program. It starts a server, which writes nothing to the disk.
#include "workloads.hpp"

#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/write.hpp>

#include <spawn.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>

namespace tryst::bench {
namespace {

using namespace std::chrono_literals;
using loop = asio::task_executor<::asio::io_context::executor_type>;
using local = ::asio::local::stream_protocol;
constexpr item last_mark = item(1) << 63U; // in the last item of a room

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "redis_bench: %s\n", why.c_str());
    std::_Exit(1); // other threads may be waiting
}

class server {
public:
    static server& started() {
        static server only;
        return only;
    }
    ~server() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        std::filesystem::remove(path);
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// The processor time that it has used.
    seconds used() const {
        clockid_t clock{};
        timespec time{};
        if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &time) != 0) {
            give_up("cannot read the processor time of Redis");
        }
        return seconds(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
    }

    const std::string path =
        std::filesystem::temp_directory_path() / ("tryst." + std::to_string(::getpid()));

private:
    server() {
        std::string words[] = {"redis-server", "--port",       "0", "--save", "", "--logfile",
                               "/dev/null",    "--unixsocket", path};
        std::vector<char*> arguments;
        for (std::string& each : words) {
            arguments.push_back(each.data());
        }
        arguments.push_back(nullptr);
        if (::posix_spawnp(&process_, words[0].c_str(), nullptr, nullptr, arguments.data(),
                           environ) != 0) {
            give_up("cannot start redis-server");
        }
        while (!std::filesystem::exists(path)) {
            if (::waitpid(process_, nullptr, WNOHANG) != 0) {
                give_up("redis-server ended");
            }
            std::this_thread::sleep_for(1ms);
        }
    }

    pid_t process_ = 0;
};

/// What the senders and the receivers of a sample share.
struct rooms {
    std::size_t count;
    bool pauses; ///< Before each item, so that its receiver waits already; for one room.
    std::vector<item> sent = std::vector<item>(count); ///< Numbers of items, by room.
    std::vector<item> received = std::vector<item>(count);
    std::vector<steady::time_point> begun = {}, ended = {}, got = {}; ///< By item, with pauses.
    std::atomic<std::uint64_t> pairs = 0;
    std::atomic<bool> stop = false;
    std::string prefix = std::to_string(steady::now().time_since_epoch().count()) + '.';

    std::string name(std::size_t room) const { return prefix + std::to_string(room); }
    item next(std::size_t room, bool is_last) {
        note(begun);
        return (is_last ? last_mark : 0) | (item(room) << 40U) | sent[room]++;
    }
    /// @returns whether more items follow.
    bool take(std::size_t room, item taken) {
        note(got);
        if ((taken & ~last_mark) != ((item(room) << 40U) | received[room]++)) {
            give_up("a receiver got a wrong item");
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
    rooms& all;
    ::asio::io_context io{1};
    redis::connection connection{io, redis::options::from_url("unix://" + server::started().path)};
    loop executor{io};
    std::vector<std::unique_ptr<redis::remote_channel<item>>> channels = {};
    std::size_t running = all.count;

    tryst_side(rooms& with, task<> (tryst_side::*party)(std::size_t)) : all(with) {
        for (std::size_t i = 0; i != all.count; ++i) {
            channels.push_back(
                std::make_unique<redis::remote_channel<item>>(connection, all.name(i)));
            executor.spawn((this->*party)(i));
        }
        while (running != 0) {
            io.run_one();
        }
    }
    task<> send_all(std::size_t room) {
        exchanger<int> nobody;
        for (bool is_last = false; !is_last;) {
            if (all.pauses) {
                [[maybe_unused]] auto timed_out = co_await nobody.exchange(0, 1ms);
            }
            is_last = all.stop;
            auto sent = co_await channels[room]->send(all.next(room, is_last));
            if (!sent) {
                give_up(sent.reason());
            }
            all.note(all.ended);
        }
        --running;
    }
    task<> receive_all(std::size_t room) {
        for (bool more = true; more;) {
            auto taken = co_await channels[room]->receive();
            if (!taken) {
                give_up(taken.reason());
            }
            more = all.take(room, *taken);
        }
        --running;
    }
};

std::string command(const char* verb, const std::string& list, const std::string& argument) {
    std::string text = "*3\r\n$5\r\n" + std::string(verb) + "\r\n";
    for (const std::string& each : {list, argument}) {
        text += '$' + std::to_string(each.size()) + "\r\n" + each + "\r\n";
    }
    return text;
}

/// By hand: a connection for each room, and one thread with epoll for all of them.
/// @param request  makes the next command of a room.
/// @param is_whole  whether a reply is complete.
/// @param take  gets a reply; @returns whether more follow.
template <class Request, class IsWhole, class Take>
void serve_each(rooms& all, Request request, IsWhole is_whole, Take take) {
    struct party {
        explicit party(::asio::io_context& io) : socket(io) {}

        local::socket socket;
        std::string reply = {};
    };
    ::asio::io_context io;
    std::deque<party> parties;
    const int ready = ::epoll_create1(0);
    for (std::size_t i = 0; i != all.count; ++i) {
        parties.emplace_back(io);
        parties[i].socket.connect(server::started().path);
        epoll_event wanted{.events = EPOLLIN, .data = {.u64 = i}};
        ::epoll_ctl(ready, EPOLL_CTL_ADD, parties[i].socket.native_handle(), &wanted);
        ::asio::write(parties[i].socket, ::asio::buffer(request(i)));
    }
    std::array<epoll_event, 256> events{};
    std::array<char, 1024> buffer;
    for (std::size_t running = all.count; running != 0;) {
        // A single connection needs no epoll: its read blocks.
        const int count =
            all.count == 1 ? 1 : ::epoll_wait(ready, events.data(), events.size(), -1);
        for (int i = 0; i < count; ++i) {
            const std::size_t room = events[static_cast<std::size_t>(i)].data.u64;
            auto& [socket, reply] = parties[room];
            reply.append(buffer.data(), socket.read_some(::asio::buffer(buffer)));
            if (!is_whole(room, reply)) {
                continue;
            }
            if (take(room, reply)) {
                ::asio::write(socket, ::asio::buffer(request(room)));
            } else {
                --running;
            }
            reply.clear();
        }
    }
    ::close(ready);
}

/// One connection, and one write for all rooms.
void push_together(rooms& all) {
    ::asio::io_context io;
    local::socket socket(io);
    socket.connect(server::started().path);
    std::array<char, 16384> buffer;
    for (bool is_last = false; !is_last;) {
        is_last = all.stop;
        std::string commands;
        for (std::size_t room = 0; room != all.count; ++room) {
            const item mine = all.next(room, is_last);
            commands += command("RPUSH", all.name(room),
                                {reinterpret_cast<const char*>(&mine), sizeof mine});
        }
        ::asio::write(socket, ::asio::buffer(commands));
        for (auto replies = static_cast<std::ptrdiff_t>(all.count); replies > 0;) {
            const std::size_t size = socket.read_some(::asio::buffer(buffer));
            replies -=
                std::count(buffer.begin(), std::next(buffer.begin(), static_cast<int>(size)), '\n');
        }
    }
}

void push_each(rooms& all) {
    std::vector<char> is_last(all.count);
    serve_each(
        all,
        [&](std::size_t room) {
            if (all.pauses) {
                std::this_thread::sleep_for(1ms);
            }
            is_last[room] = all.stop;
            const item mine = all.next(room, is_last[room] != 0);
            return command("RPUSH", all.name(room),
                           {reinterpret_cast<const char*>(&mine), sizeof mine});
        },
        [](std::size_t, const std::string& reply) { return reply.ends_with('\n'); },
        [&](std::size_t room, const std::string&) {
            all.note(all.ended);
            return is_last[room] == 0;
        });
}

void pop_each(rooms& all) {
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

/// How a rival sends and receives; tryst has neither function.
struct way {
    const char* name;
    void (*push)(rooms&);
    void (*pop)(rooms&);
};
constexpr way tryst_itself{"tryst", nullptr, nullptr};
constexpr way by_hand{"by hand", push_each, pop_each};
constexpr way one_write{"by hand, one write", push_together, pop_each};

/// Reports the time of a pair and the processor time that Redis takes for it, in microseconds; with
/// pauses, the median from the second arrival until both have their items.
measurement through_redis(way by, std::size_t count, bool pauses) {
    rooms all{count, pauses};
    const server& redis = server::started();
    std::thread receivers(
        [&] { by.pop == nullptr ? void(tryst_side(all, &tryst_side::receive_all)) : by.pop(all); });
    std::thread senders(
        [&] { by.push == nullptr ? void(tryst_side(all, &tryst_side::send_all)) : by.push(all); });
    while (all.pairs < count) { // until all are connected
        std::this_thread::sleep_for(1ms);
    }
    const std::uint64_t pairs = all.pairs;
    const seconds used = redis.used();
    const auto begin = steady::now();
    std::this_thread::sleep_for(500ms);
    measurement made{all.pairs - pairs, steady::now() - begin, true};
    made.more = {{"redis_us", seconds(redis.used() - used).count() * 1e6 /
                                  static_cast<double>(std::max(made.count, std::uint64_t{1}))}};
    all.stop = true;
    senders.join();
    receivers.join();
    made.conserved = all.sent == all.received;
    if (pauses) {
        std::vector<double> times;
        for (std::size_t i = 0; i != all.got.size(); ++i) {
            times.push_back(seconds(std::max(all.ended[i], all.got[i]) - all.begun[i]).count());
        }
        std::ranges::sort(times);
        made.ns = times[times.size() / 2] * 1e9;
    }
    return made;
}

/// Pairs within one process, in one room. One context runs all tasks.
template <class Room>
task<> swap_here(Room& room, ledger& all, std::size_t id, std::uint64_t& left,
                 std::size_t& running) {
    participant mine(all, id);
    for (;;) {
        auto got = co_await room.exchange(mine.next());
        if (!got) {
            break; // closed
        }
        mine.swapped(*got);
        if (--left == 0) {
            room.close(); // pairs that have met still end
        }
    }
    mine.done();
    --running;
}

template <class Room>
measurement within(Room& room, ::asio::io_context& io, std::size_t tasks) {
    constexpr std::uint64_t pairs = 100'000;
    std::uint64_t left = 2 * pairs;
    std::size_t running = tasks;
    ledger all(tasks);
    loop executor(io);
    all.begin();
    for (std::size_t i = 0; i != tasks; ++i) {
        executor.spawn(swap_here(room, all, i, left, running));
    }
    while (running != 0) {
        io.run_one();
    }
    all.end();
    return all.swaps();
}

[[maybe_unused]] const bool added = [] {
    for (const way by : {tryst_itself, by_hand, one_write}) {
        for (const std::size_t count : {1U, 16U, 200U}) {
            add(std::string("pair through Redis/") + by.name + '/' + std::to_string(count),
                [=](auto& state) { report(state, through_redis(by, count, false)); });
        }
    }
    for (const way by : {tryst_itself, by_hand}) {
        add(std::string("latency through Redis/") + by.name + "/1",
            [=](auto& state) { report(state, through_redis(by, 1, true)); });
    }
    for (const std::size_t count : {2U, 16U}) {
        const std::string size = '/' + std::to_string(count);
        add("swap within one process, for Redis/tryst" + size, [=](auto& state) {
            ::asio::io_context io(1);
            redis::connection connection(
                io, redis::options::from_url("unix://" + server::started().path));
            redis::remote_exchanger<item> room(connection, "here" + size);
            report(state, within(room, io, count));
        });
        add("swap within one process, for Redis/plain exchanger" + size, [=](auto& state) {
            ::asio::io_context io(1);
            exchanger<item> room;
            report(state, within(room, io, count));
        });
    }
    return true;
}();

} // namespace
} // namespace tryst::bench
