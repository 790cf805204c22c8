// SPDX-License-Identifier: MIT
#include "client.hpp"

#include "tls.hpp"
#include "wire.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

/// A call that is redirected more often is refused.
constexpr unsigned max_redirections = 5;
/// In place of the number of redirections: the call does not follow its slot to another node.
constexpr unsigned stays = 255;

bool has_code(std::string_view error, std::string_view code) {
    return error.starts_with(code) && (error.size() == code.size() || error[code.size()] == ' ');
}

/// Whether calls may succeed at another host of the options.
bool says_no_master(std::string_view error) {
    if (has_code(error, "READONLY") || has_code(error, "MASTERDOWN") ||
        has_code(error, "LOADING")) {
        return true;
    }
    // Redis 6 wraps the errors of commands that a script executes.
    return error.starts_with("ERR Error running script") &&
           error.find(": -READONLY ") != error.npos;
}

std::string milliseconds(std::chrono::milliseconds time) {
    return std::to_string(time.count()) + " ms";
}

} // namespace

client::client(const net::any_io_executor& executor, options chosen, std::string process,
               std::string_view script, observer& who)
    : options_(std::move(chosen)), process_(std::move(process)), script_(script), observer_(who),
      strand_(executor), timer_(strand_), random_(std::random_device()()) {
    if (options_.hosts.empty()) {
        throw std::invalid_argument("tryst: the Redis options name no host");
    }
}

void client::start() {
    net::dispatch(strand_, [self = shared_from_this()] {
        if (self->state_ == state::idle) {
            self->connect();
        }
    });
}

void client::stop() {
    if (state_ == state::stopped) {
        return;
    }
    const std::shared_ptr<client> self = shared_from_this();
    state_ = state::stopped;
    error_ = "the client was stopped";
    ++timer_use_;
    timer_.cancel();
    close_links(error_);
}

// ---- Calls.

void client::call(std::span<const std::string> keys, std::span<const std::string_view> arguments,
                  handler answer, when_moved then) {
    const std::shared_ptr<link> through = ready() ? link_for(keys) : nullptr;
    if (!through) {
        net::post(strand_, [self = shared_from_this(), answer = std::move(answer)] {
            const std::string_view why = self->error_;
            answer({call_reply::kind::unsent, nullptr, why.empty() ? "not connected yet" : why});
        });
        return;
    }
    std::string& out = through->begin_request();
    append_header(out, '*', 3 + keys.size() + arguments.size());
    out += call_prefix_;
    std::array<char, 24> digits; // NOLINT(cppcoreguidelines-pro-type-member-init)
    const char* const end =
        std::to_chars(digits.data(), digits.data() + digits.size(), keys.size()).ptr;
    append_argument(out, std::string_view(digits.data(), end));
    for (const std::string& key : keys) {
        append_argument(out, key);
    }
    for (const std::string_view argument : arguments) {
        append_argument(out, argument);
    }
    through->end_request(std::move(answer), true, then == when_moved::follow ? 0 : stays);
}

bool client::on_refused(link& where, std::string_view error, const link::request& what) {
    if (has_code(error, "NOSCRIPT")) {
        return repeat_with_script(where, what);
    }
    if (const std::optional<redirection> target = parse_redirection(error, where.where())) {
        return redirect(*target, what);
    }
    if (says_no_master(error)) {
        drain(error);
    }
    return false;
}

bool client::repeat_with_script(link& where, const link::request& what) {
    const std::size_t line = what.bytes.find("\r\n") + 2;
    if (!what.bytes.substr(line).starts_with(call_prefix_)) {
        return false; // this was an EVAL
    }
    std::string& out = where.begin_request();
    out += what.bytes.substr(0, line);
    append_argument(out, "EVAL");
    append_argument(out, script_);
    out += what.bytes.substr(line + call_prefix_.size());
    where.end_request(std::move(*what.answer), true, what.redirections);
    return true;
}

// ---- The nodes of a cluster.

std::shared_ptr<link> client::link_for(std::span<const std::string> keys) {
    if (!slots_.empty() && !keys.empty()) {
        if (std::shared_ptr<link> node = slots_[slot_of(keys.front())].lock()) {
            return node;
        }
    }
    return calls_.lock();
}

std::shared_ptr<link> client::link_to_node(const address& where) {
    std::weak_ptr<link>& known = nodes_[where.text()];
    if (std::shared_ptr<link> node = known.lock()) {
        return node;
    }
    std::shared_ptr<link> node = make_link(link::role::calls, where);
    known = node;
    authenticate(*node);
    node->open();
    return node;
}

