// SPDX-License-Identifier: MIT
// One process of the fault tests (remote_faults_test.py): offers numbered items in rooms, and keeps
// a record of each offer and its end. Each record is appended to the log in one write, so that the
// log of a killed process is complete up to its death.
//
// usage: remote_node URL LOG NAME [LEASE_MS [FORMAT [SEED OPERATIONS WORKERS]]]
//
// Reads commands from its input, and ends after the last operation when the input ends:
//     offer ID KIND ROOM PATIENCE_MS       KIND: exchange, red, blue, send or receive; -1: no limit
// If OPERATIONS is not 0, workers offer that many items at random. Then the program prints "done".
//
// Records, each with the time of the steady clock in milliseconds:
//     TIME offer ID KIND ROOM PATIENCE_MS
//     TIME got ID PARTNER KIND ROOM        as the partner's item says; a sender gets only "got ID"
//     TIME returned ID WHY
//     TIME in_doubt ID WHY
//     TIME end
#include <tryst/redis.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sleep.hpp>
#include <tryst/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <asio/io_context.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace {

namespace redis = tryst::redis;
using std::chrono::milliseconds;

/// The format of items in this process. Another version of the program may have another.
std::string format = "1";

/// "ID KIND ROOM", and any number of dots.
struct item_codec {
    static std::string encode(const std::string& item) { return format + ' ' + item; }
    static std::string decode(std::string_view bytes) {
        const std::string begin = format + ' ';
        if (!bytes.starts_with(begin)) {
            throw std::invalid_argument("an item of another format");
        }
        return std::string(bytes.substr(begin.size()));
    }
};

/// Each `exchange_errc` in a record.
constexpr const char* errors[] = {"",           "timed_out",     "cancelled",    "closed",
                                  "no_partner", "out_of_memory", "not_selected", "unavailable",
                                  "in_doubt"};

/// Larger than what Redis publishes.
constexpr std::size_t large = 10'000;

class record_log {
public:
    explicit record_log(const char* path)
        : file_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
    void write(const std::string& text) const {
        const auto now = std::chrono::duration_cast<milliseconds>(
            std::chrono::steady_clock::now().time_since_epoch());
        const std::string line = std::to_string(now.count()) + ' ' + text + '\n';
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
            std::abort();
        }
    }

private:
    int file_;
};

/// What is offered.
struct offer {
    std::string id;
    std::string kind;
    std::string room;
    long patience = -1; ///< In milliseconds; -1: without limit; 0: tries.
    std::stop_token stop = {};
    bool is_large = false;
};

/// The rooms of one name, one of each kind.
struct place {
    place(redis::connection& through, const std::string& name)
        : exchange(through, name), colours(through, name), channel(through, name) {}
    redis::remote_exchanger<std::string, item_codec> exchange;
    redis::remote_red_blue_exchanger<std::string, std::string, item_codec, item_codec> colours;
    redis::remote_channel<std::string, item_codec> channel;
};

class node {
public:
    node(const std::string& url, const char* log, std::string name, long lease)
        : log_(log), name_(std::move(name)), connection_(context_, options_of(url, lease)),
          network_([this] { context_.run(); }), tasks_([this] { loop_.run(); }) {}
    node(const node&) = delete;
    node& operator=(const node&) = delete;
    ~node() {
        release();
        tasks_.join();
        log_.write("end");
        places_.clear();
        connection_.close();
        network_.join();
    }

    void make(offer what) {
        ++active_;
        loop_.spawn(make_and_count(std::move(what)));
    }

    void work(unsigned seed, long operations, int workers) {
        unstarted_ = operations;
        workers_ = workers;
        active_ += workers;
        for (int i = 0; i != workers; ++i) {
            loop_.spawn(work_at_random(seed * 1000 + static_cast<unsigned>(i), i));
        }
    }

private:
    static redis::options options_of(const std::string& url, long lease) {
        redis::options chosen = redis::options::from_url(url);
        chosen.lease = milliseconds(lease);
        return chosen;
    }

    void release() {
        if (--active_ == 0) {
            loop_.stop();
        }
    }

    std::shared_ptr<place> place_of(const std::string& name) {
        std::shared_ptr<place>& found = places_[name];
        if (!found) {
            found = std::make_shared<place>(connection_, name);
        }
        return found;
    }

    /// @returns why there was no exchange; 0 if there was one.
    template <class Result>
    tryst::task<tryst::exchange_errc> record_end(const offer& what, const std::string& item,
                                                 tryst::task<Result> work) const {
        const auto got = co_await std::move(work);
        if (got) {
            std::string partner;
            if constexpr (!std::is_void_v<typename Result::value_type>) {
                partner = *got;
                const std::size_t padding = partner.size() - partner.find_last_not_of('.') - 1;
                partner.resize(partner.size() - padding);
                partner.insert(0, 1, ' ');
                if (padding != 0 && padding != large) {
                    partner += " incomplete";
                }
            }
            log_.write("got " + what.id + partner);
            co_return tryst::exchange_errc{};
        }
        const auto why = static_cast<tryst::exchange_errc>(got.error().value());
        std::string end = why == tryst::exchange_errc::in_doubt
                              ? "in_doubt " + what.id + ' ' + got.reason()
                              : "returned " + what.id + ' ' + errors[got.error().value()];
        if constexpr (requires { got.returned(); }) {
            if (got.returned() != item) {
                end = "returned " + what.id + " another_item";
            }
        }
        log_.write(end);
        co_return why;
    }

