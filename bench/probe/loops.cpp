// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <exception>
#include <thread>

#ifdef TRYST_PROBE_ASIO
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#endif

namespace tryst::probe {
namespace {

constexpr std::int64_t rounds = 200'000;

/// A coroutine that its caller resumes and destroys.
struct bare {
    struct promise_type {
        bare get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

bare suspend_for_ever() {
    while (true) {
        co_await std::suspend_always{};
    }
}

double resumption() {
    const bare coroutine = suspend_for_ever();
    const double ns = timed(0, rounds, [&] {
        for (std::int64_t i = 0; i != rounds; ++i) {
            coroutine.handle.resume();
        }
    });
    coroutine.handle.destroy();
    return ns;
}

struct give_way {
    std::coroutine_handle<>* to;
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept { return *to; }
    void await_resume() const noexcept {}
};

/// Transfers to `other` until nothing is `left`, and then returns to the caller.
bare transfer(std::coroutine_handle<>* other, std::int64_t* left) {
    while (--*left > 0) {
        co_await give_way{other};
    }
}

double symmetric_transfer() {
    std::int64_t left = rounds;
    std::coroutine_handle<> handles[2];
    handles[0] = transfer(&handles[1], &left).handle;
    handles[1] = transfer(&handles[0], &left).handle;
    const double ns = timed(0, rounds, [&] { handles[0].resume(); });
    handles[0].destroy();
    handles[1].destroy();
    return ns;
}

/// A node that posts itself again, to its own loop or to the other loop.
struct wanderer : executor_node {
    run_loop* loops[2];
    std::int64_t left = rounds;

    wanderer(run_loop& one, run_loop& other) noexcept : loops{&one, &other} {
        run = [](executor_node* node) noexcept {
            auto& self = *static_cast<wanderer*>(node);
            if (--self.left == 0) {
                self.loops[0]->stop();
                self.loops[1]->stop();
            } else {
                self.loops[self.left % 2]->post(&self);
            }
        };
    }
};

double post_and_run() {
    run_loop loop;
    wanderer node(loop, loop);
    loop.post(&node);
    return timed(0, rounds, [&] { loop.run(); });
}

task<> take_turns(run_loop& loop, std::int64_t& left) {
    while (--left > 0) {
        co_await loop.schedule();
    }
    loop.stop();
}

double turn() {
    run_loop loop;
    std::int64_t left = rounds;
    for (int i = 0; i != 16; ++i) {
        loop.spawn(take_turns(loop, left));
    }
    return timed(0, rounds, [&] { loop.run(); });
}

double post_elsewhere() {
    const run_loop_options awake{.max_spins = 1'000'000};
    run_loop one(awake);
    run_loop other(awake);
    wanderer node(one, other);
    one.post(&node);
    return timed_together(0, 1, rounds, [&] { one.run(); }, [&] { other.run(); });
}

#ifdef TRYST_PROBE_ASIO
struct asio_wanderer {
    asio::io_context& context;
    std::int64_t& left;
    void operator()() const {
        if (--left > 0) {
            asio::post(context, *this);
        }
    }
};

double asio_post_and_run() {
    asio::io_context context(1);
    std::int64_t left = rounds;
    asio::post(context, asio_wanderer{context, left});
    return timed(0, rounds, [&] { context.run(); });
}
#endif

} // namespace

void add_loops(std::vector<step>& into) {
    unsigned processors = 1;
    const auto add = [&](const char* key, const char* what, auto sample) {
        into.emplace_back(processors, key, what, sample);
    };
    add("resume", "a coroutine is resumed and suspends again", resumption);
    add("symmetric_transfer", "symmetric transfer from coroutine to coroutine", symmetric_transfer);
    add("turn", "run_loop: one of 16 coroutines suspends, is posted and resumed", turn);
    add("post_and_run", "run_loop: a node is posted and run", post_and_run);
#ifdef TRYST_PROBE_ASIO
    add("asio_post_and_run", "asio::io_context with one thread: a handler is posted and run",
        asio_post_and_run);
#endif
    if (std::thread::hardware_concurrency() > 1) {
        processors = 2;
        add("post_elsewhere", "run_loop: a node is posted to a loop that is awake on another core",
            post_elsewhere);
    }
}

} // namespace tryst::probe
