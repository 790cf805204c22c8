// SPDX-License-Identifier: MIT
// Every kind of party against every other, in one exchanger or channel, on either of its sides.
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
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Gives access to the private list of waiters: see support/insides.cpp.
namespace {

template <tryst::order Order>
using colours = tryst::red_blue_exchanger<int, long, Order>;
template <tryst::order Order>
using channel = tryst::synchronous_channel<int, Order>;
using queue = tryst::detail::dual_queue;
using stack = tryst::detail::dual_stack;
using queue_protocol = tryst::detail::protocol<queue>;
using stack_protocol = tryst::detail::protocol<stack>;

queue& wait_list_of(colours<tryst::order::fifo>& at) noexcept;
stack& wait_list_of(colours<tryst::order::lifo>& at) noexcept;
queue& wait_list_of(channel<tryst::order::fifo>& at) noexcept;
stack& wait_list_of(channel<tryst::order::lifo>& at) noexcept;

template <class Place, class WaitList, auto Inside, auto Arena>
struct opened {
    friend WaitList& wait_list_of(Place& at) noexcept { return ((*(at.*Inside)).*Arena).list(); }
};
template struct opened<colours<tryst::order::fifo>, queue, &colours<tryst::order::fifo>::protocol_,
                       &queue_protocol::arena_>;
template struct opened<colours<tryst::order::lifo>, stack, &colours<tryst::order::lifo>::protocol_,
                       &stack_protocol::arena_>;
template struct opened<channel<tryst::order::fifo>, queue, &channel<tryst::order::fifo>::protocol_,
                       &queue_protocol::arena_>;
template struct opened<channel<tryst::order::lifo>, stack, &channel<tryst::order::lifo>::protocol_,
                       &stack_protocol::arena_>;

} // namespace

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::test::loop_thread;
using tryst::test::until_someone_waits;
namespace net = tryst::test::net;
using std::chrono::nanoseconds;
using tryst::order;
using tryst::detail::colour;

// ---- The sides of a meeting

/// One side: `wait` makes the operation. A party `brings` an item, or none.
template <class Place, bool Brings>
struct side {
    using place = Place;
    static constexpr bool brings = Brings;
    /// Whether the partner of a party that is seen to wait never waits. Under `fifo` a party is
    /// seen from its ticket on, and its partner may come to their cell first.
    static constexpr bool is_seen_in_place = !std::is_same_v<place, colours<order::fifo>> &&
                                             !std::is_same_v<place, channel<order::fifo>>;
};

struct exchanging : side<tryst::exchanger<int>, true> {
    static constexpr const char* name = "exchange";
    static auto wait(place& at, int item, nanoseconds patience, const std::stop_token& stop) {
        return at.exchange(item, patience, stop);
    }
    static void until_someone_waits(place& at) { tryst::test::until_someone_waits(at); }
};

template <class Place, colour Colour, bool Brings>
struct two_sided : side<Place, Brings> {
    static void until_someone_waits(Place& at) {
        while (wait_list_of(at).try_match(Colour).kind != tryst::detail::match_result::own_side) {
            std::this_thread::yield();
        }
    }
};

template <order Order>
struct red : two_sided<colours<Order>, colour::red, true> {
    static constexpr const char* name = Order == order::fifo ? "red_fifo" : "red_lifo";
    static auto wait(colours<Order>& at, int item, nanoseconds patience,
                     const std::stop_token& stop) {
        return at.red(item, patience, stop);
    }
};

template <order Order>
struct blue : two_sided<colours<Order>, colour::blue, true> {
    static constexpr const char* name = Order == order::fifo ? "blue_fifo" : "blue_lifo";
    static auto wait(colours<Order>& at, int item, nanoseconds patience,
                     const std::stop_token& stop) {
        return at.blue(item, patience, stop);
    }
};

template <order Order>
struct sending : two_sided<channel<Order>, colour::red, true> {
    static constexpr const char* name = Order == order::fifo ? "send_fifo" : "send_lifo";
    static auto wait(channel<Order>& at, int item, nanoseconds patience,
                     const std::stop_token& stop) {
        return at.send(item, patience, stop);
    }
};

