// SPDX-License-Identifier: MIT
// A program that imports the core, and meets parties of a source that includes it.
#include <chrono>
#include <coroutine>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

import tryst;

/// In includer.cpp.
tryst::task<std::string> swap_elsewhere(tryst::exchanger<std::string>& ex, std::string mine);

namespace {

tryst::task<> swap_here(tryst::exchanger<std::string>& ex, std::string mine, std::string& theirs) {
    auto got = co_await ex.exchange(std::move(mine));
    if (got) {
        theirs = *std::move(got);
    }
}

tryst::task<> run_elsewhere(tryst::exchanger<std::string>& ex, std::string mine,
                            std::string& theirs) {
    theirs = co_await swap_elsewhere(ex, std::move(mine));
}

bool tasks_swap() {
    tryst::run_loop loop;
    tryst::exchanger<std::string> ex;
    std::string here;
    std::string elsewhere;
    loop.spawn(swap_here(ex, "a", here));
    loop.spawn(run_elsewhere(ex, "b", elsewhere));
    loop.run_until_idle();
    return here == "b" && elsewhere == "a";
}

bool threads_swap() {
    tryst::red_blue_exchanger<int, std::string, tryst::order::lifo> ex;
    int number = 0;
    std::thread partner([&] { number = *tryst::sync_wait(ex.blue("text")); });
    const std::string text = *tryst::sync_wait(ex.red(1));
    partner.join();
    return number == 1 && text == "text";
}

bool selects() {
    tryst::synchronous_channel<int> channel;
    tryst::exchanger<int> ex;
    auto nothing = tryst::try_select(channel.receive(), ex.exchange(1));
    auto too_late = tryst::sync_wait(tryst::select(ex.exchange(1), std::chrono::milliseconds(1)));
    return nothing.index() == tryst::select_npos && too_late.index() == tryst::select_npos;
}

bool has_error_codes() {
    tryst::exchanger<int> ex;
    ex.close();
    const auto closed = tryst::sync_wait(ex.exchange(1));
    const std::error_code code = tryst::exchange_errc::closed;
    return closed == tryst::exchange_errc::closed && code == closed.error() &&
           code.category() == tryst::exchange_category();
}

} // namespace

int main() {
    return tasks_swap() && threads_swap() && selects() && has_error_codes() ? 0 : 1;
}