bool client::redirect(const redirection& target, const link::request& what) {
    if (what.redirections == max_redirections || (state_ != state::ready)) {
        return false;
    }
    const std::shared_ptr<link> node = link_to_node(target.where);
    if (target.is_moved) {
        slots_.resize(slot_count);
        slots_[target.slot] = node;
        if (what.redirections == stays) {
            (*what.answer)({call_reply::kind::unsent, nullptr, "another node serves the slot now"});
            return true;
        }
    } else {
        node->send({"ASKING"}, nullptr);
    }
    node->begin_request() += what.bytes;
    const bool counts = what.redirections != stays;
    node->end_request(std::move(*what.answer), true, what.redirections + (counts ? 1 : 0));
    return true;
}

std::vector<std::shared_ptr<link>> client::links() const {
    std::vector<std::weak_ptr<link>> known{messages_, calls_};
    for (const auto& [where, node] : nodes_) {
        known.push_back(node);
    }
    std::vector<std::shared_ptr<link>> all;
    for (const std::weak_ptr<link>& each : known) {
        if (std::shared_ptr<link> one = each.lock()) {
            all.push_back(std::move(one));
        }
    }
    return all;
}

// ---- Connecting.

void client::connect() {
    host_ = 0;
    host_errors_.clear();
    state_ = state::connecting;
    connect_to_host();
}

void client::connect_to_host() {
    info_ = {};
    other_info_ = {};
    if (options_.tls.enabled) {
        try {
            tls_ = make_tls_context(options_.tls); // again, because files may have changed
        } catch (const std::exception& problem) {
            fail_host(problem.what());
            return;
        }
    }
    after(options_.connect_timeout, [this] {
        const std::shared_ptr<link> messages = messages_.lock();
        const std::shared_ptr<link> last = messages ? messages : calls_.lock();
        fail_host("no connection after " + milliseconds(options_.connect_timeout) + ": cannot " +
                  (last ? last->stage() : "connect"));
    });
    const std::shared_ptr<link> calls = make_link(link::role::calls, options_.hosts[host_]);
    calls_ = calls;
    authenticate(*calls);
    if (options_.database != 0) {
        request(*calls, {"SELECT", std::to_string(options_.database)},
                "cannot select database " + std::to_string(options_.database), [](auto&) {});
    }
    request(*calls, {"INFO", "server"}, "cannot execute INFO",
            [this](const redisReply& reply) { info_.read(text_of(reply)); });
    request(*calls, {"INFO", "replication"}, "cannot execute INFO",
            [this](const redisReply& reply) {
                info_.read(text_of(reply));
                check_server();
            });
    calls->open();
}

std::shared_ptr<link> client::make_link(link::role purpose, const address& where) {
    return std::make_shared<link>(strand_, options_, where, tls_,
                                  std::shared_ptr<link::owner>(shared_from_this(), this), purpose);
}

void client::authenticate(link& through) {
    const std::string& user = options_.user;
    const std::string& password = options_.password;
    if (!user.empty()) {
        request(through, {"AUTH", user, password}, "refused user " + user, [](auto&) {});
    } else if (!password.empty()) {
        request(through, {"AUTH", password}, "refused the password", [](auto&) {});
    }
}

/// Sends a command of a handshake. If Redis refuses it, the connection fails with `problem`.
template <class Next>
void client::request(link& through, std::initializer_list<std::string_view> words,
                     std::string problem, Next next) {
    through.send(words, [this, &through, attempt = attempt_, problem = std::move(problem),
                         next = std::move(next)](const call_reply& reply) {
        if (attempt != attempt_) {
            return;
        }
        if (reply.what == call_reply::kind::answered) {
            next(*reply.value);
        } else if (reply.what == call_reply::kind::refused) {
            on_broken(through, problem + ": " + std::string(reply.error));
        }
    });
}

void client::check_server() {
    if (const std::string problem = info_.problem(); !problem.empty()) {
        fail_host(problem);
        return;
    }
    if (const std::shared_ptr<link> calls = calls_.lock()) {
        request(*calls, {"SCRIPT", "LOAD", script_}, "cannot load the script",
                [this](const redisReply& reply) {
                    call_prefix_.clear();
                    append_argument(call_prefix_, "EVALSHA");
                    append_argument(call_prefix_, text_of(reply));
                    if (const std::shared_ptr<link> loaded = calls_.lock()) {
                        subscribe(loaded->endpoint());
                    }
                });
    }
}