template <order Order>
struct receiving : two_sided<channel<Order>, colour::blue, false> {
    static constexpr const char* name = Order == order::fifo ? "receive_fifo" : "receive_lifo";
    static auto wait(channel<Order>& at, int /*none*/, nanoseconds patience,
                     const std::stop_token& stop) {
        return at.receive(patience, stop);
    }
};

// ---- The kinds of parties

/// The limits of a wait.
struct limits {
    std::stop_token stop{};
    nanoseconds patience = nanoseconds::max();
};

/// The end of an operation: its error, its item if any, whether it resumed on the right executor,
/// and the thread.
struct outcome {
    std::error_code error;
    std::optional<long> item;
    bool in_wait_list;
    std::thread::id thread = std::this_thread::get_id();
};
using promise = std::shared_ptr<std::promise<outcome>>;

/// The id of the item that a party has at the end.
template <class T, class Own>
std::optional<long> item_of(const exchange_result<T, Own>& got) {
    if constexpr (!std::is_void_v<T>) {
        if (got) {
            return *got;
        }
    }
    if constexpr (!std::is_void_v<Own>) {
        if (!got) {
            return got.returned();
        }
    }
    return std::nullopt;
}

template <class Result>
void keep(const promise& end, const Result& got, bool in_wait_list) {
    end->set_value({got.error(), item_of(got), in_wait_list});
}
auto keep_completion(promise end, std::function<bool()> in_wait_list) {
    return [end = std::move(end), in_wait_list = std::move(in_wait_list)](const auto& got) {
        keep(end, got, in_wait_list());
    };
}

/// A kind of party. It has threads of its own, and takes part as often as it is started.
template <class Side>
class kind {
public:
    using place = typename Side::place;

    kind() = default;
    kind(const kind&) = delete;
    kind& operator=(const kind&) = delete;
    virtual ~kind() = default;
    virtual const char* name() const noexcept = 0;
    /// Whether it has no executor, and so resumes inside its partner.
    virtual bool is_bare() const noexcept { return false; }
    /// Whether it goes on, if it need not wait, on the thread on which it came.
    virtual bool stays() const noexcept { return true; }
    /// Begins an operation; `end` is told of its end.
    virtual void begin(place& at, int item, limits until, promise end) = 0;

    std::future<outcome> start(place& at, int item, limits until = {}) {
        auto end = std::make_shared<std::promise<outcome>>();
        auto later = end->get_future();
        begin(at, item, std::move(until), std::move(end));
        return later;
    }
};

template <class Side>
tryst::task<> run_task(typename Side::place& at, int item, limits until, promise end,
                       std::function<bool()> in_wait_list) {
    const auto got = co_await Side::wait(at, item, until.patience, until.stop);
    keep(end, got, in_wait_list());
}

template <class Side>
class loop_coroutine final : public kind<Side> {
    loop_thread loop_;
    const char* name() const noexcept override { return "coroutine on a run_loop"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        loop_->spawn(run_task<Side>(at, item, std::move(until), std::move(end),
                                    [this] { return loop_->running_here(); }));
    }
};

template <class Side>
class bare final : public kind<Side> {
    const char* name() const noexcept override { return "bare coroutine"; }
    bool is_bare() const noexcept override { return true; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        run(at, item, std::move(until), std::move(end));
    }
    static tryst::test::detached_coroutine run(typename Side::place& at, int item, limits until,
                                               promise end) {
        const auto got = co_await Side::wait(at, item, until.patience, until.stop);
        keep(end, got, true);
    }
};

