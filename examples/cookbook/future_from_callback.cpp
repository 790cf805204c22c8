// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

// A library that calls back on a thread of its own.
class directory {
public:
    void look_up(const std::string& name, std::function<void(std::string)> done) {
        thread_ = std::jthread(std::move(done), name + " lives in Paris");
    }

private:
    std::jthread thread_;
};

tryst::task<> find(directory& people, std::string name) {
    tryst::future<std::string> found;
    auto promise = std::make_shared<tryst::promise<std::string>>(found.get_promise());
    people.look_up(name, [promise](std::string text) { (void)promise->set(std::move(text)); });
    auto got = co_await found.get(1min);
    std::cout << std::move(got).value_or("nobody knows") << '\n';
}

int main() {
    directory people;
    tryst::run_loop loop;
    loop.run(find(people, "Ann"));
}
