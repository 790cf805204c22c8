// Items of a channel with a buffer, its policies, and what its operations can be used for.
#include <tryst/channel.hpp>
#include <tryst/select.hpp>
#include <tryst/synchronous_channel.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

using namespace std::chrono_literals;
using tryst::channel;
using tryst::single_threaded;
using tryst::weighted;

struct throwing_move {
    throwing_move(throwing_move&&) noexcept(false);
};
struct throwing_assignment {
    throwing_assignment(throwing_assignment&&) noexcept;
    throwing_assignment& operator=(throwing_assignment&&) noexcept(false);
};
struct alignas(32) over_aligned {};
struct one {
    std::size_t operator()(const auto&) const noexcept { return 1; }
};

void use(channel<int, weighted<one>>& ch, channel<throwing_assignment>& fixed,
         std::span<int> numbers, std::span<throwing_assignment> places,
         std::vector<throwing_assignment>& more) {
#if MISTAKE == 1 // tryst::channel<T>: T must be a non-array, non-const object type
    channel<throwing_move> refused(1);
#elif MISTAKE == 2 // tryst::channel<T>: T must not be over-aligned.*std::unique_ptr<T>
    channel<over_aligned> refused(1);
#elif MISTAKE == 3 // a channel has at most one tryst::weighted<Of>
    channel<int, weighted<one>, single_threaded, weighted<one>> refused(1);
#elif MISTAKE == 4 // send_all cannot be a case of select
    static_cast<void>(tryst::select(ch.receive(), ch.send_all(numbers)));
#elif MISTAKE == 5 // send_all cannot be a case of select
    static_cast<void>(tryst::try_select(ch.send_all(numbers)));
#elif MISTAKE == 6 // a try_ operation does not wait, so it takes no limit
    static_cast<void>(ch.try_send(1, 5ms));
#elif MISTAKE == 7 // a try_ operation does not wait, so it takes no limit
    static_cast<void>(ch.try_receive(5ms));
#elif MISTAKE == 8 // receive_some assigns to the elements of the span
    static_cast<void>(fixed.receive_some(places));
#elif MISTAKE == 9 // an operation takes one duration or one time point, not two
    static_cast<void>(ch.send_all(numbers, 5ms, 5ms));
#elif MISTAKE == 10 // .*close_and_take
    ch.close_and_take();
#elif MISTAKE == 11 // the limits belong to the selection, not to one of its cases
    static_cast<void>(tryst::select(ch.receive_some(numbers, 5ms)));
#elif MISTAKE == 12 // a try_ operation does not wait, so it takes no limit
    static_cast<void>(ch.try_send_all(numbers, 5ms));
#elif MISTAKE == 13 // a try_ operation does not wait, so it takes no limit
    static_cast<void>(ch.try_receive_some(numbers, 5ms));
#else
    static_cast<void>(tryst::select(ch.receive_some(numbers), fixed.receive(), 5ms));
    static_cast<void>(fixed.receive_all(more, 3));
    static_cast<void>(ch.send_all(numbers, 5ms));
#endif
}
