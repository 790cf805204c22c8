// SPDX-License-Identifier: MIT
// tryst in awaitables of Asio, and its own tasks on Asio's executors, beside Asio's own channels:
// as most programs have them (`any_io_executor`), and in their fastest form: with the concrete
// executor, and `try_` first, which serves a waiting partner without a turn of the context.
#include "buffered.hpp"
#include "families.hpp"
#include "selects.hpp"
#include "workloads.hpp"

#include <tryst/asio.hpp>

#include <asio.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/basic_channel.hpp>
#include <asio/experimental/basic_concurrent_channel.hpp>
#include <asio/experimental/channel_error.hpp>
#include <asio/experimental/channel_traits.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/parallel_group.hpp>

namespace tryst::bench {
namespace {

namespace net = ::asio;
namespace experimental = net::experimental;

// ---- Families. A place has the executors and threads; a family adds the kind of coroutine.

/// One thread runs each context. A context ends by itself when it has no more work.
/// @tparam Hint  1, or `ASIO_CONCURRENCY_HINT_UNSAFE` for one context without locks.
template <int Hint, class Executor = net::io_context::executor_type>
class contexts {
public:
    static constexpr bool alone = Hint == ASIO_CONCURRENCY_HINT_UNSAFE;
    using executor = Executor;

    explicit contexts(unsigned count, bool /*pinned*/ = true) {
        for (unsigned i = 0; i != count; ++i) {
            all_.push_back(std::make_unique<net::io_context>(Hint));
        }
    }

    std::size_t size() const noexcept { return all_.size(); }
    executor get_executor(unsigned loop = 0) const { return all_[loop]->get_executor(); }
    static bool pinned() noexcept { return true; }
    void run(unsigned loop) { all_[loop]->run(); }
    void stop() {}
    void settle() {
        for (auto& each : all_) {
            each->restart();
            each->poll();
        }
    }

private:
    std::vector<std::unique_ptr<net::io_context>> all_;
};

/// Two threads, which are not pinned, as is usual for a pool. They run until `stop`, which waits
/// for all work.
class thread_pool {
public:
    using executor = net::thread_pool::executor_type;

    explicit thread_pool(unsigned /*count*/) {}

    executor get_executor(unsigned /*loop*/ = 0) const { return pool_.get_executor(); }
    static std::size_t size() noexcept { return 0; }
    static bool pinned() noexcept { return false; }
    static void run(unsigned /*thread*/) {}
    void stop() { pool_.join(); }
    static void settle() {}

private:
    mutable net::thread_pool pool_{2};
};

template <class Place>
class awaitables : public Place {
public:
    using executor = typename Place::executor;
    using task = net::awaitable<void, executor>;
    using Place::Place;

    /// Returns an awaitable for an operation of tryst; other operations are awaitables.
    template <class Operation>
    static auto wait(Operation&& operation) {
        if constexpr (asio::detail::awaitable_operation<std::remove_cvref_t<Operation>>) {
            return asio::wait<executor>(std::forward<Operation>(operation));
        } else {
            return std::forward<Operation>(operation);
        }
    }
    template <class Start>
    void spawn(unsigned loop, Start start) {
        net::co_spawn(this->get_executor(loop), start(), [](const std::exception_ptr& error) {
            if (error) {
                std::rethrow_exception(error);
            }
        });
    }
};

/// tryst's tasks on a place.
template <class Place>
class tasks : public Place {
public:
    using task = tryst::task<>;

    explicit tasks(unsigned count) : Place(count) {
        for (unsigned i = 0; i != count; ++i) {
            executors_.push_back(std::make_unique<executor>(this->get_executor(i)));
        }
    }

    template <class Operation>
    static by_reference<Operation> wait(Operation&& operation) noexcept {
        return {operation};
    }
    template <class Start>
    void spawn(unsigned loop, Start start) {
        executors_[loop]->spawn(start());
    }

private:
    using executor = asio::task_executor<typename Place::executor>;
    std::vector<std::unique_ptr<executor>> executors_;
};

using one_context = contexts<ASIO_CONCURRENCY_HINT_UNSAFE>;
using any_context = contexts<ASIO_CONCURRENCY_HINT_UNSAFE, net::any_io_executor>;
using alone = awaitables<one_context>;
using any_alone = awaitables<any_context>;
using shared = awaitables<contexts<1>>;
using pooled = awaitables<thread_pool>;

// ---- Asio's channels.

template <class Family>
using unlocked =
    experimental::basic_channel<typename Family::executor, experimental::channel_traits<>,
                                void(std::error_code, item)>;
template <class Family>
using locked = experimental::basic_concurrent_channel<
    typename Family::executor, experimental::channel_traits<>, void(std::error_code, item)>;

template <class Channel, std::size_t Buffer = 0>
class asio_channel {
public:
    template <class Place>
    explicit asio_channel(const Place& place) : channel_(place.get_executor(), Buffer) {}

