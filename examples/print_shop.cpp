// SPDX-License-Identifier: MIT
// A print shop. Its desk never waits: it queues an order, hires a printer, or turns the order away.
// Printers answer each order through the channel in it. A thread destroys used plates, which takes
// long. The shop reports when it has opened and when it has closed.
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

struct order {
    order(int given, std::shared_ptr<tryst::channel<answer>> to)
        : number(given), reply(std::move(to)) {}
    int number;
    std::shared_ptr<tryst::channel<answer>> reply;
};

struct plate {};

/// Sends without a wait. If there is no room or no receiver, the item is destroyed.
template <class T>
void post(tryst::channel<T>& to, T item) noexcept {
    auto sent = to.try_send(std::move(item));
    static_cast<void>(sent);
}

class shop {
public:
    tryst::channel<std::string> states{2}; // room for both

    shop() {
        printers_.spawn(print());
        post<std::string>(states, "open");
    }
    ~shop() { plates_.close(); } // the disposer takes what is left; then it is joined

    void accept(order arrived) {
        auto sent = queue_.try_send(std::move(arrived));
        if (!sent && vacancies_ > 0) {
            --vacancies_;
            printers_.spawn(print_from(std::move(sent).returned()));
        } else if (!sent) {
            post(*sent.returned().reply, answer{sent.returned().number, "turned away"});
        }
    }

    /// Prints what has been accepted, but stops difficult work.
    tryst::task<> close() {
        queue_.close();
        printers_.request_stop();
        co_await printers_.join();
        post<std::string>(states, "closed");
    }

private:
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
        post(*current.reply, answer{current.number, printed ? "printed" : "given up"});
        post(plates_, std::move(used));
    }

    tryst::channel<std::unique_ptr<plate>> plates_{tryst::unlimited};
    std::jthread disposer_{[this] {
        int count = 0;
        while (auto used = tryst::sync_wait(plates_.receive())) {
            ++count;
        }
        std::cout << "plates destroyed: " << count << '\n';
    }};
    tryst::channel<order> queue_{1};
    int vacancies_ = 1;
    tryst::task_scope printers_;
};

tryst::task<> visit() {
    shop at;
    auto opened = co_await at.states.receive(1s);
    std::cout << "shop: " << opened.value_or("not open in time") << '\n';
    auto reply = std::make_shared<tryst::channel<answer>>(3);
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
