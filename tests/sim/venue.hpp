// SPDX-License-Identifier: MIT
/// @file
/// An exchanger of any kind: without colours, with two colours, or a channel, with a buffer or
/// without.
#pragma once

#include "sim/memory.hpp"
#include "support/channel_history.hpp"
#include "support/history.hpp"
#include "support/short_exchanger.hpp"
#include "support/tracked.hpp"

#include <tryst/channel.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/statistics.hpp>
#include <tryst/synchronous_channel.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tryst::sim {

using item = test::tracked;

using plain_exchanger = exchanger<item>;
using counted_exchanger = exchanger<item, counted>;
using fifo_exchanger = test::short_queue_exchanger<item>;
using lifo_exchanger = red_blue_exchanger<item, item, order::lifo, counted>;
using item_channel = synchronous_channel<item>;

/// What an item weighs in a heavy buffer.
constexpr std::size_t weight_of(long number) noexcept {
    return static_cast<std::size_t>(number % 4);
}
struct weigh {
    std::size_t operator()(const item& of) const noexcept { return weight_of(of.id()); }
};
using item_buffer = channel<item>;
using heavy_buffer = channel<item, weighted<weigh>>;

/// The sides of buffers, one item or several at a time.
template <class... Policies>
struct buffer_sides {
    using rules = detail::rules_of<item, Policies...>;
    using sender = detail::buffer_side<rules, detail::item_sender<rules>>;
    using receiver = detail::buffer_side<rules, detail::item_receiver<rules>>;
    using batch_sender = detail::buffer_side<rules, detail::span_sender<rules>>;
    using batch_receiver =
        detail::buffer_side<rules, detail::batch_receiver<rules, detail::span_places<item>>>;
};
using light_sides = buffer_sides<>;
using heavy_sides = buffer_sides<weighted<weigh>>;

using test::channel_history;
using test::history;

/// `Of` with the sides of all these exchangers that can be cases of selections, and `More`.
template <template <class...> class Of, class... More>
class of_all_sides {
    template <class WaitList, detail::colour Colour, class... Observer>
    using side = detail::side<WaitList, item, item, Colour, Observer...>;
    using colour = detail::colour;
    using counting = detail::observer<counted>;

public:
    using type = Of<side<detail::single_slot, colour::none>,
                    side<detail::single_slot, colour::none, counting>,
                    side<detail::basic_dual_queue<1>, colour::red>,
                    side<detail::basic_dual_queue<1>, colour::blue>,
                    side<detail::dual_stack, colour::red, counting>,
                    side<detail::dual_stack, colour::blue, counting>,
                    detail::side<detail::dual_queue, item, void, colour::red>,
                    detail::side<detail::dual_queue, void, item, colour::blue>, light_sides::sender,
                    light_sides::receiver, heavy_sides::sender, heavy_sides::receiver, More...>;
};

/// Owns an exchanger of one of these types, or nothing.
class venue {
public:
    enum class kind : std::uint8_t { plain, counted, fifo, lifo, channel, buffer, heavy };

    /// A new one. `capacity` is the limit of a buffer. @throws std::bad_alloc.
    void make(kind which, std::size_t capacity);
    /// More slots of the arena, as if there had been collisions. No effect where there is none.
    void grow(std::size_t times) noexcept;

    bool exists() const noexcept { return !std::holds_alternative<std::monostate>(owned_); }
    bool has_colours() const noexcept { return what_ != kind::plain && what_ != kind::counted; }
    bool is_fifo() const noexcept { return what_ == kind::fifo || what_ == kind::channel; }
    static constexpr bool is_buffer(kind which) noexcept {
        return which == kind::buffer || which == kind::heavy;
    }
    bool is_buffer() const noexcept { return is_buffer(what_); }
    kind what() const noexcept { return what_; }

    template <class Visitor>
    void visit(Visitor visitor) {
        std::visit(
            [&]<class Owned>(Owned& owned) {
                if constexpr (!std::is_same_v<Owned, std::monostate>) {
                    visitor(*owned);
                }
            },
            owned_);
    }

