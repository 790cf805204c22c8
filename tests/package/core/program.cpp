// SPDX-License-Identifier: MIT
// A user's program that uses all of the core, with a stop token of its own type: compiled with more
// warnings than our own targets have, with each standard library, as one header, and as a module.
#ifndef TRYST_TEST_IMPORT
#include <tryst/tryst.hpp>
#endif

#include <chrono>
#include <coroutine>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#ifdef TRYST_TEST_IMPORT
import tryst;
#endif

/// In other.cpp, which always includes the headers.
tryst::task<std::string> swap_elsewhere(tryst::exchanger<std::string>& ex, std::string mine);

namespace {

/// One callback at a time, on one thread.
struct stop_flag {
    bool requested = false;
    void* callback = nullptr;
    void (*run)(void*) = nullptr;

    void request() {
        requested = true;
        if (run != nullptr) {
            run(callback);
        }
    }
};

struct stop_flag_token {
    stop_flag* flag;

    bool stop_requested() const noexcept { return flag->requested; }
    bool stop_possible() const noexcept { return true; }

    template <class F>
    class callback_type {
    public:
        callback_type(stop_flag_token token, F f) noexcept : flag_(token.flag), f_(std::move(f)) {
            if (flag_->requested) {
                f_();
                return;
            }
            flag_->callback = this;
            flag_->run = [](void* self) { static_cast<callback_type*>(self)->f_(); };
        }
        callback_type(const callback_type&) = delete;
        callback_type& operator=(const callback_type&) = delete;
        ~callback_type() { flag_->run = nullptr; }

    private:
        stop_flag* flag_;
        F f_;
    };
};

using text = tryst::exchanger<std::string>;

tryst::task<std::string> swap(text& ex, std::string mine) {
    auto got = co_await ex.exchange(std::move(mine));
    co_return got.value_or("nothing");
}

bool two_tasks_swap() {
    text ex;
    const auto [a, b] = tryst::sync_wait(tryst::when_all(swap(ex, "a"), swap_elsewhere(ex, "b")));
    return a == "b" && b == "a";
}

bool two_threads_swap() {
    text ex;
    std::string theirs;
    std::thread partner([&] { theirs = *tryst::sync_wait(ex.exchange("a")); });
    const auto mine = tryst::sync_wait(ex.exchange("b"));
    partner.join();
    return mine == "a" && theirs == "b";
}

bool a_stop_ends_a_wait() {
    text ex;
    stop_flag stop;
    tryst::run_loop loop;
    bool cancelled = false;
    loop.spawn([](text& at, stop_flag_token token, bool& done) -> tryst::task<> {
        auto got = co_await at.exchange("mine", token);
        done = got == tryst::exchange_errc::cancelled && got.returned() == "mine";
    }(ex, stop_flag_token{&stop}, cancelled));
    loop.run_until_idle();
    stop.request();
    loop.run_until_idle();
    return cancelled;
}

bool a_deadline_ends_a_wait() {
    text ex;
    const auto got = tryst::sync_wait(ex.exchange("mine", std::chrono::milliseconds(1)));
    return got == tryst::exchange_errc::timed_out;
}

bool red_meets_blue() {
    tryst::red_blue_exchanger<int, std::string> ex;
    tryst::run_loop loop;
    int number = 0;
    loop.spawn([](tryst::red_blue_exchanger<int, std::string>& at, int& theirs) -> tryst::task<> {
        auto got = co_await at.blue("text");
        theirs = got.value_or(0);
    }(ex, number));
    loop.run_until_idle();
    const auto got = ex.try_red(5);
    loop.run_until_idle();
    return *got == "text" && number == 5;
}

bool a_channel_hands_over() {
    tryst::synchronous_channel<int, tryst::order::lifo> channel;
    tryst::run_loop loop;
    int received = 0;
    loop.spawn(
        [](tryst::synchronous_channel<int, tryst::order::lifo>& from, int& item) -> tryst::task<> {
            auto got = co_await from.receive();
            item = got.value_or(0);
        }(channel, received));
    loop.run_until_idle();
    const bool sent = channel.try_send(3).has_value();
    loop.run_until_idle();
    channel.close();
    return sent && received == 3 && channel.try_receive() == tryst::exchange_errc::closed;
}

bool a_selection_ends() {
    tryst::synchronous_channel<int> channel;
    tryst::exchanger<int> ex;
    const auto nothing = tryst::try_select(channel.receive(), ex.exchange(1));
    const auto too_late =
        tryst::sync_wait(tryst::select(ex.exchange(1), std::chrono::milliseconds(1)));
    return nothing.index() == tryst::select_npos && too_late.index() == tryst::select_npos;
}

bool an_error_is_a_code() {
    text ex;
    ex.close();
    const auto closed = tryst::sync_wait(ex.exchange("mine"));
    const std::error_code code = tryst::exchange_errc::closed;
    return code == closed.error() && code.category() == tryst::exchange_category();
}

} // namespace

int main() {
    const bool all = two_tasks_swap() && two_threads_swap() && a_stop_ends_a_wait() &&
                     a_deadline_ends_a_wait() && red_meets_blue() && a_channel_hands_over() &&
                     a_selection_ends() && an_error_is_a_code();
    return all ? 0 : 1;
}
