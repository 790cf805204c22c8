// SPDX-License-Identifier: MIT
#include "link.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#ifdef __linux__
#include <linux/sockios.h>
#include <sys/ioctl.h>
#endif

TRYST_REDIS_BEGIN
namespace detail {

namespace {

/// What a reply may have in addition to the largest item.
constexpr std::size_t beside_item = std::size_t{64} * 1024;
/// Larger batches give their memory back.
constexpr std::size_t max_spare = std::size_t{256} * 1024;

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
      owner_(std::move(who)), strand_(strand), socket_(strand), resolver_(strand), timer_(strand),
      reader_(chosen.max_item + beside_item) {}

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
    const auto left = net::buffer(holder->bytes) + (written_ - holder->begin);
    const auto then = [self = shared_from_this()](const error_code& error, std::size_t count) {
        if (!self->owner_) {
            return;
        }
        self->written_ += count;
        self->silent_ticks_ = 0;
        if (error) {
            if (!self->tls_) {
                self->handed_ = self->written_;
            }
            self->fail(self->ending(error));
        } else if (self->written_ != self->handed_) {
            self->write();
        } else {
            self->release_batches();
            self->flush();
        }
    };
    if (tls_) {
        tls_->async_write_some(left, then);
    } else {
        socket_.async_write_some(left, then);
    }
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
    const std::span<char> free = reader_.space();
    const auto space = net::buffer(free.data(), free.size());
    error_code error;
    auto got = net::redirect_error(net::use_awaitable, error);
    // Has a name, because g++ 12 destroys an awaited conditional expression twice.
    auto reading = tls_ ? tls_->async_read_some(space, got) : socket_.async_read_some(space, got);
    const std::size_t count = co_await std::move(reading);
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

/// How many bytes the kernel still holds that it has not delivered; 0 if it does not say.
int link::count_undelivered() {
    int count = 0;
#ifdef __linux__
    if (::ioctl(socket_.native_handle(), SIOCOUTQ, &count) == -1) {
        return 0;
    }
#endif
    return count;
}

void link::tick() {
    if (!is_open_ || !owner_) {
        return; // the deadline bounds connecting
    }
    const int before = std::exchange(undelivered_, count_undelivered());
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
        return tls_ ? "closed the connection before it replied; does it want a client certificate?"
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

/// Ends every operation of the socket.
void link::close_socket() {
    error_code ignored;
    std::ignore = socket_.close(ignored);
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
    close_socket();
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
