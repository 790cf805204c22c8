// SPDX-License-Identifier: MIT
// Items of a class type cross processes as CBOR. Start it twice, on any machines:
//   remote_cbor redis://localhost chess ann 1830
//   remote_cbor redis://localhost chess joe 1790
#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace redis = tryst::redis;

struct player {
    std::string name;
    int rating = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(player, name, rating)

/// The first element says in which form the second is, for programs of a later version.
template <>
struct redis::codec<player> {
    static constexpr int version = 1;

    static std::string encode(const player& item) {
        std::string bytes;
        nlohmann::json::to_cbor(nlohmann::json{version, item}, bytes);
        return bytes;
    }
    static player decode(std::string_view bytes) {
        const auto both = nlohmann::json::from_cbor(bytes); // throws, as do the others
        if (both.at(0) != version) {
            throw std::invalid_argument("a player of version " + both.at(0).dump());
        }
        return both.at(1).get<player>();
    }
};

tryst::task<> find_opponent(redis::remote_exchanger<player>& room, player mine, int& status) {
    auto got = co_await room.exchange(std::move(mine));
    if (got) {
        std::cout << "plays " << got->name << ", " << got->rating << '\n';
        status = 0;
    } else {
        std::cerr << got.error().message() << ": " << got.reason() << '\n';
    }
}

int main(int argc, char** argv) {
    if (argc != 5) {
        std::cerr << "usage: remote_cbor redis://HOST ROOM NAME RATING\n";
        return 2;
    }
    try {
        asio::io_context io;
        redis::connection server(io, redis::options::from_url(argv[1]));
        redis::remote_exchanger<player> room(server, argv[2]);
        int status = 1;
        player mine{argv[3], std::stoi(argv[4])};
        tryst::asio::async_wait(find_opponent(room, std::move(mine), status),
                                [&](std::exception_ptr) { server.close(); });
        io.run();
        return status;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
