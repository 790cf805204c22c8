// SPDX-License-Identifier: MIT
#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace redis = tryst::redis;
using namespace std::chrono_literals;
using jobs = redis::remote_channel<std::string>;

tryst::task<> work(jobs& from) {
    auto got = co_await from.receive(1min);
    std::cout << "got " << (got ? *got : "nothing: " + got.reason()) << '\n';
}

tryst::task<> ask(jobs& to, std::string job) {
    auto sent = co_await to.send(std::move(job), 1min);
    std::cout << (sent ? "a worker has it" : "nobody: " + sent.reason()) << '\n';
}

int main(int argc, char** argv) try {
    if (argc < 3) {
        std::cerr << "usage: two_processes redis://HOST QUEUE [JOB]\n";
        return 2;
    }
    asio::io_context io;
    redis::connection server(io, redis::options::from_url(argv[1]));
    jobs queue(server, argv[2]);
    auto close = [&](const std::exception_ptr&) { server.close(); }; // ends `run`
    tryst::asio::async_wait(argc == 3 ? work(queue) : ask(queue, argv[3]), close);
    io.run();
} catch (const std::exception& error) { // a wrong URL
    std::cerr << error.what() << '\n';
    return 2;
}
