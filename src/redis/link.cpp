// SPDX-License-Identifier: MIT
#include "link.hpp"

#include "wire.hpp"

#include <algorithm>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

constexpr std::size_t input_size = std::size_t{64} * 1024;
/// Larger batches give their memory back.
constexpr std::size_t max_spare = std::size_t{256} * 1024;

} // namespace

link::link(const strand_type& strand, const options& chosen, address where,
           std::shared_ptr<net::ssl::context> tls, std::shared_ptr<owner> who, role purpose)
    : connect_timeout_(chosen.connect_timeout),
      server_name_(chosen.tls.server_name.empty() ? where.host : chosen.tls.server_name),
      verify_(chosen.tls.verify), where_(std::move(where)), owner_(std::move(who)), strand_(strand),
      stream_(strand, std::move(tls)), resolver_(strand), connect_timer_(strand),
      input_(input_size), is_subscriber_(purpose == role::messages) {}

// ---- Connecting.

void link::open() {
    connect_deadline_ = std::chrono::steady_clock::now() + connect_timeout_;
    error_code is_name;
    const auto parsed = net::ip::make_address(where_.host, is_name);
    if (!where_.path.empty()) {
        try {
            endpoints_.emplace_back(net::local::stream_protocol::endpoint(where_.path));
        } catch (const system_error& problem) { // the path is too long
            net::post(strand_, [self = shared_from_this(), why = problem.code().message()] {
                self->fail("cannot connect: " + why);
            });
            return;
        }
        connect_next();
    } else if (!is_name) {
        endpoints_.emplace_back(net::ip::tcp::endpoint(parsed, where_.port));
        connect_next();
    } else {
        stage_ = "resolve the host's name";
        resolver_.async_resolve(
            where_.host, std::to_string(where_.port), net::ip::resolver_base::numeric_service,
            [self = shared_from_this()](const error_code& error, const auto& found) {
                if (!self->owner_) {
                    return;
                }
                if (error) {
                    self->fail("cannot resolve the host's name: " + error.message());
                    return;
                }
                for (const auto& entry : found) {
                    self->endpoints_.emplace_back(entry.endpoint());
                }
                self->connect_next();
            });
    }
}

void link::open(const stream::endpoint& where) {
    endpoints_ = {where};
    connect_next();
}

// A name may have several addresses. All but the last get an equal share of the time that is left,
// so that one that does not answer leaves time for the next. The owner bounds the whole.
void link::connect_next() {
    stage_ = "connect";
    const std::size_t number = ++next_endpoint_;
    if (number < endpoints_.size()) {
        const auto now = std::chrono::steady_clock::now();
        const auto untried = endpoints_.size() - number + 1;
        connect_timer_.expires_at(now + (connect_deadline_ - now) / static_cast<long>(untried));
        connect_timer_.async_wait([self = shared_from_this(), number](const error_code& error) {
            if (!error && self->owner_ && number == self->next_endpoint_ && !self->is_connected_) {
                self->stream_.close(); // async_connect fails
            }
        });
    }
    stream_.async_connect(endpoint(), [self = shared_from_this()](const error_code& error) {
        if (!self->owner_) {
            return;
        }
        if (!error) {
            self->is_connected_ = true;
            self->handshake();
        } else if (self->next_endpoint_ < self->endpoints_.size()) {
            self->stream_.close();
            self->connect_next();
        } else {
            self->fail("cannot connect: " + error.message());
        }
    });
}

void link::handshake() {
    connect_timer_.cancel();
    stream_.set_no_delay();
    if (!stream_.has_tls()) {
        on_open();
        return;
    }
    stage_ = "agree on TLS; does the server expect it?";
    stream_.async_handshake(server_name_, verify_,
                            [self = shared_from_this()](const error_code& error) {
                                if (!self->owner_) {
                                    return;
                                }
                                if (error) {
                                    self->fail("the TLS handshake failed: " + error.message());
                                    return;
                                }
                                self->on_open();
                            });
}

void link::on_open() {
    is_open_ = true;
    stage_ = "get a reply; is it a Redis server?";
    read();
    flush();
}

// ---- Requests.

std::string& link::begin_request() {
    if (batches_.empty() || batches_.back().begin < handed_) {
        batches_.push_back({queued_, std::move(spare_)});
        spare_ = {};
    }
    return batches_.back().bytes;
}

