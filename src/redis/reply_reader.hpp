// SPDX-License-Identifier: MIT
/// @file
/// Replies of Redis, parsed by hiredis.
/// hiredis.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <hiredis/hiredis.h>

TRYST_REDIS_BEGIN
namespace detail {

struct reply_deleter {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using reply_ptr = std::unique_ptr<redisReply, reply_deleter>;

/// The text of a string, status or error; empty for other replies.
inline std::string_view text_of(const redisReply& reply) {
    return reply.str ? std::string_view(reply.str, reply.len) : std::string_view();
}

/// Whether `reply` is an array that begins with the string `name`, as the replies to SUBSCRIBE are.
inline bool begins_with(const redisReply& reply, std::string_view name) {
    return reply.type == REDIS_REPLY_ARRAY && reply.elements > 0 &&
           reply.element[0]->type == REDIS_REPLY_STRING && text_of(*reply.element[0]) == name;
}

/// Cuts a stream of bytes into replies.
class reply_reader {
public:
    reply_reader() : reader_(redisReaderCreate()) {
        if (!reader_) {
            throw std::bad_alloc();
        }
    }

    /// Adds bytes that have arrived.
    /// @returns false after an error.
    bool feed(const char* bytes, std::size_t count) {
        return redisReaderFeed(reader_.get(), bytes, count) == REDIS_OK;
    }

    /// Sets `reply` to the next reply, or to null if there is none.
    /// @returns false after an error.
    bool next(reply_ptr& reply) {
        void* parsed = nullptr;
        if (redisReaderGetReply(reader_.get(), &parsed) != REDIS_OK) {
            return false;
        }
        reply.reset(static_cast<redisReply*>(parsed));
        return true;
    }

    /// The error's text.
    std::string_view error() const { return static_cast<const char*>(reader_->errstr); }

private:
    struct deleter {
        void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
    };
    std::unique_ptr<redisReader, deleter> reader_;
};

} // namespace detail
TRYST_REDIS_END
