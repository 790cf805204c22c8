// SPDX-License-Identifier: MIT
#include "client.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

/// A call that is redirected more often is refused.
constexpr unsigned max_redirections = 5;

bool has_code(std::string_view error, std::string_view code) {
    return error.starts_with(code) && (error.size() == code.size() || error[code.size()] == ' ');
}

} // namespace

bool says_no_master(std::string_view error) {
    if (has_code(error, "READONLY") || has_code(error, "MASTERDOWN") ||
        has_code(error, "LOADING")) {
        return true;
    }
    // Redis 6 wraps the errors of commands that a script executes.
    return error.starts_with("ERR Error running script") &&
           error.find(": -READONLY ") != error.npos;
}

client::client(const net::any_io_executor& executor, options chosen,
               std::vector<std::string> channels, std::string_view script, observer& who)
    : options_(std::move(chosen)), channels_(std::move(channels)), script_(script), observer_(who),
      strand_(executor), timer_(strand_), random_(std::random_device()()) {
    if (options_.hosts.empty()) {
        throw std::invalid_argument("tryst: the Redis options name no host");
    }
}

void client::start() {
    net::dispatch(strand_, [self = shared_from_this()] {
        if (self->state_ == state::idle) {
            self->connect(0);
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
    through->end_request(
        {.answer = std::move(answer), .is_call = true, .stays = then == when_moved::stay});
}

bool client::on_refused(link& where, std::string_view error, std::string_view bytes,
                        link::request& what) {
    if (has_code(error, "NOSCRIPT") && !std::exchange(what.has_loaded, true)) {
        where.load_script(what.begin);
        where.begin_request() += bytes;
        where.end_request(std::move(what));
        return true;
    }
    if (const std::optional<redirection> target = parse_redirection(error, where.where())) {
        return redirect(*target, bytes, what);
    }
    if (says_no_master(error)) {
        drain(error);
    }
    return false;
}

// ---- The nodes of a cluster.

std::shared_ptr<link> client::link_for(std::span<const std::string> keys) {
    if (!slots_.empty() && !keys.empty()) {
        if (std::shared_ptr<link> node = slots_[slot_of(keys.front())].lock()) {
            return node;
        }
    }
    return main_.lock();
}

std::shared_ptr<link> client::link_to_node(const address& where) {
    std::weak_ptr<link>& known = nodes_[where.text()];
    if (std::shared_ptr<link> node = known.lock()) {
        return node;
    }
    std::shared_ptr<link> node = open_link(where, {});
    known = node;
    return node;
}

bool client::redirect(const redirection& target, std::string_view bytes, link::request& what) {
    if (what.redirections == max_redirections || state_ != state::ready) {
        return false;
    }
    const std::shared_ptr<link> node = link_to_node(target.where);
    if (target.is_moved) {
        slots_.resize(slot_count);
        slots_[target.slot] = node;
        if (what.stays) {
            what.answer({call_reply::kind::unsent, nullptr, "another node serves the slot now"});
            return true;
        }
    } else {
        node->send({"ASKING"});
    }
    ++what.redirections;
    node->begin_request() += bytes;
    node->end_request(std::move(what));
    return true;
}

std::vector<std::shared_ptr<link>> client::links() const {
    std::vector<std::weak_ptr<link>> known{main_};
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

void client::connect(std::size_t host) {
    state_ = state::connecting;
    host_ = host;
    main_ = open_link(options_.hosts[host], channels_);
}

std::shared_ptr<link> client::open_link(const address& where, std::vector<std::string> channels) {
    auto made = std::make_shared<link>(strand_, options_, where, script_, std::move(channels),
                                       std::shared_ptr<link::owner>(shared_from_this(), this));
    made->open();
    return made;
}

void client::on_open(link& opened) {
    if (state_ != state::connecting) {
        return; // this is one to another node
    }
    state_ = state::ready;
    is_down_ = false;
    error_.clear();
    host_errors_.clear();
    is_in_cluster_ = opened.is_in_cluster();
    call_prefix_.clear();
    append_argument(call_prefix_, "EVALSHA");
    append_argument(call_prefix_, opened.script_hash());
    ++epoch_;
    ready_since_ = std::chrono::steady_clock::now();
    set_timer(options_.request_timeout / link::ticks_per_timeout);
    observer_.on_ready();
}

void client::fail_host(const std::string& why) {
    if (!host_errors_.empty()) {
        host_errors_ += "; ";
    }
    host_errors_ += options_.hosts[host_].text() + ": " + why;
    close_links(why);
    if (host_ + 1 < options_.hosts.size()) {
        connect(host_ + 1);
        return;
    }
    ++failures_;
    is_down_ = true;
    error_ = std::exchange(host_errors_, {});
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
    const std::vector<std::shared_ptr<link>> all = links();
    main_.reset();
    nodes_.clear();
    slots_.clear();
    for (const std::shared_ptr<link>& each : all) {
        each->close(why);
    }
}

void client::on_published(std::string_view channel, std::string_view text) {
    observer_.on_message(channel, text);
}

// ---- Time.

void client::pause() {
    state_ = state::pausing;
    const std::chrono::duration<double, std::nano> first = options_.backoff_min;
    const std::chrono::duration<double, std::nano> longest = options_.backoff_max;
    const double factor = std::uniform_real_distribution<double>(0.5, 1)(random_);
    const double doubled = static_cast<double>(1u << std::min(failures_ - 1, 30u));
    const auto pause = std::min(first * doubled, longest) * factor;
    set_timer(std::chrono::duration_cast<std::chrono::nanoseconds>(pause));
}

void client::set_timer(std::chrono::nanoseconds pause) {
    const std::chrono::nanoseconds shortest = std::chrono::milliseconds(1); // options may be zero
    timer_.expires_after(std::max(pause, shortest));
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error && self->timer_.expiry() <= std::chrono::steady_clock::now()) {
            self->on_timer();
        }
    });
}

void client::on_timer() {
    if (state_ == state::pausing) {
        connect(0);
        return;
    }
    const std::uint64_t epoch = epoch_;
    finish_draining();
    for (const std::shared_ptr<link>& each : links()) {
        if (epoch == epoch_ && state_ != state::pausing) {
            each->tick();
        }
    }
    if (state_ == state::ready || state_ == state::draining) {
        set_timer(options_.request_timeout / link::ticks_per_timeout);
    }
}

} // namespace detail
TRYST_REDIS_END