    auto send(item it) { return channel_.async_send(std::error_code(), it, use_awaitable()); }
    auto receive() { return channel_.async_receive(use_awaitable()); }
    auto wait(std::size_t /*id*/) { return channel_.async_receive(with_error); }
    void cancel() { channel_.cancel(); }
    static bool was_cancelled(const std::tuple<std::error_code, item>& got) {
        return std::get<0>(got) == experimental::error::channel_cancelled;
    }

protected:
    using use_awaitable = net::use_awaitable_t<typename Channel::executor_type>;
    static constexpr experimental::as_tuple_t<use_awaitable> with_error{use_awaitable()};

    Channel channel_;
};

template <class Base>
class trying : public Base {
public:
    using Base::Base;

    bool send_at_once(item it) { return this->channel_.try_send(std::error_code(), it); }
    std::optional<item> receive_at_once() {
        std::optional<item> got;
        this->channel_.try_receive([&](std::error_code /*error*/, item it) { got = it; });
        return got;
    }
};

/// Receives with a deadline, in the usual way: whichever ends first, the wait or the timer. It
/// sends without one, because the sender could not tell whether the item was received.
class timed : public asio_channel<unlocked<alone>> {
public:
    template <class Place>
    timed(const Place& place, std::chrono::microseconds patience)
        : asio_channel(place), patience_(patience) {}

    net::awaitable<std::optional<item>, alone::executor> receive() {
        using namespace experimental::awaitable_operators;
        net::basic_waitable_timer<steady, net::wait_traits<steady>, alone::executor> timer(
            channel_.get_executor(), patience_);
        const auto first =
            co_await (channel_.async_receive(with_error) || timer.async_wait(with_error));
        std::optional<item> got;
        if (first.index() == 0 && !std::get<0>(std::get<0>(first))) {
            got = std::get<1>(std::get<0>(first));
        }
        co_return got;
    }
    /// Waits as a party of an exchange does.
    auto exchange(item /*unused*/) { return receive(); }

private:
    std::chrono::microseconds patience_;
};

/// The results of a parallel group of N waits: the order of completion, then an error and an item
/// of each wait.
template <std::size_t Waits, class... Results>
struct group_results : group_results<Waits - 1, Results..., std::error_code, item> {};
template <class... Results>
struct group_results<0, Results...> {
    using tuple = std::tuple<Results...>;
    using signature = void(Results...);
};

/// A selection by a parallel group, which ends when all waits have ended, and returns the results
/// of all. So a receiver may get several items at once. Each wait ends on the receiver's context.
/// (The awaitable operator `||` would lose items.)
template <class Channel, std::size_t N>
class in_group {
    using results = group_results<N, std::array<std::size_t, N>>;
    using use_awaitable = net::use_awaitable_t<typename Channel::executor_type>;

public:
    static constexpr std::size_t count = N;

    template <class Place>
    explicit in_group(const Place& place)
        : channels_([&]<std::size_t... I>(std::index_sequence<I...>) {
              return std::array<Channel, N>{
                  (static_cast<void>(I), Channel(place.get_executor()))...};
          }(std::make_index_sequence<N>())) {}

