// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

using namespace std::chrono_literals;

struct question {
    std::string text;
    tryst::promise<std::size_t> reply;
};
using questions = tryst::channel<question>;

tryst::task<> serve(questions& from) {
    while (auto asked = co_await from.receive()) {
        (void)asked->reply.set(asked->text.size()); // fails if the client is gone
    }
}

tryst::task<> ask(questions& to, std::string text) {
    tryst::future<std::size_t> reply;
    question asked{text, reply.get_promise()};
    auto sent = co_await to.send(std::move(asked));
    if (!sent) {
        co_return;
    }
    auto got = co_await reply.get(1min);
    std::cout << text << ": " << (got ? std::to_string(*got) : got.error().message()) << '\n';
}

tryst::task<> run() {
    questions queue(8);
    tryst::task_scope servers;
    servers.spawn(serve(queue));
    co_await ask(queue, "tea");
    co_await ask(queue, "coffee");
    queue.close();
    co_await servers.join();
}

int main() {
    tryst::run_loop().run(run());
}
