#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
namespace net = boost::asio;
#else
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
namespace net = asio;
#endif

#if defined(TRYST_TEST_ASIO_ELSEWHERE) && !defined(TRYST_TEST_FOUND_ASIO_ELSEWHERE)
#error "not the Asio that CMake found"
#endif

net::awaitable<void> swap(tryst::exchanger<int>& ex, int& theirs) {
    theirs = *co_await tryst::asio::wait(ex.exchange(1));
}

int main() {
    tryst::exchanger<int> ex;
    net::io_context io;
    int theirs = 0;
    int ours = 0;
    net::co_spawn(io, swap(ex, theirs), net::detached);
    tryst::asio::async_wait(ex.exchange(2), net::bind_executor(io, [&](auto got) { ours = *got; }));
    io.run();
    return ours == 1 && theirs == 2 ? 0 : 1;
}
