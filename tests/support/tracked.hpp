// SPDX-License-Identifier: MIT
/// @file
/// A payload that knows who made it and how many of its kind are alive.
#pragma once

#include <atomic>
#include <utility>

namespace tryst::test {

/// Counts the live values of one test; moved-from objects hold none.
struct census {
    std::atomic<long> created{0};
    std::atomic<long> alive{0};
};

/// Move-only and not default-constructible. A value is created once, moved around, and dies once.
class tracked {
public:
    tracked(census& kept, long id) noexcept : census_(&kept), id_(id) {
        census_->created.fetch_add(1, std::memory_order_relaxed);
        census_->alive.fetch_add(1, std::memory_order_relaxed);
    }
    tracked(tracked&& other) noexcept
        : census_(std::exchange(other.census_, nullptr)), id_(std::exchange(other.id_, -1)) {}
    tracked& operator=(tracked&& other) noexcept {
        tracked taken(std::move(other));
        std::swap(census_, taken.census_);
        std::swap(id_, taken.id_);
        return *this;
    }
    ~tracked() {
        if (census_ != nullptr) {
            // Release: a test that has seen the last one go may end the census. It orders no two
            // items.
            census_->alive.fetch_sub(1, std::memory_order_release);
        }
    }

    /// -1 if moved from.
    long id() const noexcept { return id_; }

private:
    census* census_;
    long id_;
};

} // namespace tryst::test