    bool send_at_once(std::size_t turn, item it) {
        return channels_[turn].try_send(std::error_code(), it);
    }
    auto send(std::size_t turn, item it) {
        return channels_[turn].async_send(std::error_code(), it, use_awaitable());
    }
    /// Tries all, beginning with another each time.
    std::optional<item> receive_at_once(std::size_t turn) {
        std::optional<item> got;
        for (std::size_t i = 0; i != N && !got; ++i) {
            channels_[(turn + i) % N].try_receive([&](std::error_code error, item it) {
                if (!error) {
                    got = it;
                }
            });
        }
        return got;
    }
    net::awaitable<typename results::tuple, typename Channel::executor_type> receive() {
        return net::async_initiate<use_awaitable, typename results::signature>(
            [this](auto handler) {
                const auto bound = [on = net::get_associated_executor(handler)](Channel& each) {
                    if constexpr (std::is_same_v<Channel, unlocked<alone>>) {
                        static_cast<void>(on); // one context: nothing to choose
                        return each.async_receive(experimental::deferred);
                    } else {
                        return net::bind_executor(on, each.async_receive(experimental::deferred));
                    }
                };
                std::apply(
                    [&](auto&... each) {
                        experimental::make_parallel_group(bound(each)...)
                            .async_wait(experimental::wait_for_one(), std::move(handler));
                    },
                    channels_);
            },
            token_);
    }
    template <class Take>
    static bool received(const typename results::tuple& got, Take take) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            const auto one = [&](std::error_code error, item it) {
                if (!error) {
                    take(it);
                }
                return !error;
            };
            return (one(std::get<2 * I + 1>(got), std::get<2 * I + 2>(got)) | ...);
        }(std::make_index_sequence<N>());
    }
    void close() { std::ranges::for_each(channels_, &Channel::close); }

private:
    std::array<Channel, N> channels_;
    use_awaitable token_;
};

// ---- Registration.

/// Half of the tasks on each of two task executors of one pool.
template <workload Run>
measurement on_two_executors(const parameters& p) {
    parameters each = p;
    each.loops = 2;
    each.tasks = p.tasks / 2;
    return Run(each);
}

const std::string ours = "tryst on Asio";
const std::string ours_tried = "tryst on Asio, try_ first";
const std::string theirs = "Asio channel, try_ first";
const std::string ours_on_one = "tryst on Asio, channel of 0, single_threaded, try_ first";
using on_one_thread = buffered<0, single_threaded>;

template <std::size_t N>
void add_selects_of() {
    add_selects(N, ours, selects<alone, select_from<fifo, N>>,
                selects<shared, select_from<fifo, N>>);
    add_selects(N, ours_tried, selects<alone, trying_select_from<fifo, N>>,
                selects<shared, trying_select_from<fifo, N>>);
    add_selects(N, theirs, selects<alone, in_group<unlocked<alone>, N>>,
                selects<shared, in_group<locked<shared>, N>>);
    add_selects(N, ours_on_one, selects<alone, trying_select_from<on_one_thread, N>>);
}

