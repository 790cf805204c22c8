// A selection takes over its cases, then come its limits. `visit` has one return type.
#include <tryst/channel.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>
#include <tryst/synchronous_channel.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <stop_token>
#include <utility>

using namespace std::chrono_literals;

void select(std::array<tryst::exchanger<int>, 2>& ex, tryst::synchronous_channel<int>& a,
            tryst::synchronous_channel<long>& b, std::stop_token stop) {
    tryst::channel<int> batches(1);
    auto named = ex[0].exchange(1);
    const auto fixed = ex[0].exchange(1);
    const auto swap = [](auto& each) { return each.exchange(1); };
    auto mixed = tryst::try_select(a.receive(), ex[0].exchange(1));
    auto got = tryst::try_select(a.receive(), b.receive());
#if MISTAKE == 1 // the limits of a selection come after its cases
    static_cast<void>(tryst::select(a.receive(), stop, b.receive()));
#elif MISTAKE == 2 // the limits of a selection come after its cases
    static_cast<void>(tryst::select_biased(5ms, a.receive(), b.receive()));
#elif MISTAKE == 3 // the arguments of select are what exchange, .* return, then its limits
    static_cast<void>(tryst::select(a, b));
#elif MISTAKE == 4 // the arguments of select are what exchange, .* return, then its limits
    static_cast<void>(tryst::select(tryst::select(a.receive()), b.receive()));
#elif MISTAKE == 5 // the arguments of select are what exchange, .* return, then its limits
    static_cast<void>(tryst::try_select(a, b.receive()));
#elif MISTAKE == 6 // try_select does not wait, so it takes no limit
    static_cast<void>(tryst::try_select(a.receive(), b.receive(), stop));
#elif MISTAKE == 7 // select needs at least one case
    static_cast<void>(tryst::select(stop));
#elif MISTAKE == 8 // the limits belong to the selection, not to one of its cases
    static_cast<void>(tryst::select(ex[0].exchange(1, stop), a.receive()));
#elif MISTAKE == 9 // the limits belong to the selection, not to one of its cases
    static_cast<void>(tryst::select_from(ex, [](auto& each) { return each.exchange(1, 5ms); }));
#elif MISTAKE == 10 // select takes over its cases
    static_cast<void>(tryst::select(std::move(named), std::move(fixed)));
#elif MISTAKE == 11 // select takes over its cases
    static_cast<void>(tryst::try_select(named, b.receive()));
#elif MISTAKE == 12 // the function of visit must return the same type for each case
    static_cast<void>(std::move(got).visit([](auto result) { return *result; }));
#elif MISTAKE == 13 // the function of visit must return the same type for each case
    static_cast<void>(std::move(got).visit(std::identity()));
#elif MISTAKE == 14 // the function of visit must return the same type for each case
    static_cast<void>(mixed.visit(std::identity()));
#elif MISTAKE == 15 // visit calls its function with the exchange_result of any case
    static_cast<void>(
        std::move(got).visit([](const tryst::exchange_result<int, void>& r) { return *r; }));
#elif MISTAKE == 16 // the limits belong to the selection, not to one of its cases
    static_cast<void>(tryst::select(a.receive(), tryst::sleep_for(5ms, stop)));
#elif MISTAKE == 17 // case_if takes what exchange, .* return, without limits
    tryst::case_if(true, a.receive(5ms));
#elif MISTAKE == 18 // case_if takes what exchange, .* return, without limits
    tryst::case_if(true, named);
#elif MISTAKE == 19 // send_all cannot be a case of select
    static_cast<void>(tryst::select(tryst::case_if(true, batches.send_all({}))));
#elif MISTAKE == 20 // get.i. needs cases with results of one type
    mixed.get(mixed.index());
#else
    static_cast<void>(tryst::select(tryst::case_if(true, a.receive()), tryst::sleep_for(5ms),
                                    tryst::stopped(stop), 5ms, stop));
    static_cast<void>(tryst::select(a.receive()));
    static_cast<void>(tryst::select(std::move(named), a.receive(), b.receive(), 5ms, stop));
    static_cast<void>(tryst::select_biased(a.receive(), b.receive(), stop, 5ms));
    static_cast<void>(tryst::select_from(ex, swap, stop));
    static_cast<void>(std::move(got).visit([](auto result) { return static_cast<long>(*result); }));
    static_cast<void>(std::move(mixed).visit(std::identity()));
#endif
}
