// SPDX-License-Identifier: MIT
#include "client.hpp"

#include <algorithm>
#include <exception>
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
    spawn(strand_, run(shared_from_this()));
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
    append_argument(out, std::to_string(keys.size()));
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
    std::vector<std::shared_ptr<link>> all;
    const auto add = [&all](const std::weak_ptr<link>& each) {
        if (std::shared_ptr<link> one = each.lock()) {
            all.push_back(std::move(one));
        }
    };
    add(main_);
    for (const auto& [where, node] : nodes_) {
        add(node);
    }
    return all;
}

// ---- Connecting.

net::awaitable<void> client::run(std::shared_ptr<client> /*self*/) {
    while (state_ != state::stopped) {
        state_ = state::connecting;
        host_errors_.clear();
        for (const address& host : options_.hosts) {
            host_ = host.text();
            main_ = open_link(host, channels_);
            [[maybe_unused]] const bool passed = co_await wait(std::chrono::nanoseconds::max());
            if (state_ != state::connecting) {
                break;
            }
        }
        if (state_ == state::connecting) {
            state_ = state::pausing;
            ++failures_;
            is_down_ = true;
            error_ = host_errors_;
            go_on_after([this] { observer_.on_change(); });
        }
        while (state_ == state::ready || state_ == state::draining) {
            const bool is_tick = co_await wait(options_.request_timeout / link::ticks_per_timeout);
            go_on_after([&] {
                finish_draining();
                if (is_tick) {
                    std::ranges::for_each(links(), &link::tick);
                }
            });
        }
        if (state_ == state::pausing) {
            [[maybe_unused]] const bool passed = co_await wait(backoff());
        }
    }
}

/// Makes a step that may call handlers. An exception of a handler leaves the `run` of the context,
/// but does not end this coroutine.
template <class Step>
void client::go_on_after(Step step) {
    try {
        step();
    } catch (...) {
        net::post(strand_, [thrown = std::current_exception()] { std::rethrow_exception(thrown); });
    }
}

/// @returns false if the state changed before.
net::awaitable<bool> client::wait(std::chrono::nanoseconds time) {
    const std::chrono::nanoseconds shortest = std::chrono::milliseconds(1); // options may be zero
    error_code error;
    timer_.expires_after(std::max(time, shortest));
    co_await timer_.async_wait(net::redirect_error(net::use_awaitable, error));
    co_return !error;
}

std::chrono::nanoseconds client::backoff() {
    const std::chrono::duration<double, std::nano> first = options_.backoff_min;
    const std::chrono::duration<double, std::nano> longest = options_.backoff_max;
    const double factor = std::uniform_real_distribution<double>(0.5, 1)(random_);
    const double doubled = static_cast<double>(1u << std::min(failures_ - 1, 30u));
    const auto pause = std::min(first * doubled, longest) * factor;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(pause);
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
    is_in_cluster_ = opened.is_in_cluster();
    call_prefix_.clear();
    append_argument(call_prefix_, "EVALSHA");
    append_argument(call_prefix_, opened.script_hash());
    ++epoch_;
    ready_since_ = std::chrono::steady_clock::now();
    timer_.cancel();
    observer_.on_change();
}

// ---- The connection breaks.

void client::on_broken(link& broken, const std::string& why) {
    const std::string problem = broken.where().text() + ": " + why;
    if (state_ != state::connecting) {
        lose(problem);
        return;
    }
    host_errors_ += (host_errors_.empty() ? "" : "; ") + problem;
    close_links(why);
    timer_.cancel();
}

void client::lose(const std::string& why) {
    const bool was_short = std::chrono::steady_clock::now() - ready_since_ < options_.backoff_max;
    failures_ = was_short ? failures_ + 1 : 1;
    error_ = why;
    state_ = state::pausing;
    timer_.cancel();
    close_links(why);
    if (state_ != state::stopped) { // by a handler
        observer_.on_change();
    }
}

void client::drain(std::string_view why) {
    if (state_ != state::ready) {
        return;
    }
    state_ = state::draining;
    error_ = host_ + ": " + std::string(why);
    timer_.cancel();
}

void client::finish_draining() {
    if (state_ == state::draining &&
        std::ranges::none_of(links(), [](const auto& one) { return one->has_pending(); })) {
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

} // namespace detail
TRYST_REDIS_END
