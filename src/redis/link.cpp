// SPDX-License-Identifier: MIT
#include "link.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

/// What a reply may have in addition to the largest item.
constexpr std::size_t beside_item = std::size_t{64} * 1024;
/// Larger batches give their memory back.
constexpr std::size_t max_spare = std::size_t{256} * 1024;
/// Of the text of a server, in an error.
constexpr std::size_t max_quotation = 200;

bool is_too_old(std::string_view version) {
    const std::size_t dot = std::min(version.find('.'), version.size() - 1);
    const unsigned major = parse_number<unsigned>(version.substr(0, dot)).value_or(0);
    version.remove_prefix(dot + 1);
    const unsigned minor = parse_number<unsigned>(version.substr(0, version.find('.'))).value_or(0);
    return major < 6 || (major == 6 && minor < 2);
}

} // namespace

void spawn(const net::strand<net::any_io_executor>& strand, net::awaitable<void> work) {
    net::co_spawn(strand, std::move(work), [](const std::exception_ptr& problem) {
        if (problem) { // of a handler
            std::rethrow_exception(problem);
        }
    });
}

link::link(const strand_type& strand, const options& chosen, address where, std::string_view script,
           std::vector<std::string> channels, std::shared_ptr<owner> who)
    : options_(chosen), where_(std::move(where)), script_(script), channels_(std::move(channels)),
      owner_(std::move(who)), strand_(strand), stream_(strand), resolver_(strand), timer_(strand),
      reader_(chosen.max_item + beside_item) {}

// ---- Connecting.

void link::open() {
    deadline_ = clock::now() + options_.connect_timeout;
    close_at(deadline_);
    // Not at once: the owner has no pointer to this yet, and a wrong path fails without a wait.
    net::post(strand_, [self = shared_from_this()] { spawn(self->strand_, self->run(self)); });
}

net::awaitable<void> link::run(std::shared_ptr<link> /*self*/) {
    std::string problem;
    try {
        co_await connect();
        co_await greet();
    } catch (const std::exception& caught) {
        problem = caught.what();
    }
    if (!problem.empty()) {
        fail(problem);
    }
    if (!problem.empty() || !owner_) {
        co_return;
    }
    is_open_ = true;
    timer_.cancel();
    const std::shared_ptr<owner> who = owner_;
    who->on_open(*this);
    co_await serve();
}

/// Sets the timer. At `when`, what it bounds ends with an error, or at the deadline the link.
void link::close_at(clock::time_point when) {
    timer_.expires_at(when);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (error || self->is_open_ || self->timer_.expiry() > clock::now()) {
            return;
        }
        if (self->timer_.expiry() < self->deadline_) {
            self->stream_.close();
        } else {
            self->fail("no connection after " +
                       std::to_string(self->options_.connect_timeout.count()) + " ms: cannot " +
                       self->stage_);
        }
    });
}

net::awaitable<std::vector<stream::endpoint>> link::resolve() {
    std::vector<stream::endpoint> endpoints;
    error_code error;
    if (!where_.path.empty()) {
        try {
            endpoints.emplace_back(net::local::stream_protocol::endpoint(where_.path));
        } catch (const system_error& problem) { // the path is too long
            throw std::runtime_error("cannot connect: " + problem.code().message());
        }
    } else if (const auto parsed = net::ip::make_address(where_.host, error); !error) {
        endpoints.emplace_back(net::ip::tcp::endpoint(parsed, where_.port));
    } else {
        stage_ = "resolve the host's name";
        const auto found = co_await resolver_.async_resolve(
            where_.host, std::to_string(where_.port), net::ip::resolver_base::numeric_service,
            net::redirect_error(net::use_awaitable, error));
        if (error) {
            throw std::runtime_error("cannot resolve the host's name: " + error.message());
        }
        for (const auto& entry : found) {
            endpoints.emplace_back(entry.endpoint());
        }
    }
    co_return endpoints;
}