template <class Side>
class thread final : public kind<Side> {
    std::vector<std::jthread> threads_;
    const char* name() const noexcept override { return "thread"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        threads_.emplace_back([&at, item, until = std::move(until), end = std::move(end)] {
            const auto id = std::this_thread::get_id();
            const auto got = tryst::sync_wait(Side::wait(at, item, until.patience, until.stop));
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

template <class Side>
class callback final : public kind<Side> {
    context_thread io_;
    const char* name() const noexcept override { return "callback"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        net::post(*io_, [this, &at, item, until = std::move(until), end = std::move(end)] {
            tryst::asio::async_wait(
                Side::wait(at, item, until.patience, {}),
                tryst::asio::bind_stop_token(until.stop,
                                             net::bind_executor(*io_, keep_completion(end, [this] {
                                                 return io_.running_here();
                                             }))));
        });
    }
};

/// Completes on the system executor. That runs several handlers at a time, so it is cancelled only
/// by the operation's own stop token.
template <class Side>
class future final : public kind<Side> {
    std::vector<std::jthread> threads_;
    const char* name() const noexcept override { return "future"; }
    bool stays() const noexcept override { return false; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        const auto id = std::this_thread::get_id();
        const auto tell = [id](const auto& got) {
            return outcome{got.error(), item_of(got), std::this_thread::get_id() != id};
        };
        auto later = tryst::asio::async_wait(Side::wait(at, item, until.patience, until.stop),
                                             net::use_future(tell));
        threads_.emplace_back([end = std::move(end), later = std::move(later)]() mutable {
            end->set_value(later.get());
        });
    }
};

template <class Side>
class future_on_context final : public kind<Side> {
    std::vector<std::jthread> threads_;
    context_thread io_; // first to go: it adds to the threads
    const char* name() const noexcept override { return "future of an io_context"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        net::post(*io_, [this, &at, item, until = std::move(until), end = std::move(end)] {
            const auto tell = [this](const auto& got) {
                return outcome{got.error(), item_of(got), io_.running_here()};
            };
            auto later = tryst::asio::async_wait(Side::wait(at, item, until.patience, until.stop),
                                                 net::bind_executor(*io_, net::use_future(tell)));
            threads_.emplace_back(
                [end, later = std::move(later)]() mutable { end->set_value(later.get()); });
        });
    }
};

/// Awaits in a coroutine of `executor`.
template <class Side, class Executor>
void begin_awaitable(const Executor& executor, typename Side::place& at, int item, limits until,
                     promise end, std::function<bool()> in_wait_list) {
    net::co_spawn(
        executor,
        [](typename Side::place& room, int mine, limits its, promise told,
           std::function<bool()> here) -> net::awaitable<void> {
            const auto got =
                co_await tryst::asio::wait(Side::wait(room, mine, its.patience, its.stop));
            keep(told, got, here());
        }(at, item, std::move(until), std::move(end), std::move(in_wait_list)),
        net::detached);
}

template <class Side>
class context_awaitable final : public kind<Side> {
    context_thread io_;
    const char* name() const noexcept override { return "awaitable on an io_context"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        begin_awaitable<Side>((*io_).get_executor(), at, item, std::move(until), std::move(end),
                              [this] { return io_.running_here(); });
    }
};

template <class Side>
class pool_awaitable final : public kind<Side> {
public:
    ~pool_awaitable() override { pool_.join(); }

private:
    net::thread_pool pool_{2};
    const char* name() const noexcept override { return "awaitable on a pool"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        begin_awaitable<Side>(pool_.get_executor(), at, item, std::move(until), std::move(end),
                              [this] { return pool_.get_executor().running_in_this_thread(); });
    }
};

template <class Side>
class strand_awaitable final : public kind<Side> {
public:
    ~strand_awaitable() override { pool_.join(); }

private:
    net::thread_pool pool_{2};
    const char* name() const noexcept override { return "awaitable on a strand"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        const auto strand = net::make_strand(pool_);
        begin_awaitable<Side>(strand, at, item, std::move(until), std::move(end),
                              [strand] { return strand.running_in_this_thread(); });
    }
};

template <class Side>
class executor_task final : public kind<Side> {
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
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        loop_->spawn(run_task<Side>(at, item, std::move(until), std::move(end), [this] {
            return io_.running_here() && loop_->executor().running_here();
        }));
    }
};

template <class Side>
class awaited_task final : public kind<Side> {
    context_thread io_;
    const char* name() const noexcept override { return "task in async_wait"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        tryst::asio::async_wait(run_task<Side>(at, item, std::move(until), std::move(end),
                                               [this] { return io_.running_here(); }),
                                net::bind_executor(*io_, [](const std::exception_ptr&) {}));
    }
};

#ifdef TRYST_TEST_FIBER
template <class Side>
class boost_fiber final : public kind<Side> {
    std::vector<std::jthread> threads_;
    const char* name() const noexcept override { return "fiber"; }
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        threads_.emplace_back([&at, item, until = std::move(until), end = std::move(end)] {
            boost::fibers::fiber([&] {
                const auto id = boost::this_fiber::get_id();
                const auto got =
                    tryst::fiber::wait(Side::wait(at, item, until.patience, until.stop));
                keep(end, got, boost::this_fiber::get_id() == id);
            }).join();
        });
    }
};
#endif

#ifdef TRYST_TEST_URING
template <class Side>
class uring_coroutine final : public kind<Side> {
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
    void begin(typename Side::place& at, int item, limits until, promise end) override {
        loop_.spawn(run_task<Side>(at, item, std::move(until), std::move(end),
                                   [this] { return loop_.running_here(); }));
    }
};

template <class Side>
void add_uring_coroutines(std::vector<std::unique_ptr<kind<Side>>>& all) {
    try {
        all.push_back(
            std::make_unique<uring_coroutine<Side>>("coroutine on a uring::context", 2'000));
        all.push_back(std::make_unique<uring_coroutine<Side>>(
            "coroutine on a uring::context that sleeps", 0));
    } catch (const std::system_error& e) {
        std::cerr << "without io_uring: " << e.what() << '\n';
    }
}
#endif

/// The place to enter another kind, with a `begin` like those above.
template <class Side>
std::vector<std::unique_ptr<kind<Side>>> everybody() {
    std::vector<std::unique_ptr<kind<Side>>> all;
    all.push_back(std::make_unique<loop_coroutine<Side>>());
    all.push_back(std::make_unique<bare<Side>>());
    all.push_back(std::make_unique<thread<Side>>());
    all.push_back(std::make_unique<callback<Side>>());
    all.push_back(std::make_unique<future<Side>>());
    all.push_back(std::make_unique<future_on_context<Side>>());
    all.push_back(std::make_unique<context_awaitable<Side>>());
    all.push_back(std::make_unique<pool_awaitable<Side>>());
    all.push_back(std::make_unique<strand_awaitable<Side>>());
    all.push_back(std::make_unique<executor_task<Side>>());
    all.push_back(std::make_unique<awaited_task<Side>>());
#ifdef TRYST_TEST_FIBER
    all.push_back(std::make_unique<boost_fiber<Side>>());
#endif
#ifdef TRYST_TEST_URING
    add_uring_coroutines(all);
#endif
    return all;
}

// ---- The meetings

/// The waiters are on the `First` side, their partners on the other.
template <class First, class Second>
struct meeting {
    using first = First;
    using second = Second;
    using place = typename First::place;
};

template <class Meeting>
class AsioMatrix : public ::testing::Test {};

using meetings =
    ::testing::Types<meeting<exchanging, exchanging>, meeting<red<order::fifo>, blue<order::fifo>>,
                     meeting<blue<order::fifo>, red<order::fifo>>,
                     meeting<red<order::lifo>, blue<order::lifo>>,
                     meeting<blue<order::lifo>, red<order::lifo>>,
                     meeting<sending<order::fifo>, receiving<order::fifo>>,
                     meeting<receiving<order::fifo>, sending<order::fifo>>,
                     meeting<sending<order::lifo>, receiving<order::lifo>>,
                     meeting<receiving<order::lifo>, sending<order::lifo>>>;
struct names {
    template <class Meeting>
    // NOLINTNEXTLINE(readability-identifier-naming): gtest's own
    static std::string GetName(int /*index*/) {
        return Meeting::first::name;
    }
};
TYPED_TEST_SUITE(AsioMatrix, meetings, names);

/// The item that `Side` has, if it brings one.
template <class Side>
std::optional<long> brought(int item) {
    return Side::brings ? std::optional<long>(item) : std::nullopt;
}

/// @returns the thread on which it ended.
std::thread::id expect(std::future<outcome>& end, std::error_code error, std::optional<long> item) {
    const outcome got = end.get();
    EXPECT_EQ(got.error, error);
    EXPECT_EQ(got.item, item);
    EXPECT_TRUE(got.in_wait_list);
    return got.thread;
}

TYPED_TEST(AsioMatrix, EveryKindMeetsEveryOther) {
    using first = typename TypeParam::first;
    using second = typename TypeParam::second;
    typename TypeParam::place at;
    const auto waiters = everybody<first>();
    const auto partners = everybody<second>();
    int item = 0;
    for (const auto& one : waiters) {
        for (const auto& other : partners) {
            SCOPED_TRACE(one->name());
            SCOPED_TRACE(other->name());
            const int mine = ++item;
            const int theirs = ++item;
            auto waiting = one->start(at, mine);
            first::until_someone_waits(at);
            auto arriving = other->start(at, theirs);
            const auto there = expect(waiting, {}, brought<second>(theirs));
            const auto here = expect(arriving, {}, brought<first>(mine));
            if (one->is_bare() && other->stays()) {
                EXPECT_EQ(there, here);
            }
            if (other->is_bare() && first::is_seen_in_place) {
                EXPECT_EQ(here, std::this_thread::get_id()); // it has not waited
            }
        }
    }
}

TYPED_TEST(AsioMatrix, AllKindsMeetInOneCrowd) {
    using first = typename TypeParam::first;
    using second = typename TypeParam::second;
    typename TypeParam::place at;
    const auto some = everybody<first>();
    const auto others = everybody<second>();
    constexpr int rounds = 20;
    std::vector<std::future<outcome>> ends; // of one side and of the other by turns
    for (int round = 0; round != rounds; ++round) {
        for (std::size_t i = 0; i != some.size(); ++i) {
            ends.push_back(some[i]->start(at, static_cast<int>(ends.size())));
            ends.push_back(others[i]->start(at, static_cast<int>(ends.size())));
        }
    }
    std::vector<std::optional<long>> got;
    for (auto& end : ends) {
        const outcome how = end.get();
        EXPECT_FALSE(how.error);
        EXPECT_TRUE(how.in_wait_list);
        got.push_back(how.item);
    }
    std::vector<int> received(got.size());
    for (std::size_t i = 0; i != got.size(); ++i) {
        const bool is_first = i % 2 == 0;
        ASSERT_EQ(got[i].has_value(), is_first ? second::brings : first::brings);
        if (!got[i]) {
            continue;
        }
        const auto partner = static_cast<std::size_t>(*got[i]);
        EXPECT_NE(partner, i);
        EXPECT_EQ(++received.at(partner), 1);
        if (!std::is_same_v<first, second>) {
            EXPECT_NE(partner % 2, i % 2);
        }
        if (got[partner]) {
            EXPECT_EQ(static_cast<std::size_t>(*got[partner]), i);
        }
    }
}

TYPED_TEST(AsioMatrix, EachKindCanBeStopped) {
    using first = typename TypeParam::first;
    const auto all = everybody<first>();
    for (const auto& each : all) {
        SCOPED_TRACE(each->name());
        typename TypeParam::place at;
        std::stop_source stop;
        auto end = each->start(at, 1, {.stop = stop.get_token()});
        first::until_someone_waits(at);
        stop.request_stop();
        expect(end, make_error_code(exchange_errc::cancelled), brought<first>(1));
    }
}

TYPED_TEST(AsioMatrix, EachKindHasItsDeadline) {
    using first = typename TypeParam::first;
    const auto all = everybody<first>();
    for (const auto& each : all) {
        SCOPED_TRACE(each->name());
        typename TypeParam::place at;
        const auto start = std::chrono::steady_clock::now();
        auto end = each->start(at, 1, {.patience = 2ms});
        expect(end, make_error_code(exchange_errc::timed_out), brought<first>(1));
        EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
        auto at_once = each->start(at, 2, {.patience = 0ns});
        expect(at_once, make_error_code(exchange_errc::timed_out), brought<first>(2));
    }
}

TYPED_TEST(AsioMatrix, EachKindIsToldOfTheClose) {
    using first = typename TypeParam::first;
    const auto all = everybody<first>();
    for (const auto& each : all) {
        SCOPED_TRACE(each->name());
        typename TypeParam::place at;
        auto end = each->start(at, 1);
        first::until_someone_waits(at);
        at.close();
        expect(end, make_error_code(exchange_errc::closed), brought<first>(1));
        auto late = each->start(at, 2);
        expect(late, make_error_code(exchange_errc::closed), brought<first>(2));
    }
}

} // namespace
