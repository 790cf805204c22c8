// SPDX-License-Identifier: MIT
// Every kind of party against every other, in one exchanger.
#include "adapters/asio/net.hpp"
#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_TEST_FIBER
#include <tryst/fiber.hpp>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#endif

#ifdef TRYST_TEST_URING
#include <tryst/uring.hpp>
#endif

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::test::error_code;
using tryst::test::loop_thread;
using tryst::test::until_someone_waits;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;
using std::chrono::nanoseconds;

/// What may end a wait.
struct limits {
    std::stop_token stop{};
    nanoseconds patience = nanoseconds::max();
};

/// How it has ended, and whether on the executor where it had to go on.
struct outcome {
    std::error_code error;
    int item;
    bool at_home;
};
using promise = std::shared_ptr<std::promise<outcome>>;

void keep(const promise& end, const exchange_result<int>& got, bool at_home) {
    end->set_value({got.error(), got ? *got : got.returned(), at_home});
}
auto keep_completion(promise end, std::function<bool()> at_home) {
    return [end = std::move(end), at_home = std::move(at_home)](error_code error, int item) {
        end->set_value({error, item, at_home()});
    };
}

/// A kind of party. It has threads of its own, and takes part as often as it is started.
class kind {
public:
    kind() = default;
    kind(const kind&) = delete;
    kind& operator=(const kind&) = delete;
    virtual ~kind() = default;
    virtual const char* name() const noexcept = 0;
    virtual bool can_be_stopped() const noexcept { return true; }
    /// Begins an exchange; `end` is told of its end.
    virtual void begin(exchanger& ex, int item, limits until, promise end) = 0;

    std::future<outcome> start(exchanger& ex, int item, limits until = {}) {
        auto end = std::make_shared<std::promise<outcome>>();
        auto later = end->get_future();
        begin(ex, item, std::move(until), std::move(end));
        return later;
    }
};

tryst::task<> exchange_in_task(exchanger& ex, int item, limits until, promise end,
                               std::function<bool()> at_home) {
    const auto got = co_await ex.exchange_for(item, until.patience, until.stop);
    keep(end, got, at_home());
}

class loop_coroutine final : public kind {
    loop_thread loop_;
    const char* name() const noexcept override { return "coroutine on a run_loop"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        loop_->spawn(exchange_in_task(ex, item, std::move(until), std::move(end),
                                      [this] { return loop_->running_here(); }));
    }
};

class bare final : public kind {
    const char* name() const noexcept override { return "bare coroutine"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        run(ex, item, std::move(until), std::move(end));
    }
    // Goes on in whoever completes it.
    static tryst::test::detached_coroutine run(exchanger& ex, int item, limits until, promise end) {
        const auto got = co_await ex.exchange_for(item, until.patience, until.stop);
        keep(end, got, true);
    }
};

class thread final : public kind {
    std::vector<std::jthread> threads_;
    const char* name() const noexcept override { return "thread"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        threads_.emplace_back([&ex, item, until = std::move(until), end = std::move(end)] {
            const auto id = std::this_thread::get_id();
            const auto got = tryst::sync_wait(ex.exchange_for(item, until.patience, until.stop));
            keep(end, got, std::this_thread::get_id() == id);
        });
    }
};

/// A context that a thread runs.
class context_thread {
public:
    ~context_thread() {
        work_.reset();
        thread_.join();
    }
    net::io_context& operator*() noexcept { return io_; }
    bool running_here() { return io_.get_executor().running_in_this_thread(); }

private:
    net::io_context io_;
    net::executor_work_guard<net::io_context::executor_type> work_{io_.get_executor()};
    std::thread thread_{[this] { io_.run(); }};
};

class callback final : public kind {
    context_thread io_;
    const char* name() const noexcept override { return "callback"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        net::post(*io_, [this, &ex, item, until = std::move(until), end = std::move(end)] {
            tryst::asio::async_exchange_for(
                ex, item, until.patience,
                tryst::asio::bind_stop_token(until.stop,
                                             net::bind_executor(*io_, keep_completion(end, [this] {
                                                 return io_.running_here();
                                             }))));
        });
    }
};

