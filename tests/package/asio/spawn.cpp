#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <asio/io_context.hpp>
#include <asio/spawn.hpp>

int main() {
    tryst::exchanger<int> ex;
    asio::io_context io;
    int sum = 0;
    for (const int mine : {1, 2}) {
        asio::spawn(io, [&ex, &sum, mine](asio::yield_context yield) {
            sum += 10 * mine + tryst::asio::async_exchange(ex, mine, yield);
        });
    }
    io.run();
    return sum == 33 ? 0 : 1;
}
