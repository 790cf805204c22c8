// SPDX-License-Identifier: MIT
/// @file
/// How parties of two colours meet in the order in which they arrive.
/// Standard library only. Allocates where its wait list does; only the constructor throws.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <memory>

namespace tryst::detail {

/* First in, first out
 * After Koval, Alistarh and Elizarov, "Fast and Scalable Channels in Kotlin Coroutines" (2023). The
 * algorithm is in dual_queue.hpp (cursors and cells), and the segments of its array are in
 * segment_list.hpp, after Harris and Michael. This file only joins them to the steps. Each arrival
 * takes a ticket, and meets its partner or waits in the cell of that ticket. It does not read the
 * cursors first, because that would cost as much as the ticket. An offer in an arena would be
 * overtaken by later arrivals in the queue, so the arena has no slots. */
template <unsigned CellBits, class Observer>
class protocol<basic_dual_queue<CellBits>, Observer>
    : public steps<basic_arena<basic_dual_queue<CellBits>>, Observer> {
    using base = steps<basic_arena<basic_dual_queue<CellBits>>, Observer>;

public:
    using base::base;
    ~protocol() {
        close();
        base::cases().end();
        arena_.drain();
    }

    template <class Party, class W>
    static bool begin(W& /*w*/) noexcept {
        return false;
    }

    template <class W>
    bool try_match(W& w) noexcept {
        match_result found = arena_.list().try_match(W::side);
        return base::apply_match(w, found);
    }

    template <class W>
    bool try_match_in_list(W& w) noexcept {
        match_result found{};
        do {
            found = arena_.list().try_match(W::side);
            if (base::apply_match(w, found)) {
                return true;
            }
        } while (found.kind == match_result::collided);
        return false;
    }

    template <class W>
    bool try_match_all(W& w) noexcept {
        return try_match_in_list(w);
    }

    template <class Party = coroutine_party, class W>
    arrival arrive(W& w, bool /*spread*/) noexcept {
        while (true) {
            match_result found =
                arena_.list().enqueue_or_match(w, W::side, [&]() noexcept { base::begin_wait(w); });
            if (base::apply_match(w, found)) {
                return arrival::completed;
            }
            if (found.kind == match_result::offered) {
                return arrival::waiting;
            }
        }
    }

    void close() noexcept {
        base::close([] {});
    }

private:
    using base::arena_;
};

} // namespace tryst::detail