// A name may have several addresses. All but the last get an equal share of the time that is left,
// so that one that does not answer leaves time for the next.
net::awaitable<void> link::connect() {
    const std::vector<stream::endpoint> endpoints = co_await resolve();
    error_code error;
    for (std::size_t i = 0; owner_ && i < endpoints.size(); ++i) {
        stage_ = "connect";
        const auto now = clock::now();
        const auto share = (deadline_ - now) / static_cast<long>(endpoints.size() - i);
        close_at(i + 1 == endpoints.size() ? deadline_ : now + share);
        co_await stream_.async_connect(endpoints[i],
                                       net::redirect_error(net::use_awaitable, error));
        if (!error) {
            break;
        }
        stream_.close();
    }
    if (error || !owner_) {
        throw std::runtime_error("cannot connect: " + error.message());
    }
    close_at(deadline_);
    stream_.set_no_delay();
    if (options_.tls.enabled) {
        const std::string& name = options_.tls.server_name;
        stream_.use_tls(options_.tls, name.empty() ? where_.host : name);
        stage_ = "agree on TLS; does the server expect it?";
        co_await stream_.async_handshake(net::redirect_error(net::use_awaitable, error));
        if (error) {
            throw std::runtime_error("the TLS handshake failed: " + error.message());
        }
    }
}

net::awaitable<void> link::greet() {
    std::string greeting;
    std::vector<std::string_view> words{"HELLO", "3"};
    if (!options_.user.empty() || !options_.password.empty()) {
        const std::string_view user = options_.user;
        words.insert(words.end(), {"AUTH", user.empty() ? "default" : user, options_.password});
    }
    append_command(greeting, words);
    const std::string database = std::to_string(options_.database);
    if (options_.database != 0) {
        append_command(greeting, words = {"SELECT", database});
    }
    append_command(greeting, words = {"SCRIPT", "LOAD", script_});
    if (!channels_.empty()) {
        words = {"SUBSCRIBE"};
        words.insert(words.end(), channels_.begin(), channels_.end());
        append_command(greeting, words);
    }

    stage_ = "get a reply; is it a Redis server?";
    for (std::size_t sent = 0; sent != greeting.size();) {
        error_code error;
        const std::size_t count = co_await stream_.async_write_some(
            net::buffer(greeting) + sent, net::redirect_error(net::use_awaitable, error));
        if (error) {
            throw std::runtime_error(ending(error));
        }
        sent += count;
    }
    const reply* const hello = co_await next_reply();
    check_hello(*hello);
    if (options_.database != 0) {
        const reply* const selected = co_await next_reply();
        check(*selected, "cannot select database " + database);
    }
    const reply* const loaded = co_await next_reply();
    check(*loaded, "cannot load the script");
    script_hash_ = loaded->text;
    if (script_hash_.size() != 40) {
        throw std::runtime_error("is not a Redis server: it does not know SCRIPT LOAD");
    }
    for (const std::string& channel : channels_) {
        const reply* const subscribed = co_await next_reply("subscribe");
        check(*subscribed, "cannot subscribe to channel " + channel);
    }
}

/// Waits for the next reply, or the next push of this kind. Ignores other pushes.
net::awaitable<const reply*> link::next_reply(std::string_view push) {
    for (;;) {
        if (const reply* const next = reader_.next()) {
            has_replied_ = true;
            stage_ = "get all replies";
            if (next->type != '>' || (!push.empty() && next->is_push(push))) {
                if (!push.empty() && next->type != '>' && !next->is_error()) {
                    throw std::runtime_error("is not a Redis server: it does not know SUBSCRIBE");
                }
                co_return next;
            }
        } else if (!reader_.error().empty()) {
            throw std::runtime_error(
                (has_replied_ ? "sent what is not a reply of Redis: " : "is not a Redis server: ") +
                reader_.error());
        } else if (owner_) {
            co_await read_more();
        } else {
            throw std::runtime_error("closed");
        }
    }
}

