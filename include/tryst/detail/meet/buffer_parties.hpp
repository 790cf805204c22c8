// SPDX-License-Identifier: MIT
/// @file
/// The parties of a channel with a buffer, and of a future: which items they bring, or where they
/// put those that they get.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/run/linked_list.hpp>
#include <tryst/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::detail {

/// What the policies of a channel choose.
/// @tparam Of    the function object that weighs an item; void if items are counted.
/// @tparam Lock  a `section_lock`, or `no_lock`.
template <class T, class Of, class Lock, class Observer>
struct buffer_rules {
    using item = T;
    using weigh = Of;
    using lock = Lock;
    using observer = Observer;
    static constexpr bool weighs = !std::is_void_v<Of>;
    using weight = std::conditional_t<weighs, std::size_t, std::integral_constant<std::size_t, 1>>;
};

/* The parties
 * Their members belong to the owner, and to the lock's holder while they wait. A side's party has
 * its `own_type`, from which it is made, and what it has `taken()` if it is complete. */

/// A sender: some items of an array.
template <class Rules>
struct sender : Rules::observer::waiter, list_links<sender<Rules>> {
    using item_type = typename Rules::item;
    static constexpr colour side = colour::red;

    sender(item_type* first, std::size_t count) noexcept : next(first), left(count) {}

    static nothing taken() noexcept { return {}; }

    /// Call once `*next` is alive.
    void weigh() noexcept {
        if constexpr (Rules::weighs) {
            weight = left != 0 ? typename Rules::weigh()(*next) : 0;
        }
    }

    void advance() noexcept {
        ++next;
        --left;
        weigh();
    }

    item_type* next; ///< The first item that has not been sent.
    std::size_t left;
    [[no_unique_address]] typename Rules::weight weight{}; ///< Of `*next`.
};

/// A sender of one item, which it contains.
template <class Rules>
class item_sender : public sender<Rules> {
    using item_type = typename Rules::item;

public:
    static constexpr bool is_batch = false;
    using own_type = item_type;
    using result_type = exchange_result<void, item_type>;

    explicit item_sender(item_type&& given) noexcept
        : sender<Rules>(std::addressof(sent_), 1), sent_(std::move(given)) {
        this->weigh();
    }

    item_type& own() noexcept { return sent_; }

private:
    item_type sent_;
};

/// A sender of an array of the caller.
template <class Rules>
class span_sender : public sender<Rules> {
    using item_type = typename Rules::item;

public:
    static constexpr bool is_batch = true; ///< It may fail after it has sent some of its items.
    using own_type = std::span<item_type>;
    using result_type = exchange_result<void, std::span<item_type>>;

    explicit span_sender(std::span<item_type>&& given) noexcept
        : sender<Rules>(given.data(), given.size()) {
        this->weigh();
    }

    /// The items that have not been sent.
    std::span<item_type>& own() noexcept { return rest_ = {this->next, this->left}; }

private:
    std::span<item_type> rest_;
};

/// A receiver: places for items.
template <class Rules>
struct receiver : Rules::observer::waiter, list_links<receiver<Rules>> {
    using item_type = typename Rules::item;
    static constexpr colour side = colour::blue;

    /// Puts an item into the next place.
    using put_function = void (*)(receiver&, item_type&&) noexcept;

    receiver(std::size_t places, put_function how) noexcept : left(places), put(how) {}

    void take(item_type& from) noexcept {
        put(*this, std::move(from));
        --left;
    }

    /// As `take`, for a receiver whose type is known.
    template <class Known>
    static void take_into(Known& known, item_type& from) noexcept {
        Known::put_item(known, std::move(from));
        --known.left;
    }

    std::size_t left; ///< The number of places that are free.
    put_function put;
};

/// A receiver of one item, which it contains then.
template <class Rules>
class item_receiver : public receiver<Rules> {
    using item_type = typename Rules::item;

public:
    using own_type = nothing;
    using result_type = exchange_result<item_type, void>;
    static constexpr bool is_batch = false;

    explicit item_receiver(nothing&& /*none*/) noexcept : receiver<Rules>(1, put_item) {}
    item_receiver(const item_receiver&) = delete;
    item_receiver& operator=(const item_receiver&) = delete;
    ~item_receiver() {
        if (this->result == outcome::exchanged) {
            std::destroy_at(std::addressof(received));
        }
    }

    nothing& own() noexcept { return none_; }
    static constexpr bool has_taken() noexcept { return false; } ///< Then it is complete.
    item_type&& taken() noexcept { return std::move(received); }

    static void put_item(receiver<Rules>& self, item_type&& from) noexcept {
        std::construct_at(std::addressof(static_cast<item_receiver&>(self).received),
                          std::move(from));
    }

private:
    [[no_unique_address]] nothing none_;
    union {
        item_type received;
    };
};

/// Places at the end of a vector that has reserved them.
template <class Item>
struct vector_places {
    std::vector<Item>* where;
    std::size_t most;

    std::size_t count() const noexcept { return most; }
    void put(std::size_t /*index*/, Item&& from) const noexcept {
        where->push_back(std::move(from));
    }
};

/// The elements of a caller's array.
template <class Item>
struct span_places {
    std::span<Item> where;

    std::size_t count() const noexcept { return where.size(); }
    void put(std::size_t index, Item&& from) const noexcept { where[index] = std::move(from); }
};

/// A receiver of several items. Its result is their number, at least one unless it has no place.
template <class Rules, class Places>
class batch_receiver : public receiver<Rules> {
    using item_type = typename Rules::item;

public:
    using own_type = Places;
    using result_type = exchange_result<std::size_t, void>;
    static constexpr bool is_batch = true;

    explicit batch_receiver(Places&& places) noexcept
        : receiver<Rules>(places.count(), put_item), places_(places) {}

    Places& own() noexcept { return places_; }

    static void put_item(receiver<Rules>& self, item_type&& from) noexcept {
        auto& mine = static_cast<batch_receiver&>(self);
        mine.places_.put(mine.taken(), std::move(from));
    }

    bool has_taken() const noexcept { return taken() != 0; }
    std::size_t taken() const noexcept { return places_.count() - this->left; }

private:
    Places places_;
};

/// What a section has done for the party that called it.
enum class progress : std::uint8_t {
    completed, ///< All its items have changed hands.
    unfinished, ///< The section did enough: call it again.
    held, ///< A partner's selection is being registered: call it again after a moment.
    no_block, ///< Call it again after `grow`.
    waiting, ///< The party waits in its list.
    no_partner, ///< It could only wait.
    closed, ///< The channel is closed.
};

/// A party that another one has taken out of its place under a lock, and must complete.
struct choice {
    waiter* party = nullptr; ///< Null if there is none now.
    outcome how = outcome::exchanged;
    /// For a waiter of a selection.
    commitment::commit_result committed = commitment::commit_result::parked;
    bool more = false; ///< Whether others may follow.
};

} // namespace tryst::detail
