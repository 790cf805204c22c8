// SPDX-License-Identifier: MIT
// A print shop. Its desk never waits: it queues an order, hires a printer, or turns the order away.
// Printers answer each order through the channel in it. Used plates go to a disposer. The shop
// reports when it has opened and when it has closed.
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;

struct answer {
    int number;
    std::string text;
};
using answers = tryst::channel<answer>;

struct order {
    order(int given, std::shared_ptr<answers> to) : number(given), reply(std::move(to)) {}
    void answer_with(std::string text) const {
        auto sent = reply->try_send(answer{number, std::move(text)}); // the client may be gone
        static_cast<void>(sent);
    }

    int number;
    std::shared_ptr<answers> reply;
};
using orders = tryst::channel<order>;

struct plate {}; // takes long to destroy

/// Destroys plates in a thread of its own, so that its users do not wait.
class disposer {
public:
    ~disposer() { plates_.close(); } // the thread takes what is left; then it is joined
    void dispose(std::unique_ptr<plate> used) noexcept {
        auto sent = plates_.try_send(std::move(used)); // without memory, it is destroyed here
        static_cast<void>(sent);
    }

private:
    tryst::channel<std::unique_ptr<plate>> plates_{tryst::unlimited};
    std::jthread thread_{[this] {
        int count = 0;
        while (auto used = tryst::sync_wait(plates_.receive())) {
            ++count;
        }
        std::cout << "plates destroyed: " << count << '\n';
    }};
};

class shop {
public:
    tryst::channel<std::string> states{2}; ///< Has room for both, so that the shop never waits.

    shop() {
        printers_.spawn(print());
        tell("open");
    }

    void accept(order arrived) {
        auto sent = queue_.try_send(std::move(arrived));
        if (sent) {
            return;
        }
        if (vacancies_-- > 0) {
            printers_.spawn(print_from(std::move(sent).returned()));
        } else {
            sent.returned().answer_with("turned away");
        }
    }

    /// Prints what has been accepted, but stops difficult work.
    tryst::task<> close() {
        queue_.close();
        printers_.request_stop();
        co_await printers_.join();
        tell("closed");
    }

private:
    void tell(std::string state) {
        auto sent = states.try_send(std::move(state));
        static_cast<void>(sent);
    }
    tryst::task<> print() {
        while (auto next = co_await queue_.receive()) {
            order current = *std::move(next);
            co_await print_one(std::move(current));
        }
    }
    tryst::task<> print_from(order first) {
        co_await print_one(std::move(first));
        co_await print();
    }
    tryst::task<> print_one(order current) {
        auto used = std::make_unique<plate>();
        const auto time = current.number == 1 ? 24h : 0h; // a difficult order
        const bool printed = co_await tryst::sleep_for(time, printers_.get_stop_token());
        current.answer_with(printed ? "printed" : "given up");
        plates_.dispose(std::move(used));
    }

    disposer plates_;
    orders queue_{1};
    int vacancies_ = 1;
    tryst::task_scope printers_;
};

tryst::task<> visit() {
    shop at;
    auto opened = co_await at.states.receive(1s);
    std::cout << "shop: " << opened.value_or("not open in time") << '\n';
    auto reply = std::make_shared<answers>(3);
    for (int number = 1; number <= 3; ++number) {
        at.accept(order(number, reply));
    }
    while (auto got = co_await reply->receive(1s)) {
        std::cout << got->number << ": " << got->text << '\n';
    }
    std::cout << "no other answer in time\n";
    co_await at.close();
    auto closed = co_await at.states.receive(1s);
    std::cout << "shop: " << closed.value_or("not closed in time") << '\n';
}

} // namespace

int main() {
    tryst::run_loop loop;
    loop.run(visit());
}