class future final : public kind {
    context_thread io_;
    std::vector<std::jthread> threads_;
    const char* name() const noexcept override { return "future"; }
    bool can_be_stopped() const noexcept override { return false; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        auto later = tryst::asio::async_exchange_for(
            (*io_).get_executor(), ex, item, until.patience,
            net::use_future([](error_code error, int got) { return outcome{error, got, true}; }));
        threads_.emplace_back([end = std::move(end), later = std::move(later)]() mutable {
            end->set_value(later.get());
        });
    }
};

/// Awaits in a coroutine of `executor`.
template <class Executor>
void begin_awaitable(const Executor& executor, exchanger& ex, int item, limits until, promise end,
                     std::function<bool()> at_home) {
    net::co_spawn(
        executor,
        [](exchanger& room, int mine, limits its, promise told,
           std::function<bool()> here) -> net::awaitable<void> {
            const auto got =
                co_await tryst::asio::wait(room.exchange_for(mine, its.patience, its.stop));
            keep(told, got, here());
        }(ex, item, std::move(until), std::move(end), std::move(at_home)),
        net::detached);
}

class context_awaitable final : public kind {
    context_thread io_;
    const char* name() const noexcept override { return "awaitable on an io_context"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        begin_awaitable((*io_).get_executor(), ex, item, std::move(until), std::move(end),
                        [this] { return io_.running_here(); });
    }
};

class pool_awaitable final : public kind {
public:
    ~pool_awaitable() override { pool_.join(); }

private:
    net::thread_pool pool_{2};
    const char* name() const noexcept override { return "awaitable on a pool"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        begin_awaitable(pool_.get_executor(), ex, item, std::move(until), std::move(end),
                        [this] { return pool_.get_executor().running_in_this_thread(); });
    }
};

class strand_awaitable final : public kind {
public:
    ~strand_awaitable() override { pool_.join(); }

private:
    net::thread_pool pool_{2};
    const char* name() const noexcept override { return "awaitable on a strand"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        const auto strand = net::make_strand(pool_);
        begin_awaitable(strand, ex, item, std::move(until), std::move(end),
                        [strand] { return strand.running_in_this_thread(); });
    }
};

class executor_task final : public kind {
public:
    ~executor_task() override {
        std::promise<void> gone;
        net::post(*io_, [&] { // its place to be destroyed, while the context runs
            loop_.reset();
            gone.set_value();
        });
        gone.get_future().wait();
    }

private:
    context_thread io_;
    std::optional<tryst::asio::task_executor<>> loop_{(*io_).get_executor()};
    const char* name() const noexcept override { return "task on a task_executor"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        loop_->spawn(exchange_in_task(ex, item, std::move(until), std::move(end), [this] {
            return io_.running_here() && loop_->executor().running_here();
        }));
    }
};

class awaited_task final : public kind {
    context_thread io_;
    const char* name() const noexcept override { return "task in async_wait"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        tryst::asio::async_wait(exchange_in_task(ex, item, std::move(until), std::move(end),
                                                 [this] { return io_.running_here(); }),
                                net::bind_executor(*io_, [](std::exception_ptr) {}));
    }
};

#ifdef TRYST_TEST_FIBER
class boost_fiber final : public kind {
    std::vector<std::jthread> threads_;
    const char* name() const noexcept override { return "fiber"; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        threads_.emplace_back([&ex, item, until = std::move(until), end = std::move(end)] {
            boost::fibers::fiber([&] {
                const auto id = boost::this_fiber::get_id();
                const auto got =
                    tryst::fiber::wait(ex.exchange_for(item, until.patience, until.stop));
                keep(end, got, boost::this_fiber::get_id() == id);
            }).join();
        });
    }
};
#endif

#ifdef TRYST_TEST_URING
class uring_coroutine final : public kind {
public:
    uring_coroutine(const char* name, unsigned max_spins)
        : name_(name), loop_({.max_spins = max_spins}) {}
    ~uring_coroutine() override {
        loop_.stop();
        thread_.join();
    }

private:
    const char* name_;
    tryst::uring::context loop_;
    std::thread thread_{[this] { loop_.run(); }};
    const char* name() const noexcept override { return name_; }
    void begin(exchanger& ex, int item, limits until, promise end) override {
        loop_.spawn(exchange_in_task(ex, item, std::move(until), std::move(end),
                                     [this] { return loop_.running_here(); }));
    }
};

