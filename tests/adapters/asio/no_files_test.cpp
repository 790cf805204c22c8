// SPDX-License-Identifier: MIT
// A process that can open no more files still keeps its deadlines.
#include "adapters/asio/net.hpp"

#include <tryst/asio.hpp>

#include <gtest/gtest.h>

#include <chrono>

#include <sys/resource.h>

namespace {

using namespace std::chrono_literals;
namespace net = tryst::test::net;

class no_more_files {
public:
    no_more_files() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    no_more_files(const no_more_files&) = delete;
    no_more_files& operator=(const no_more_files&) = delete;
    ~no_more_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

TEST(AsioDeadline, NeedsNoFile) {
    net::io_context io;
    tryst::exchanger<int> ex;
    int returned = 0;
    const no_more_files here;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            const auto got = co_await tryst::asio::wait(ex.exchange_for(1, 1ms));
            returned = got ? 0 : got.returned();
        },
        net::detached);
    tryst::exchanger<int> other;
    int second = 0;
    tryst::asio::async_exchange_for(io.get_executor(), other, 2, 1ms,
                                    [&](auto, int own) { second = own; });
    io.run();
    EXPECT_EQ(returned, 1);
    EXPECT_EQ(second, 2);
}

} // namespace
