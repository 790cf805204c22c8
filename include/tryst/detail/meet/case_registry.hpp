// SPDX-License-Identifier: MIT
/// @file
/// The cases of sets at an object, so that no set uses the object after its destruction.
/// Standard library only. Allocates when the first case of a set comes to an object.
#pragma once

#include <tryst/detail/meet/section_lock.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/linked_list.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tryst::detail {

/* The registry
 * A case that was handed back is in no wait list, so it learns of the destruction of its object in
 * another way: the object and its cases share a registry, which the last of them deletes.
 *
 * I64. No set uses an object after its destruction.
 *     1. A set uses an object only while it is registering or yielding, or with a pin (I5) that it
 *        took under the registry's lock.
 *     2. Before either use it reads whether the object has ended.
 *     3. The destructor says so, then waits until no set that has a case here is registering or
 *        yielding, and then until there are no pins.
 *     4. A set that claims a partner leaves these states before that partner resumes (I42.5). A
 *        partner may use the object until it is complete, so the set completes it first. Only a
 *        partner that is a case is completed later: once committed, it does not use the object.
 *     5. A set is destroyed only after its cases have left their registries. */
class case_registry {
public:
    case_registry() = default;
    case_registry(const case_registry&) = delete;
    case_registry& operator=(const case_registry&) = delete;

    void join(case_node& one, colour side) noexcept {
        const section here(lock_);
        one.registry = this;
        one.registered.set = one.set;
        one.registered.side = side;
        assert(is_on_one_side(one.registered) &&
               "tryst: a set must not be on both sides of one exchanger");
        cases_.push_front(one.registered);
        ++users_;
    }

    /// Calls `pin` if the object is there. @returns whether it is.
    template <class Pin>
    bool pin_object(Pin pin) noexcept {
        const section here(lock_);
        if (has_ended()) {
            return false;
        }
        pin();
        return true;
    }

    /// Ends the membership of a case. Calls `pin` if the object is there.
    /// @returns whether it is.
    template <class Pin>
    bool leave(case_node& one, Pin pin) noexcept {
        lock_.lock();
        const bool is_there = !has_ended();
        if (is_there) {
            pin();
        }
        cases_.remove(one.registered);
        release();
        return is_there;
    }

    /// Whether the object must not be touched.
    bool has_ended() const noexcept {
        // Relaxed: [V5] orders it (I64).
        return ended_.load(std::memory_order_relaxed);
    }

    /// As `object_cases::end`.
    void end() noexcept {
        lock_.lock();
        ended_.store(true, std::memory_order_relaxed); // relaxed: as above
        for (auto* each = cases_.front(); each != nullptr; each = each->following) {
            each->set->await_rest();
        }
        release();
    }

private:
    using section = lock_section<section_lock>;

    /// Ends one use, and the caller's section.
    void release() noexcept {
        const bool last = --users_ == 0;
        lock_.unlock();
        if (last) {
            delete this;
        }
    }

    bool is_on_one_side(const case_node::entry& one) const noexcept {
        for (auto* each = cases_.front(); each != nullptr; each = each->following) {
            if (each->set == one.set && (one.side == colour::none || each->side != one.side)) {
                return false;
            }
        }
        return true;
    }

    section_lock lock_;
    atomic<bool> ended_{false};
    std::size_t users_ = 1; ///< The object, and the cases.
    linked_list<case_node::entry> cases_;
};

/// The registry of an object, which most objects never make.
class object_cases {
public:
    object_cases() = default;
    object_cases(const object_cases&) = delete;
    object_cases& operator=(const object_cases&) = delete;

    /// @throws std::bad_alloc.
    case_registry& registry() {
        // [V8] acquire, pairs with [V9].
        word seen = registry_.load(std::memory_order_acquire);
        if (seen == 0) {
            auto made = std::make_unique<case_registry>();
            const auto address = reinterpret_cast<word>(made.get());
            // [V9] release, pairs with [V8] and itself: the registry. Failure acquire.
            if (registry_.compare_exchange_strong(seen, address, std::memory_order_acq_rel,
                                                  std::memory_order_acquire)) {
                return *made.release();
            }
        }
        return *reinterpret_cast<case_registry*>(seen);
    }

    /// By the object's destructor, after the close: until then a case can be withdrawn, also by a
    /// party that the close resumes inline.
    void end() noexcept {
        // Relaxed: no other thread uses the object.
        if (const word made = registry_.load(std::memory_order_relaxed)) {
            reinterpret_cast<case_registry*>(made)->end();
        }
    }

private:
    using word = std::uintptr_t;

    atomic<word> registry_{0}; ///< Its address; 0 if there is none.
};

} // namespace tryst::detail