void link::check_hello(const reply& hello) {
    const std::string_view code = hello.text.substr(0, hello.text.find(' '));
    if (code == "WRONGPASS") {
        check(hello,
              options_.user.empty() ? "refused the password" : "refused user " + options_.user);
    } else if (code == "ERR" || code == "NOPROTO") { // with the password, if HELLO is unknown
        throw std::runtime_error("does not know HELLO 3, so it is older than Redis 6.2");
    }
    check(hello, "refused HELLO");
    const auto value_of = [&hello](std::string_view name) -> std::string_view {
        for (std::size_t i = 0; hello.type == '%' && i < hello.elements.size(); i += 2) {
            if (hello.elements[i].text == name) {
                return hello.elements[i + 1].text;
            }
        }
        return {};
    };
    const std::string version(value_of("version").substr(0, max_quotation));
    const std::string_view mode = value_of("mode");
    is_in_cluster_ = mode == "cluster";
    if (version.empty()) {
        throw std::runtime_error("is not a Redis server: its HELLO has no version");
    }
    if (is_too_old(version)) {
        throw std::runtime_error("is Redis " + version + ", and 6.2 is needed");
    }
    if (mode == "sentinel") {
        throw std::runtime_error("is a Sentinel; name the Redis servers that it watches");
    }
    if (value_of("role") != "master") {
        throw std::runtime_error("is a read-only replica; name its master");
    }
}

/// @throws std::runtime_error if `answer` is an error.
void link::check(const reply& answer, const std::string& problem) const {
    if (!answer.is_error()) {
        return;
    }
    std::string text(answer.text); // which may repeat the greeting
    const std::string& password = options_.password;
    for (std::size_t at = 0; !password.empty() && (at = text.find(password)) != text.npos;) {
        text.erase(at, password.size());
    }
    throw std::runtime_error(problem + ": " + text.substr(0, max_quotation));
}

// ---- Requests.

std::string& link::begin_request() {
    if (batches_.empty() || batches_.back().begin < handed_) {
        batches_.push_back({queued_, std::move(spare_)});
        spare_ = {};
    }
    return batches_.back().bytes;
}

void link::end_request(request what) {
    what.begin = std::exchange(queued_, batches_.back().end());
    what.end = queued_;
    if (pending_.empty()) {
        silent_ticks_ = 0;
    }
    pending_.push_back(std::move(what));
    if (is_open_ && !is_flush_coming_ && written_ == handed_) {
        is_flush_coming_ = true;
        net::post(strand_, [self = shared_from_this()] { self->flush(); });
    }
}

void link::send(std::initializer_list<std::string_view> words) {
    append_command(begin_request(), words);
    end_request({});
}

void link::load_script(std::uint64_t since) {
    if (since >= loaded_at_) {
        send({"SCRIPT", "LOAD", script_});
        loaded_at_ = queued_;
    }
}

void link::flush() {
    is_flush_coming_ = false;
    if (owner_ && is_open_ && written_ == handed_ && handed_ != queued_) {
        handed_ = queued_;
        write();
    }
}

/// Writes the rest of what was handed over, which is the end of one batch.
void link::write() {
    const auto holder =
        std::ranges::find_if(batches_, [this](const batch& one) { return written_ < one.end(); });
    stream_.async_write_some(
        net::buffer(holder->bytes) + (written_ - holder->begin),
        [self = shared_from_this()](const error_code& error, std::size_t count) {
            if (!self->owner_) {
                return;
            }
            self->written_ += count;
            self->silent_ticks_ = 0;
            if (error) {
                if (!self->stream_.has_tls()) {
                    self->handed_ = self->written_;
                }
                self->fail(self->ending(error));
            } else if (self->written_ != self->handed_) {
                self->write();
            } else {
                self->release_batches();
                self->flush();
            }
        });
}

// ---- Replies.

net::awaitable<void> link::serve() {
    while (owner_) {
        is_flush_coming_ = true; // after the replies that have arrived
        while (const reply* const next = reader_.next()) {
            on_reply(*next);
            if (!owner_) {
                co_return;
            }
        }
        if (!reader_.error().empty()) {
            fail("sent what is not a reply of Redis: " + reader_.error());
            co_return;
        }
        release_batches();
        flush();
        co_await read_more();
    }
}