void link::end_request(handler answer, bool is_call, unsigned redirections) {
    const batch& last = batches_.back();
    const std::uint64_t begin = std::exchange(queued_, last.begin + last.bytes.size());
    if (pending_.empty()) {
        silent_ticks_ = 0;
    }
    pending_.push_back(
        {begin, queued_, std::move(answer), is_call, static_cast<unsigned char>(redirections)});
    if (is_open_ && !is_flush_posted_ && written_ == handed_) {
        is_flush_posted_ = true;
        net::post(strand_, [self = shared_from_this()] {
            self->is_flush_posted_ = false;
            self->flush();
        });
    }
}

void link::send(std::initializer_list<std::string_view> words, handler answer) {
    append_command(begin_request(), words);
    end_request(std::move(answer), false);
}

void link::flush() {
    if (!owner_ || written_ != handed_ || handed_ == queued_) {
        return;
    }
    handed_ = queued_;
    stream_.async_write(net::buffer(batches_.back().bytes),
                        [self = shared_from_this()](const error_code& error, std::size_t count) {
                            if (!self->owner_) {
                                return;
                            }
                            if (error) {
                                if (!self->stream_.has_tls()) {
                                    self->handed_ = self->written_ + count;
                                }
                                self->fail(self->ending(error));
                                return;
                            }
                            self->written_ = self->handed_;
                            self->silent_ticks_ = 0;
                            self->release_batches();
                            self->flush();
                        });
}

// ---- Replies.

void link::read() {
    stream_.async_read_some(net::buffer(input_), [self = shared_from_this()](
                                                     const error_code& error, std::size_t count) {
        if (!self->owner_) {
            return;
        }
        if (error) {
            self->fail(self->ending(error));
            return;
        }
        self->on_read(count);
    });
}

void link::on_read(std::size_t count) {
    silent_ticks_ = 0;
    bool is_valid = reader_.feed(input_.data(), count);
    reply_ptr reply;
    while (is_valid && (is_valid = reader_.next(reply)) && reply) {
        on_reply(std::move(reply));
        if (!owner_) {
            return;
        }
    }
    if (!is_valid) {
        fail(has_replied_ ? "sent what is not a reply of Redis: " + std::string(reader_.error())
                          : "is not a Redis server: " + std::string(reader_.error()));
        return;
    }
    release_batches();
    read();
}

void link::on_reply(reply_ptr reply) {
    if (!has_replied_) {
        has_replied_ = true;
        stage_ = "get all replies";
    }
    if (is_subscriber_ && reply->elements == 3 && begins_with(*reply, "message")) {
        owner_->on_published(text_of(*reply->element[2]));
        return;
    }
    if (pending_.empty() || pending_.front().begin >= handed_) {
        fail("sent a reply without a request: " + std::string(text_of(*reply)));
        return;
    }
    pending_request oldest = std::move(pending_.front());
    pending_.pop_front();
    if (reply->type != REDIS_REPLY_ERROR) {
        if (oldest.answer) {
            oldest.answer({call_reply::kind::answered, reply.get(), {}});
        }
        return;
    }
    const std::string_view error = text_of(*reply);
    if (oldest.is_call) {
        // The request's batch is the first: release_batches has not yet seen that it is answered.
        const auto holder = std::ranges::find_if(batches_, [&](const batch& one) {
            return oldest.begin < one.begin + one.bytes.size();
        });
        const std::string_view bytes =
            std::string_view(holder->bytes)
                .substr(oldest.begin - holder->begin, oldest.end - oldest.begin);
        if (owner_->on_refused(*this, error, {bytes, &oldest.answer, oldest.redirections})) {
            return;
        }
    }
    if (oldest.answer) {
        oldest.answer({call_reply::kind::refused, nullptr, error});
    }
}

void link::release_batches() {
    const std::uint64_t answered = pending_.empty() ? queued_ : pending_.front().begin;
    while (!batches_.empty()) {
        batch& first = batches_.front();
        const std::uint64_t end = first.begin + first.bytes.size();
        if (end > written_ || end > answered) {
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
    if (!pending_.empty() && ++silent_ticks_ > ticks_per_timeout) {
        fail("gave no reply in time");
        return;
    }
    if (++ticks_ % ticks_per_timeout == 0 && pending_.empty()) {
        send({"PING"}, nullptr);
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
    connect_timer_.cancel();
    stream_.close();
    // A write may still use the batches.
    const std::deque<pending_request> pending = std::exchange(pending_, {});
    for (const pending_request& each : pending) {
        if (each.answer) {
            const auto what =
                each.begin < handed_ ? call_reply::kind::lost : call_reply::kind::unsent;
            each.answer({what, nullptr, why});
        }
    }
}

} // namespace detail
TRYST_REDIS_END