    tryst::task<tryst::exchange_errc> run(offer what, std::shared_ptr<place> where) {
        std::string item = what.id + ' ' + what.kind + ' ' + what.room;
        if (what.is_large) {
            item.append(large, '.');
        }
        log_.write("offer " + what.id + ' ' + what.kind + ' ' + what.room + ' ' +
                   std::to_string(what.patience));
        const auto now = std::chrono::steady_clock::now();
        const auto deadline = what.patience < 0 ? std::chrono::steady_clock::time_point::max()
                                                : now + milliseconds(what.patience);
        const bool once = what.patience == 0;
        auto& [exchange, colours, channel] = *where;
        const auto operation = [&](auto limited, auto tried) {
            return record_end(what, item, once ? tried() : limited(deadline, what.stop));
        };
        auto running =
            what.kind == "exchange"
                ? operation([&](auto... limit) { return exchange.exchange(item, limit...); },
                            [&] { return exchange.try_exchange(item); })
            : what.kind == "red"
                ? operation([&](auto... limit) { return colours.red(item, limit...); },
                            [&] { return colours.try_red(item); })
            : what.kind == "blue"
                ? operation([&](auto... limit) { return colours.blue(item, limit...); },
                            [&] { return colours.try_blue(item); })
            : what.kind == "send"
                ? operation([&](auto... limit) { return channel.send(item, limit...); },
                            [&] { return channel.try_send(item); })
                : operation([&](auto... limit) { return channel.receive(limit...); },
                            [&] { return channel.try_receive(); });
        const tryst::exchange_errc why = co_await std::move(running);
        co_return why;
    }

    tryst::task<> make_and_count(offer what) {
        auto where = place_of(what.room);
        auto running = run(std::move(what), std::move(where));
        co_await std::move(running);
        release();
    }

    tryst::task<> stop_later(std::stop_source stop, milliseconds time) {
        static_cast<void>(co_await tryst::sleep_for(time));
        stop.request_stop();
        release();
    }

    tryst::task<> work_at_random(unsigned seed, int worker) {
        static constexpr const char* kinds[] = {"exchange", "exchange", "red",
                                                "blue",     "send",     "receive"};
        std::mt19937 random(seed);
        const auto below = [&](unsigned limit) { return static_cast<long>(random() % limit); };
        for (long number = 0; unstarted_-- > 0; ++number) {
            offer what;
            what.id = name_ + '-' + std::to_string(worker) + '-' + std::to_string(number);
            what.kind = kinds[below(6)];
            const std::string name = "room" + std::to_string(below(3));
            long& closes = closes_[name];
            const long seen = closes;
            what.room = name + '.' + std::to_string(seen);
            what.patience = below(20) == 0 ? 0 : 1 + below(below(4) == 0 ? 1000 : 100);
            what.is_large = below(10) == 0;
            if (below(10) == 0) {
                std::stop_source stop;
                what.stop = stop.get_token();
                ++active_;
                loop_.spawn(stop_later(stop, milliseconds(below(50))));
            }
            const auto where = place_of(what.room);
            if (below(1000) == 0) {
                where->exchange.close();
                where->colours.close();
                where->channel.close();
            }
            auto running = run(std::move(what), where);
            const tryst::exchange_errc why = co_await std::move(running);
            if (why == tryst::exchange_errc::closed && closes == seen) {
                // Its operations keep the place, the others go to the next.
                places_.erase(name + '.' + std::to_string(seen));
                ++closes;
            } else if (why == tryst::exchange_errc::unavailable) {
                static_cast<void>(co_await tryst::sleep_for(milliseconds(5)));
            }
        }
        if (--workers_ == 0) {
            std::cout << "done" << std::endl;
        }
        release();
    }

    record_log log_;
    std::string name_;
    redis::net::io_context context_;
    redis::connection connection_;
    tryst::run_loop loop_;
    std::atomic<int> active_ = 1; ///< Tasks; and one while commands may come.
    // Used by tasks only.
    std::map<std::string, std::shared_ptr<place>> places_;
    std::map<std::string, long> closes_; ///< How often each name was closed, as far as is known.
    long unstarted_ = 0;
    int workers_ = 0;
    std::thread network_;
    std::thread tasks_;
};

} // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        std::cerr
            << "usage: remote_node URL LOG NAME [LEASE_MS [FORMAT [SEED OPERATIONS WORKERS]]]\n";
        return 2;
    }
    const auto number = [&](int index, long otherwise) {
        return count > index ? std::atol(arguments[index]) : otherwise;
    };
    if (count > 5) {
        format = arguments[5];
    }
    node here(arguments[1], arguments[2], arguments[3], number(4, 1000));
    if (const long operations = number(7, 0); operations != 0) {
        here.work(static_cast<unsigned>(number(6, 1)), operations, static_cast<int>(number(8, 8)));
    }
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string verb;
        offer what;
        if (words >> verb >> what.id >> what.kind >> what.room >> what.patience) {
            here.make(std::move(what));
        }
    }
}