void client::subscribe(const stream::endpoint& same) {
    const std::shared_ptr<link> messages = make_link(link::role::messages, options_.hosts[host_]);
    messages_ = messages;
    authenticate(*messages);
    request(*messages, {"INFO", "server"}, "cannot execute INFO",
            [this](const redisReply& reply) { other_info_.read(text_of(reply)); });
    request(*messages, {"SUBSCRIBE", channel()}, "cannot subscribe to channel " + channel(),
            [this](const redisReply& reply) {
                if (!begins_with(reply, "subscribe")) {
                    fail_host("is not a Redis server: it does not know SUBSCRIBE");
                } else if (info_.run_id != other_info_.run_id) {
                    fail_host("leads to a different server at each connection");
                } else {
                    become_ready();
                }
            });
    messages->open(same);
}

void client::become_ready() {
    state_ = state::ready;
    is_down_ = false;
    error_.clear();
    ++epoch_;
    ready_since_ = std::chrono::steady_clock::now();
    tick();
    observer_.on_ready();
}

void client::fail_host(const std::string& why) {
    if (!host_errors_.empty()) {
        host_errors_ += "; ";
    }
    host_errors_ += options_.hosts[host_].text() + ": " + why;
    close_links(why);
    if (++host_ < options_.hosts.size()) {
        connect_to_host();
        return;
    }
    ++failures_;
    is_down_ = true;
    error_ = host_errors_;
    pause();
    observer_.on_down();
}

// ---- The connection breaks.

void client::on_broken(link& broken, const std::string& why) {
    if (state_ == state::connecting) {
        fail_host(why);
    } else {
        lose(broken.where().text() + ": " + why);
    }
}

void client::lose(const std::string& why) {
    const bool was_short = std::chrono::steady_clock::now() - ready_since_ < options_.backoff_max;
    failures_ = was_short ? failures_ + 1 : 1;
    error_ = why;
    pause();
    close_links(why);
    if (state_ != state::stopped) { // by a handler
        observer_.on_lost();
    }
}

void client::drain(std::string_view why) {
    if (state_ != state::ready) {
        return;
    }
    state_ = state::draining;
    error_ = options_.hosts[host_].text() + ": " + std::string(why);
    net::post(strand_, [self = shared_from_this(), epoch = epoch_] {
        if (epoch == self->epoch_) {
            self->finish_draining();
        }
    });
}

void client::finish_draining() {
    if (state_ != state::draining) {
        return;
    }
    const std::vector<std::shared_ptr<link>> all = links();
    if (std::ranges::none_of(all, [](const auto& one) { return one->has_pending(); })) {
        lose(std::string(error_));
    }
}

void client::close_links(std::string_view why) {
    ++attempt_;
    const std::vector<std::shared_ptr<link>> all = links();
    calls_.reset();
    messages_.reset();
    nodes_.clear();
    slots_.clear();
    for (const std::shared_ptr<link>& each : all) {
        each->close(why);
    }
}

void client::on_published(std::string_view text) {
    if (state_ == state::ready || state_ == state::draining) {
        observer_.on_message(text);
    }
}

// ---- Time.

void client::pause() {
    state_ = state::pausing;
    const std::chrono::duration<double, std::milli> first = options_.backoff_min;
    const std::chrono::duration<double, std::milli> longest = options_.backoff_max;
    const unsigned doublings = std::min(failures_ - 1, 30u);
    const auto pause = std::min(first * static_cast<double>(1u << doublings), longest) *
                       (0.5 + random_fraction() / 2);
    after(std::chrono::duration_cast<std::chrono::nanoseconds>(pause), [this] { connect(); });
}

void client::tick() {
    after(std::chrono::nanoseconds(options_.request_timeout) / link::ticks_per_timeout, [this] {
        const std::uint64_t attempt = attempt_;
        finish_draining();
        for (const std::shared_ptr<link>& each : links()) {
            if (attempt == attempt_) {
                each->tick();
            }
        }
        if (attempt == attempt_) {
            tick();
        }
    });
}

template <class Action>
void client::after(std::chrono::nanoseconds pause, Action action) {
    const std::chrono::nanoseconds shortest = std::chrono::milliseconds(1); // options may be zero
    timer_.expires_after(std::max(pause, shortest));
    timer_.async_wait([self = shared_from_this(), use = ++timer_use_,
                       action = std::move(action)](const error_code& error) {
        if (!error && use == self->timer_use_) {
            action();
        }
    });
}

double client::random_fraction() {
    return std::uniform_real_distribution<double>()(random_);
}

} // namespace detail
TRYST_REDIS_END
