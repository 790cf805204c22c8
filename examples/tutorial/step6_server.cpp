// SPDX-License-Identifier: MIT
#include <tryst/asio.hpp>

#include <asio.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>

using asio::ip::tcp;
using namespace std::chrono_literals;
using belt = tryst::synchronous_channel<std::string>;

tryst::task<> ship(belt& air, belt& road, std::stop_token stop) {
    while (auto got = co_await tryst::select(air.receive(), road.receive(), stop)) {
        if (got.index() == 0) {
            std::cout << "by air: " << *got.get<0>() << '\n';
        } else {
            std::cout << "by road: " << *got.get<1>() << '\n';
        }
    }
}

asio::awaitable<void> serve(tcp::socket customer, belt& air, belt& road) {
    std::string parcel;
    auto text = asio::dynamic_buffer(parcel);
    auto size = co_await asio::async_read_until(customer, text, '\n', asio::use_awaitable);
    parcel.resize(size - 1);
    belt& out = parcel.starts_with("urgent") ? air : road;
    auto sent = co_await tryst::asio::wait(out.send(std::move(parcel), 1min));
    std::string answer = sent ? "thank you\n" : "no courier for " + sent.returned() + '\n';
    co_await asio::async_write(customer, asio::buffer(answer), asio::use_awaitable);
}

asio::awaitable<void> open_door(tcp::acceptor& door, belt& air, belt& road, std::stop_token stop) {
    while (true) {
        auto token = tryst::asio::bind_stop_token(stop, asio::use_awaitable);
        auto customer = co_await door.async_accept(token);
        asio::co_spawn(door.get_executor(), serve(std::move(customer), air, road), asio::detached);
    }
}

std::string visit(const tcp::endpoint& shop, std::string parcel) {
    tcp::iostream connection(shop);
    connection << parcel << '\n' << std::flush;
    std::getline(connection, parcel);
    return parcel + '\n';
}

int main() {
    asio::io_context io;
    belt air;
    belt road;
    std::stop_source evening;
    tryst::asio::task_executor couriers(io);
    for (int i = 0; i != 4; ++i) {
        couriers.spawn(ship(air, road, evening.get_token()));
    }
    tcp::acceptor door(io, {asio::ip::address_v4::loopback(), 0});
    asio::co_spawn(io, open_door(door, air, road, evening.get_token()), asio::detached);

    std::string answers;
    std::jthread customers([&, shop = door.local_endpoint()] {
        answers += visit(shop, "books");
        answers += visit(shop, "urgent medicine");
        evening.request_stop();
    });
    io.run();
    std::cout << answers;
}