void add_uring_coroutines(std::vector<std::unique_ptr<kind>>& all) {
    try {
        all.push_back(std::make_unique<uring_coroutine>("coroutine on a uring::context", 2'000));
        all.push_back(
            std::make_unique<uring_coroutine>("coroutine on a uring::context that sleeps", 0));
    } catch (const std::system_error& e) {
        std::cerr << "without io_uring: " << e.what() << '\n';
    }
}
#endif

/// The place to enter another kind, with a `begin` like those above.
std::vector<std::unique_ptr<kind>> everybody() {
    std::vector<std::unique_ptr<kind>> all;
    all.push_back(std::make_unique<loop_coroutine>());
    all.push_back(std::make_unique<bare>());
    all.push_back(std::make_unique<thread>());
    all.push_back(std::make_unique<callback>());
    all.push_back(std::make_unique<future>());
    all.push_back(std::make_unique<context_awaitable>());
    all.push_back(std::make_unique<pool_awaitable>());
    all.push_back(std::make_unique<strand_awaitable>());
    all.push_back(std::make_unique<executor_task>());
    all.push_back(std::make_unique<awaited_task>());
#ifdef TRYST_TEST_FIBER
    all.push_back(std::make_unique<boost_fiber>());
#endif
#ifdef TRYST_TEST_URING
    add_uring_coroutines(all);
#endif
    return all;
}

void expect(std::future<outcome>& end, std::error_code error, int item) {
    const outcome got = end.get();
    EXPECT_EQ(got.error, error);
    EXPECT_EQ(got.item, item);
    EXPECT_TRUE(got.at_home);
}

TEST(AsioMatrix, EveryKindMeetsEveryOther) {
    exchanger ex;
    const auto all = everybody();
    int item = 0;
    for (const auto& first : all) {
        for (const auto& second : all) {
            SCOPED_TRACE(first->name());
            SCOPED_TRACE(second->name());
            const int mine = ++item;
            const int theirs = ++item;
            auto waiting = first->start(ex, mine);
            until_someone_waits(ex);
            auto arriving = second->start(ex, theirs);
            expect(waiting, {}, theirs);
            expect(arriving, {}, mine);
        }
    }
}

TEST(AsioMatrix, AllKindsMeetInOneCrowd) {
    exchanger ex;
    const auto all = everybody();
    constexpr int rounds = 20;
    std::vector<std::future<outcome>> ends;
    for (int round = 0; round != rounds; ++round) {
        for (const auto& each : all) {
            ends.push_back(each->start(ex, static_cast<int>(ends.size())));
        }
    }
    std::vector<std::size_t> partner;
    for (auto& end : ends) {
        const outcome got = end.get();
        EXPECT_FALSE(got.error);
        EXPECT_TRUE(got.at_home);
        partner.push_back(static_cast<std::size_t>(got.item));
    }
    for (std::size_t i = 0; i != partner.size(); ++i) {
        EXPECT_NE(partner[i], i);
        EXPECT_EQ(partner.at(partner[i]), i);
    }
}

TEST(AsioMatrix, EachKindCanBeStopped) {
    const auto all = everybody();
    for (const auto& each : all) {
        if (!each->can_be_stopped()) {
            continue;
        }
        SCOPED_TRACE(each->name());
        exchanger ex;
        std::stop_source stop;
        auto end = each->start(ex, 1, {.stop = stop.get_token()});
        until_someone_waits(ex);
        stop.request_stop();
        expect(end, make_error_code(exchange_errc::cancelled), 1);
    }
}

TEST(AsioMatrix, EachKindHasItsDeadline) {
    const auto all = everybody();
    for (const auto& each : all) {
        SCOPED_TRACE(each->name());
        exchanger ex;
        const auto start = std::chrono::steady_clock::now();
        auto end = each->start(ex, 1, {.patience = 2ms});
        expect(end, make_error_code(exchange_errc::timed_out), 1);
        EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
        auto at_once = each->start(ex, 2, {.patience = 0ns});
        expect(at_once, make_error_code(exchange_errc::timed_out), 2);
    }
}

TEST(AsioMatrix, EachKindCanBeClosedOn) {
    const auto all = everybody();
    for (const auto& each : all) {
        SCOPED_TRACE(each->name());
        exchanger ex;
        auto end = each->start(ex, 1);
        until_someone_waits(ex);
        ex.close();
        expect(end, make_error_code(exchange_errc::closed), 1);
        auto late = each->start(ex, 2);
        expect(late, make_error_code(exchange_errc::closed), 2);
    }
}

} // namespace
