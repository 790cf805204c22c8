// SPDX-License-Identifier: MIT
/// @file
/// Which cases of sets are at an object, so that a set does not touch an object that has ended.
/// Standard library only. Allocates when the first case of a set comes to an object.
#pragma once

#include <tryst/detail/meet/section_lock.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/linked_list.hpp>

#include <cassert>
#include <cstddef>
#include <memory>

namespace tryst::detail {

/* The registry
 * A case that is home is in no list, so the end of its object must be told to it in another way. The
 * object and its cases share a registry, and the last of them deletes it.
 *
 * I64. A set uses an object only while it is registering or yielding, and has not found that the
 *      object has ended; or under the registry's lock. The object's end first says so, and then
 *      waits until no set that has a case here is registering or yielding. So no set uses an object
 *      after its end. A set ends only after all its cases have left their registries. */
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
        assert(is_on_one_side(one.registered) && "tryst: a set must not be on both sides of one exchanger");
        cases_.push_front(one.registered);
        ++users_;
    }

    /// Ends the membership of a case. Calls `withdraw` if the object is there.
    template <class Withdraw>
    void leave(case_node& one, Withdraw withdraw) noexcept {
        lock_.lock();
        if (!has_ended()) {
            withdraw();
        }
        cases_.remove(one.registered);
        release();
    }

    /// Whether the object must not be touched.
    bool has_ended() const noexcept {
        // [V12] relaxed: I64, by [V11].
        return ended_.load(std::memory_order_relaxed);
    }

    /// By the object's end.
    void end() noexcept {
        lock_.lock();
        ended_.store(true, std::memory_order_relaxed); // [V12]
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
        // [V13] acquire, pairs with [V14].
        case_registry* seen = registry_.load(std::memory_order_acquire);
        if (seen == nullptr) {
            auto made = std::make_unique<case_registry>();
            // [V14] release, pairs with [V13] and itself: the registry. Failure acquire.
            if (registry_.compare_exchange_strong(seen, made.get(), std::memory_order_acq_rel,
                                                  std::memory_order_acquire)) {
                seen = made.release();
            }
        }
        return *seen;
    }

    /// By the object's destructor, before anything else.
    void end() noexcept {
        // Relaxed: no other thread uses the object.
        if (case_registry* const made = registry_.load(std::memory_order_relaxed)) {
            made->end();
        }
    }

private:
    atomic<case_registry*> registry_{nullptr};
};

} // namespace tryst::detail
