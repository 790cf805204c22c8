// SPDX-License-Identifier: MIT
// A party on each loop meets a party on every other, a thread, a bare coroutine and an awaitable.
#include "adapters/loops/host_thread.hpp"
#include "adapters/loops/hosts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"

#include <tryst/tryst.hpp>

#ifdef TRYST_TEST_ASIO
#include "adapters/asio/net.hpp"
#endif

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::test::until_someone_waits;

struct outcome {
    int item;
    std::thread::id thread;
};
using promise = std::shared_ptr<std::promise<outcome>>;

void keep(const promise& end, const tryst::exchange_result<int>& got) {
    end->set_value({got ? *got : -got.returned(), std::this_thread::get_id()});
}

/// A kind of party. It takes part as often as it is started.
class kind {
public:
    kind() = default;
    kind(const kind&) = delete;
    kind& operator=(const kind&) = delete;
    virtual ~kind() = default;
    virtual const char* name() const noexcept = 0;
    /// The thread on which it ends; none if that depends on the partner.
    virtual std::thread::id home() const noexcept { return {}; }
    virtual void begin(tryst::exchanger<int>& ex, int item, promise end) = 0;

    std::future<outcome> start(tryst::exchanger<int>& ex, int item) {
        auto end = std::make_shared<std::promise<outcome>>();
        auto later = end->get_future();
        begin(ex, item, std::move(end));
        return later;
    }
};

tryst::task<> run_task(tryst::exchanger<int>& ex, int item, promise end) {
    const auto got = co_await ex.exchange(item);
    keep(end, got);
}

template <class Host>
class on_host final : public kind {
    tryst::test::host_thread<Host> loop_;
    const char* name() const noexcept override { return Host::name; }
    std::thread::id home() const noexcept override { return loop_.id(); }
    void begin(tryst::exchanger<int>& ex, int item, promise end) override {
        loop_->spawn(run_task(ex, item, std::move(end)));
    }
};

class on_run_loop final : public kind {
    tryst::test::loop_thread loop_;
    const char* name() const noexcept override { return "run_loop"; }
    void begin(tryst::exchanger<int>& ex, int item, promise end) override {
        loop_->spawn(run_task(ex, item, std::move(end)));
    }
};

class thread final : public kind {
    std::vector<std::jthread> threads_;
    const char* name() const noexcept override { return "thread"; }
    void begin(tryst::exchanger<int>& ex, int item, promise end) override {
        threads_.emplace_back(
            [&ex, item, end = std::move(end)] { keep(end, tryst::sync_wait(ex.exchange(item))); });
    }
};

class bare final : public kind {
    const char* name() const noexcept override { return "bare coroutine"; }
    void begin(tryst::exchanger<int>& ex, int item, promise end) override {
        run(ex, item, std::move(end));
    }
    static tryst::test::detached_coroutine run(tryst::exchanger<int>& ex, int item, promise end) {
        const auto got = co_await ex.exchange(item);
        keep(end, got);
    }
};

#ifdef TRYST_TEST_ASIO
namespace net = tryst::test::net;

class awaitable final : public kind {
public:
    ~awaitable() override {
        work_.reset();
        thread_.join();
    }

private:
    net::io_context io_;
    net::executor_work_guard<net::io_context::executor_type> work_{io_.get_executor()};
    std::thread thread_{[this] { io_.run(); }};

    const char* name() const noexcept override { return "awaitable"; }
    std::thread::id home() const noexcept override { return thread_.get_id(); }
    void begin(tryst::exchanger<int>& ex, int item, promise end) override {
        net::co_spawn(io_, run(ex, item, std::move(end)), net::detached);
    }
    static net::awaitable<void> run(tryst::exchanger<int>& ex, int item, promise end) {
        const auto got = co_await tryst::asio::wait(ex.exchange(item));
        keep(end, got);
    }
};
#endif

template <template <class...> class List, class... Hosts>
std::vector<std::unique_ptr<kind>> everybody(List<Hosts...> /*hosts*/) {
    std::vector<std::unique_ptr<kind>> all;
    (all.push_back(std::make_unique<on_host<Hosts>>()), ...);
    all.push_back(std::make_unique<on_run_loop>());
    all.push_back(std::make_unique<thread>());
    all.push_back(std::make_unique<bare>());
#ifdef TRYST_TEST_ASIO
    all.push_back(std::make_unique<awaitable>());
#endif
    return all;
}

void expect(std::future<outcome>& end, int item, const kind& who) {
    const outcome got = end.get();
    EXPECT_EQ(got.item, item);
    if (who.home() != std::thread::id()) {
        EXPECT_EQ(got.thread, who.home());
    }
}

TEST(EventLoopMatrix, EveryKindMeetsEveryOther) {
    tryst::exchanger<int> ex;
    const auto waiters = everybody(tryst::test::hosts());
    const auto partners = everybody(tryst::test::hosts());
    int item = 0;
    for (const auto& one : waiters) {
        for (const auto& other : partners) {
            SCOPED_TRACE(one->name());
            SCOPED_TRACE(other->name());
            const int mine = ++item;
            const int theirs = ++item;
            auto waiting = one->start(ex, mine);
            until_someone_waits(ex);
            auto arriving = other->start(ex, theirs);
            expect(waiting, theirs, *one);
            expect(arriving, mine, *other);
        }
    }
}

TEST(EventLoopMatrix, AllKindsMeetInOneCrowd) {
    tryst::exchanger<int> ex;
    const auto all = everybody(tryst::test::hosts());
    constexpr std::size_t rounds = 50;
    std::vector<std::future<outcome>> ends;
    for (std::size_t round = 0; round != 2 * rounds; ++round) {
        for (const auto& each : all) {
            ends.push_back(each->start(ex, static_cast<int>(ends.size())));
        }
    }
    std::vector<outcome> got;
    for (std::size_t i = 0; i != ends.size(); ++i) {
        got.push_back(ends[i].get());
        const kind& who = *all[i % all.size()];
        if (who.home() != std::thread::id()) {
            EXPECT_EQ(got[i].thread, who.home());
        }
    }
    for (std::size_t i = 0; i != got.size(); ++i) {
        const auto partner = static_cast<std::size_t>(got[i].item);
        EXPECT_NE(partner, i);
        EXPECT_EQ(static_cast<std::size_t>(got.at(partner).item), i);
    }
}

} // namespace
