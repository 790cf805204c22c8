#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/spawn.hpp>

#include <optional>
#include <utility>

// Before Asio 1.24, the result in a yield_context must be default constructible.
int swap(tryst::exchanger<int>& ex, int mine, asio::yield_context yield) {
    std::optional<int> theirs;
    const auto initiate = [&](auto handler) {
        const auto executor = asio::get_associated_executor(handler);
        tryst::asio::async_wait(
            ex.exchange(mine),
            asio::bind_executor(executor,
                                [&theirs, handler = std::move(handler)](auto got) mutable {
                                    theirs = *got;
                                    std::move(handler)();
                                }));
    };
    asio::async_initiate<asio::yield_context, void()>(initiate, yield);
    return *theirs;
}

int main() {
    tryst::exchanger<int> ex;
    asio::io_context io;
    int sum = 0;
    for (const int mine : {1, 2}) {
        asio::spawn(io, [&ex, &sum, mine](asio::yield_context yield) {
            sum += 10 * mine + swap(ex, mine, yield);
        });
    }
    io.run();
    return sum == 33 ? 0 : 1;
}