    /// Null if it is of another type.
    template <class Exchanger>
    Exchanger* get_if() noexcept {
        auto* const found = std::get_if<std::unique_ptr<Exchanger>>(&owned_);
        return found == nullptr ? nullptr : found->get();
    }

    /// Calls `use(make, try_now)` for a party of this colour that brings `mine`: `make(more...)`
    /// makes its operation, and `try_now()` tries once.
    template <class Use>
    void as(history::colour who, item& mine, Use use) {
        const bool red = who == history::colour::red;
        visit([&]<class Exchanger>(Exchanger& ex) {
            if constexpr (requires { ex.exchange(std::move(mine)); }) {
                use([&](auto... more) { return ex.exchange(std::move(mine), more...); },
                    [&] { return ex.try_exchange(std::move(mine)); });
            } else if constexpr (requires { ex.receive(); }) {
                red ? use([&](auto... more) { return ex.send(std::move(mine), more...); },
                          [&] { return ex.try_send(std::move(mine)); })
                    : use([&](auto... more) { return ex.receive(more...); },
                          [&] { return ex.try_receive(); });
            } else {
                red ? use([&](auto... more) { return ex.red(std::move(mine), more...); },
                          [&] { return ex.try_red(std::move(mine)); })
                    : use([&](auto... more) { return ex.blue(std::move(mine), more...); },
                          [&] { return ex.try_blue(std::move(mine)); });
            }
        });
    }

    void close() {
        visit([](auto& ex) { ex.close(); });
    }
    /// Appends the items that were inside to `left`.
    void destroy(std::vector<long>& left) {
        left_ = &left;
        const auto gone = std::exchange(owned_, std::monostate());
    }

    // ---- Of buffers only.

    /// As `as`, for a party that sends all of `items`, or receives some into them.
    template <class Use>
    void as_batch(history::colour who, std::span<item> items, Use use) {
        visit([&](auto& ex) {
            if constexpr (requires { ex.send_all(items); }) {
                who == history::colour::red
                    ? use([&](auto... more) { return ex.send_all(items, more...); })
                    : use([&](auto... more) { return ex.receive_some(items, more...); });
            }
        });
    }

    /// Closes, and appends the items that were inside to `left`.
    void close_and_take(std::vector<long>& left) {
        visit([&](auto& ex) {
            if constexpr (requires { ex.close_and_take(); }) {
                for (const item& each : ex.close_and_take()) {
                    take(left, each);
                }
            }
        });
    }
    void set_limit(std::size_t limit) {
        visit([&](auto& ex) {
            if constexpr (requires { ex.set_limit(limit); }) {
                ex.set_limit(limit);
            }
        });
    }
    /// How many items are inside, and how many may be there. Call it `undisturbed`.
    std::pair<std::size_t, std::size_t> size_and_limit();

    /// Whether a waiter is in the wait list or the arena. Without colours only; false for others.
    /// `undisturbed`.
    bool somebody_waits() noexcept;
    /// Whether no waiter is left in the arena. Call it `undisturbed`, while all threads sleep.
    bool all_are_in_wait_list() noexcept;

    /// What its counters say, also after `destroy`; null if it has none.
    const counters* statistics() const noexcept { return counters_.get(); }

private:
    static void take(std::vector<long>& left, const item& each) {
        const memory::reserve unfailing;
        left.push_back(each.id());
    }

    kind what_ = kind::plain;
    std::vector<long>* left_ = nullptr; ///< Of the destruction.
    std::unique_ptr<counters> counters_;
    std::variant<std::monostate, std::unique_ptr<plain_exchanger>,
                 std::unique_ptr<counted_exchanger>, std::unique_ptr<fifo_exchanger>,
                 std::unique_ptr<lifo_exchanger>, std::unique_ptr<item_channel>,
                 std::unique_ptr<item_buffer>, std::unique_ptr<heavy_buffer>>
        owned_;
};

} // namespace tryst::sim
