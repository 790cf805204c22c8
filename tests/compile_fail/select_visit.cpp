// What no `visit` can return, or call.
// diagnostic: the function of visit must return the same type for each case
// diagnostic: the function of visit must return the same type for each case
// diagnostic: the function of visit must return the same type for each case
// diagnostic: the function of visit must return the same type for each case
// diagnostic: visit calls its function with the exchange_result of any case
#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>
#include <tryst/synchronous_channel.hpp>

#include <functional>
#include <utility>

void refused(tryst::synchronous_channel<int>& a, tryst::exchanger<int>& b,
             tryst::synchronous_channel<long>& c) {
    auto mixed = tryst::try_select(a.receive(), b.exchange(1));
    auto got = tryst::try_select(a.receive(), c.receive());
#if MISTAKE == 1
    static_cast<void>(std::move(got).visit([](auto result) { return *result; }));
#elif MISTAKE == 2
    static_cast<void>(std::move(got).visit(std::identity()));
#elif MISTAKE == 3
    static_cast<void>(mixed.visit(std::identity()));
#elif MISTAKE == 4
    static_cast<void>(std::move(mixed).visit([](auto&& result) { return &result; }));
#elif MISTAKE == 5
    static_cast<void>(
        std::move(got).visit([](const tryst::exchange_result<int, void>& r) { return *r; }));
#else
    static_cast<void>(std::move(got).visit([](auto result) { return static_cast<long>(*result); }));
    static_cast<void>(std::move(mixed).visit(std::identity()));
#endif
}
