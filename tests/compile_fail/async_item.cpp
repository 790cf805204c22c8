// An item that does not convert to the exchanger's type.
// diagnostic: async_exchange..io_executor,. exchanger<T>&, T item, token
#include <tryst/asio/async_exchange.hpp>

#include <string>
#include <type_traits>

void refused(tryst::exchanger<std::string>& ex) {
    const std::conditional_t<MISTAKE, int, const char*> item{};
    tryst::asio::async_exchange(ex, item, [](auto, const std::string&) {});
}
