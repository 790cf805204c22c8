// SPDX-License-Identifier: MIT
// Two processes swap strings through Redis. Start it twice, on any machines:
//   remote_exchange redis://localhost lobby tea
//   remote_exchange redis://localhost lobby coffee
#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace redis = tryst::redis;

tryst::task<> meet(redis::remote_exchanger<std::string>& room, std::string mine, int& status) {
    auto got = co_await room.exchange(std::move(mine));
    if (got) {
        std::cout << "got " << *got << '\n';
        status = 0;
    } else { // `got.returned()` is the item
        std::cerr << got.error().message() << ": " << got.reason() << '\n';
    }
}

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: remote_exchange redis://HOST ROOM ITEM\n";
        return 2;
    }
    try {
        asio::io_context io;
        redis::connection server(io, redis::options::from_url(argv[1]));
        redis::remote_exchanger<std::string> room(server, argv[2]);
        int status = 1;
        tryst::asio::async_wait(meet(room, argv[3], status),
                                [&](std::exception_ptr) { server.close(); }); // ends `run`
        io.run();
        return status;
    } catch (const std::exception& error) { // a wrong URL, or an empty name
        std::cerr << error.what() << '\n';
        return 2;
    }
}