[[maybe_unused]] const bool added = [] {
    using tried = trying<asio_channel<unlocked<alone>>>;
    using tried_in_two = trying<asio_channel<locked<shared>>>;
    using tried_in_pool = trying<asio_channel<locked<pooled>>>;
    using any = asio_channel<unlocked<any_alone>>;
    const std::string ours_any = "tryst on Asio, any_io_executor";
    const std::string our_tasks = "tryst tasks on Asio";
    const std::string theirs_any = "Asio channel, any_io_executor";
    const parameters deadline{.pause = std::chrono::seconds(1)};
    const parameters patience{.pause = std::chrono::microseconds(100)};

    add_on_loops("swap", ours, swaps<alone, meeting>, swaps<shared, meeting>);
    add_on_loops("swap", ours_tried, swaps<alone, trying_exchange>, swaps<shared, trying_exchange>);
    add_on_loops("swap", our_tasks, swaps<tasks<one_context>, meeting>,
                 swaps<tasks<contexts<1>>, meeting>);
    add_on_loops("swap", theirs, swap_in_two<alone, tried>, swap_in_two<shared, tried_in_two>);
    add_on_loops("swap", ours_any, swaps<any_alone, meeting>);
    add_on_loops("swap", theirs_any, swap_in_two<any_alone, any>);
    add_on_loops("one way", ours, hand_over<alone, fifo>, hand_over<shared, fifo>);
    add_on_loops("one way", ours_tried, hand_over<alone, trying_channel<fifo>>,
                 hand_over<shared, trying_channel<fifo>>);
    add_on_loops("one way", theirs, hand_over<alone, tried>, hand_over<shared, tried_in_two>);
    add_on_loops("one way", ours_any, hand_over<any_alone, fifo>);
    add_on_loops("one way", theirs_any, hand_over<any_alone, any>);
    add_on_loops("one way", ours_on_one, hand_over<alone, trying_channel<on_one_thread>>);
    add_selects_of<2>();
    add_selects_of<4>();

    add_loops("cancel/" + ours, cancel<alone, without_sender<std::stop_source>>, 1,
              {1'000, 100'000});
    add_loops("cancel/" + ours + ", inplace_stop_source",
              cancel<alone, without_sender<inplace_stop_source>>, 1, {1'000, 100'000});
    add_loops("cancel/" + theirs, cancel<alone, tried>, 1, {1'000, 100'000});
    add_loops("swap with a deadline, one loop/" + ours, swap_for<alone, meeting>, 1, {2, 16, 1'000},
              deadline);
    add_loops("swap with a deadline, one loop/" + our_tasks, swap_for<tasks<one_context>, meeting>,
              1, {2, 16, 1'000}, deadline);
    add_loops("swap with a deadline, one loop/" + theirs, swap_in_two<alone, trying<timed>>, 1,
              {2, 16, 1'000}, deadline);
    add_loops("timeout/" + ours, time_outs<alone, impatient>, 1, {1'000}, patience);
    add_loops("timeout/" + our_tasks, time_outs<tasks<one_context>, impatient>, 1, {1'000},
              patience);
    add_loops("timeout/" + theirs, time_outs<alone, timed>, 1, {1'000}, patience);
    add_pauses("latency, two loops/" + ours, latency<shared, one_way<meeting>>);
    add_pauses("latency, two loops/" + theirs, latency<shared, tried_in_two>);
    add_loops("memory/" + ours, memory<alone, fifo>, 1, {100'000});
    add_loops("memory/" + our_tasks, memory<tasks<one_context>, fifo>, 1, {100'000});
    add_loops("memory/" + theirs, memory<alone, tried>, 1, {100'000});

    add_loops("swap, a pool of two threads/" + ours, swaps<pooled, meeting>, 1, {2, 16, 1'000});
    add_loops("swap, a pool of two threads/" + our_tasks,
              on_two_executors<swaps<tasks<thread_pool>, meeting>>, 1, {2, 16, 1'000});
    add_loops("swap, a pool of two threads/" + theirs, swap_in_two<pooled, tried_in_pool>, 1,
              {2, 16, 1'000});
    add_loops("one way, a pool of two threads/" + ours, hand_over<pooled, fifo>, 1,
              {2, 200, 20'000});
    add_loops("one way, a pool of two threads/" + theirs, hand_over<pooled, tried_in_pool>, 1,
              {2, 200, 20'000});

    using buffered_alone = trying<asio_channel<unlocked<alone>, 64>>;
    using buffered_shared = trying<asio_channel<locked<shared>, 64>>;
    using buffered_in_pool = trying<asio_channel<locked<pooled>, 64>>;
    add_buffered(theirs + ", buffer of 64", hand_over<alone, buffered_alone>,
                 hand_over<shared, buffered_shared>);
    add_buffered("tryst on Asio, channel of 64", hand_over<alone, buffered<64>>,
                 hand_over<shared, buffered<64>>);
    using ours_buffered = trying_channel<buffered<64>>;
    add_buffered("tryst on Asio, channel of 64, try_ first", hand_over<alone, ours_buffered>,
                 hand_over<shared, ours_buffered>);
    add_buffered("tryst on Asio, channel of 64, single_threaded, try_ first",
                 hand_over<alone, trying_channel<buffered<64, single_threaded>>>, nullptr);
    const std::string in_pool = "buffered, a pool of two threads/";
    const std::initializer_list<unsigned> pool_sizes{2, 200, 20'000};
    add_loops(in_pool + theirs + ", buffer of 64", hand_over<pooled, buffered_in_pool>, 1,
              pool_sizes);
    add_loops(in_pool + "tryst on Asio, channel of 64", hand_over<pooled, buffered<64>>, 1,
              pool_sizes);
    add_loops(in_pool + "tryst on Asio, channel of 64, try_ first",
              hand_over<pooled, ours_buffered>, 1, pool_sizes);
    add_loops(in_pool + "tryst on Asio, channel of 1,024", hand_over<pooled, buffered<1'024>>, 1,
              pool_sizes);
    add_loops(in_pool + "tryst on Asio, fifo, no buffer", hand_over<pooled, fifo>, 1, pool_sizes);
    return true;
}();

} // namespace
} // namespace tryst::bench