net::awaitable<void> link::read_more() {
    const std::span<char> space = reader_.space();
    error_code error;
    const std::size_t count = co_await stream_.async_read_some(
        net::buffer(space.data(), space.size()), net::redirect_error(net::use_awaitable, error));
    if (error) {
        fail(ending(error));
    }
    reader_.add(count);
    silent_ticks_ = 0;
}

void link::on_reply(const reply& next) {
    if (next.type == '>') {
        if (next.is_push("message") && next.elements.size() == 3) {
            owner_->on_published(next.elements[1].text, next.elements[2].text);
        }
        return;
    }
    if (pending_.empty() || pending_.front().begin >= handed_) {
        fail("sent a reply without a request: " + std::string(next.text.substr(0, max_quotation)));
        return;
    }
    request oldest = std::move(pending_.front());
    pending_.pop_front();
    if (!next.is_error()) {
        if (oldest.answer) {
            oldest.answer({call_reply::kind::answered, &next, {}});
        }
        return;
    }
    if (oldest.is_call) {
        // The request's batch is the first: release_batches has not yet seen that it is answered.
        const auto holder = std::ranges::find_if(
            batches_, [&oldest](const batch& one) { return oldest.begin < one.end(); });
        const std::string_view bytes =
            std::string_view(holder->bytes)
                .substr(oldest.begin - holder->begin, oldest.end - oldest.begin);
        if (owner_->on_refused(*this, next.text, bytes, oldest)) {
            return;
        }
    }
    if (oldest.answer) {
        oldest.answer({call_reply::kind::refused, nullptr, next.text});
    }
}

void link::release_batches() {
    const std::uint64_t answered = pending_.empty() ? queued_ : pending_.front().begin;
    while (!batches_.empty()) {
        batch& first = batches_.front();
        if (first.end() > written_ || first.end() > answered) {
            return;
        }
        if (first.bytes.capacity() <= max_spare) {
            spare_ = std::move(first.bytes);
            spare_.clear();
        }
        batches_.pop_front();
    }
}

// ---- The end.

void link::tick() {
    if (!is_open_ || !owner_) {
        return; // the deadline bounds connecting
    }
    const int before = std::exchange(undelivered_, stream_.undelivered());
    if (undelivered_ < before) {
        silent_ticks_ = 0;
    }
    if (!pending_.empty() && ++silent_ticks_ > ticks_per_timeout) {
        fail("gave no reply in time");
        return;
    }
    if (++ticks_ % ticks_per_timeout == 0 && pending_.empty()) {
        send({"PING"});
    }
}

std::string link::ending(const error_code& error) const {
    const bool is_end = error == net::error::eof || error == net::ssl::error::stream_truncated ||
                        error == net::error::connection_reset || error == net::error::broken_pipe;
    if (is_end && !has_replied_) {
        return stream_.has_tls()
                   ? "closed the connection before it replied; does it want a client certificate?"
                   : "closed the connection before it replied; does it expect TLS (rediss://)?";
    }
    return is_end ? "closed the connection" : "the connection failed: " + error.message();
}

void link::fail(const std::string& why) {
    if (owner_) {
        const std::shared_ptr<owner> who = owner_;
        who->on_broken(*this, why);
    }
}

void link::close(std::string_view why) {
    if (!owner_) {
        return;
    }
    const std::shared_ptr<link> self = shared_from_this();
    const std::shared_ptr<owner> who = std::move(owner_);
    owner_ = nullptr;
    resolver_.cancel();
    timer_.cancel();
    stream_.close();
    // A write may still use the batches.
    const std::deque<request> pending = std::exchange(pending_, {});
    for (const request& each : pending) {
        if (each.answer) {
            const auto what =
                each.begin < handed_ ? call_reply::kind::lost : call_reply::kind::unsent;
            each.answer({what, nullptr, why});
        }
    }
}

} // namespace detail
TRYST_REDIS_END
