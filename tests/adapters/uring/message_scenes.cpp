// SPDX-License-Identifier: MIT
#include "adapters/uring/scene.hpp"

#include "adapters/uring/harness.hpp"

#include <tryst/task.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

namespace tryst::test {

namespace {

using uring::current_position;
using uring::limits;

/// Reads all data that has arrived.
std::size_t drain(const descriptor& file) {
    std::size_t size = 0;
    for (std::string text; !(text = read_text(file)).empty();) {
        size += text.size();
    }
    return size;
}

/// Two buffers.
class two_parts {
public:
    std::array<iovec, 2> vectors() noexcept {
        return {iovec{first_.data(), first_.size()}, iovec{second_.data(), second_.size()}};
    }
    bool is_untouched() const noexcept {
        return first_ == std::array<std::byte, 1>{} && second_ == std::array<std::byte, 8>{};
    }

private:
    std::array<std::byte, 1> first_{};
    std::array<std::byte, 8> second_{};
};

class waiting_readv : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto into = parts_.vectors();
        const auto got =
            co_await loop.readv(pipe_.reader.get(), into, current_position, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        write_text(pipe_.writer, "xyz");
        return read_text(pipe_.reader) == "xyz" && parts_.is_untouched();
    }

private:
    file_pair pipe_ = make_pipe();
    two_parts parts_;
};

class waiting_writev : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto from = parts_.vectors();
        const auto got =
            co_await loop.writev(pipe_.writer.get(), from, current_position, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override { return drain(pipe_.reader) == filled_; }

private:
    file_pair pipe_ = make_pipe();
    std::size_t filled_ = fill(pipe_.writer);
    two_parts parts_;
};

class waiting_sendmsg : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        auto from = parts_.vectors();
        msghdr message{};
        message.msg_iov = from.data();
        message.msg_iovlen = from.size();
        const auto got = co_await loop.sendmsg(pair_.writer.get(), &message, 0, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override { return drain(pair_.reader) == filled_; }

private:
    file_pair pair_ = make_sockets();
    std::size_t filled_ = fill(pair_.writer);
    two_parts parts_;
};

class waiting_recvmsg : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        auto into = parts_.vectors();
        message_.msg_iov = into.data();
        message_.msg_iovlen = into.size();
        message_.msg_name = name_.data();
        message_.msg_namelen = sizeof(name_);
        message_.msg_flags = MSG_EOR;
        const auto got = co_await loop.recvmsg(pair_.reader.get(), &message_, 0, std::move(until));
        EXPECT_EQ(message_.msg_namelen, sizeof(name_));
        EXPECT_EQ(message_.msg_flags, MSG_EOR);
        co_return got.error();
    }
    bool is_untouched() const override {
        write_text(pair_.writer, "xyz");
        return read_text(pair_.reader) == "xyz" && parts_.is_untouched();
    }

private:
    file_pair pair_ = make_sockets();
    two_parts parts_;
    std::array<char, 16> name_{};
    msghdr message_{};
};

class waiting_splice : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got =
            co_await loop.splice(from_.reader.get(), current_position, into_.writer.get(),
                                 current_position, 100, 0, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        write_text(from_.writer, "xyz");
        return read_text(from_.reader) == "xyz" && read_text(into_.reader).empty();
    }

private:
    file_pair from_ = make_pipe();
    file_pair into_ = make_pipe();
};

} // namespace

std::vector<operation_that_waits> message_operations_that_wait() {
    return {{"Readv", make<waiting_readv>},
            {"Writev", make<waiting_writev>},
            {"Sendmsg", make<waiting_sendmsg>},
            {"Recvmsg", make<waiting_recvmsg>},
            {"Splice", make<waiting_splice>}};
}

} // namespace tryst::test
