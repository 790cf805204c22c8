#include <tryst/redis.hpp>
#include <tryst/sync_wait.hpp>

#include <string>
#include <thread>

// No server is there, so the item comes back.
int main() {
    tryst::redis::net::io_context loop;
    tryst::redis::connection connection(
        loop, tryst::redis::options::from_url("unix:///nowhere/redis.sock"));
    tryst::redis::remote_exchanger<std::string> room(connection, "room");
    std::thread thread([&] { loop.run(); });
    const auto got = tryst::sync_wait(room.exchange("mine"));
    connection.close();
    thread.join();
    return got.error() == tryst::exchange_errc::unavailable && got.returned() == "mine" ? 0 : 1;
}
