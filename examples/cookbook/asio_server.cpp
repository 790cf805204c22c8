// SPDX-License-Identifier: MIT
#include <tryst/asio.hpp>

#include <asio.hpp>

#include <chrono>
#include <future>
#include <iostream>
#include <string>

using asio::ip::tcp;
using lobby = tryst::exchanger<std::string>;

asio::awaitable<void> serve(tcp::socket client, lobby& at) {
    std::string line;
    auto text = asio::dynamic_buffer(line);
    co_await asio::async_read_until(client, text, '\n', asio::use_awaitable);
    auto got = co_await tryst::asio::wait(at.exchange(std::move(line), std::chrono::minutes(1)));
    std::string answer = std::move(got).value_or("nobody came\n");
    co_await asio::async_write(client, asio::buffer(answer), asio::use_awaitable);
}

asio::awaitable<void> accept(tcp::acceptor& door, lobby& at) {
    for (int i = 0; i != 2; ++i) { // usually for ever
        auto client = co_await door.async_accept(asio::use_awaitable);
        asio::co_spawn(door.get_executor(), serve(std::move(client), at), asio::detached);
    }
}

std::string visit(const tcp::endpoint& server, std::string line) {
    tcp::iostream connection(server);
    connection << line << '\n' << std::flush;
    std::getline(connection, line);
    return line;
}

int main() {
    asio::io_context io;
    lobby at;
    tcp::acceptor door(io, {asio::ip::address_v4::loopback(), 0});
    asio::co_spawn(io, accept(door, at), asio::detached);
    auto ann = std::async(std::launch::async, visit, door.local_endpoint(), "tea");
    auto ben = std::async(std::launch::async, visit, door.local_endpoint(), "coffee");
    io.run();
    std::cout << "Ann got " << ann.get() << ", Ben got " << ben.get() << '\n';
}
