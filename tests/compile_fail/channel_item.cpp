// What is sent must survive the transfer.
// diagnostic: tryst::synchronous_channel<T>: T must be
#include <tryst/synchronous_channel.hpp>

struct item {
    item(item&&) noexcept(MISTAKE == 0);
    item& operator=(item&&) noexcept(MISTAKE == 0);
};

tryst::synchronous_channel<item> refused;
