// An item must survive its transfer and fit into the frame of a coroutine. So must a span.
#include <tryst/exchanger.hpp>
#include <tryst/future.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>

#include <array>
#include <memory>
#include <system_error>

struct throwing_move {
    throwing_move(throwing_move&&) noexcept(false);
};
struct throwing_destructor {
    throwing_destructor(throwing_destructor&&) noexcept;
    ~throwing_destructor() noexcept(false);
};
struct alignas(16) aligned {};
struct alignas(32) over_aligned {};

template <class Aligned>
struct span : Aligned {
    explicit span(const char*) noexcept;
    void end(std::error_code) noexcept;
};
struct endless_span {
    explicit endless_span(const char*) noexcept;
};
using tryst::counted;
using tryst::traced;

#if MISTAKE == 1 // T must be a non-array, non-const object type
tryst::exchanger<int[2]> refused;
#elif MISTAKE == 2 // T must be a non-array, non-const object type
tryst::exchanger<const int> refused;
#elif MISTAKE == 3 // T must be a non-array, non-const object type
tryst::exchanger<int&> refused;
#elif MISTAKE == 4 // T must be nothrow destructible
tryst::exchanger<throwing_destructor> refused;
#elif MISTAKE == 5 // T must be nothrow move constructible
tryst::exchanger<throwing_move> refused;
#elif MISTAKE == 6 // T must not be over-aligned.*std::unique_ptr<T>
tryst::exchanger<over_aligned> refused;
#elif MISTAKE == 7 // tryst::red_blue_exchanger<Red, Blue>: items must be
tryst::red_blue_exchanger<int, throwing_move> refused;
#elif MISTAKE == 8 // items must not be over-aligned
tryst::red_blue_exchanger<int, over_aligned> refused;
#elif MISTAKE == 9 // tryst::synchronous_channel<T>: T must be
tryst::synchronous_channel<throwing_move> refused;
#elif MISTAKE == 10 // tryst::synchronous_channel<T>: T must not be over-aligned
tryst::synchronous_channel<over_aligned> refused;
#elif MISTAKE == 11 // tryst::task<T>: T must not be over-aligned
tryst::task<over_aligned> refused;
#elif MISTAKE == 12 // Span must not be over-aligned
const auto refused = &tryst::exchanger<int, traced<span<over_aligned>>>::close;
#elif MISTAKE == 13 // Span needs a constructor Span.const char.*end.std::error_code
const auto refused = &tryst::exchanger<int, traced<endless_span>>::close;
#elif MISTAKE == 14 // at most one tryst::traced
const auto refused =
    &tryst::exchanger<int, traced<span<aligned>>, counted, traced<span<std::true_type>>>::close;
#elif MISTAKE == 15 // tryst::future<T>: T must be
tryst::future<throwing_move> refused;
#elif MISTAKE == 16 // tryst::future<T>: T must not be over-aligned
tryst::future<over_aligned> refused;
#else
tryst::exchanger<std::array<int, 2>> arrays;
tryst::exchanger<int*> pointers;
tryst::exchanger<aligned> swaps;
tryst::red_blue_exchanger<aligned, std::unique_ptr<int>> sides;
tryst::synchronous_channel<aligned> channel;
tryst::task<aligned> work;
tryst::future<aligned> reply;
const auto accepted = &tryst::exchanger<int, traced<span<aligned>>, counted>::close;
#endif
