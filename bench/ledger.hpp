// SPDX-License-Identifier: MIT
/// @file
/// Records the items that were given and received: the phases of a sample, the count, and the check
/// of conservation.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tryst::bench {

using steady = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;
using item = std::uint64_t;

/// The end of the items. A sender that ends sends it to one receiver, which then ends, too. So all
/// participants are served to the end, and nothing has to be closed.
inline constexpr item last = std::numeric_limits<item>::max();

/// The result of one sample.
struct measurement {
    std::uint64_t count;
    bench::seconds elapsed;
    bool conserved;
    std::vector<std::pair<std::string, double>> more = {};
    std::optional<double> ns = {}; ///< where it is not elapsed / count
};

class ledger {
public:
    explicit ledger(std::size_t participants) : accounts_(participants) {}

    void begin() {
        start_ = steady::now();
        phase_.store(counting, std::memory_order_relaxed);
    }
    void end() {
        phase_.store(ended, std::memory_order_relaxed);
        elapsed_ = steady::now() - start_;
    }
    bool all_have_begun() const noexcept {
        return begun_.load(std::memory_order_relaxed) == accounts_.size();
    }
    bool over() const noexcept { return phase_.load(std::memory_order_relaxed) == ended; }

    /// A completed swap counts once, although two participants report it. `success` is the share of
    /// attempts that succeeded; `fairness` is the least served participant's share of the most
    /// served one's.
    measurement swaps() const {
        const std::uint64_t counted = total(&account::counted);
        return {counted / 2,
                elapsed_,
                conserved(),
                {{"fairness", fairness(0, 1)},
                 {"success", ratio(counted, counted + total(&account::failed))}}};
    }
    measurement time_outs() const { return {total(&account::failed), elapsed_, conserved()}; }
    /// One-way hand-offs: the receivers, which have odd numbers, count them.
    measurement hand_offs() const {
        return {total(&account::counted), elapsed_, conserved(), {{"fairness", fairness(1, 2)}}};
    }

private:
    friend class participant;

    /// The low bits of an item name its first owner. The rest is a serial number.
    static constexpr unsigned id_bits = 20;
    /// The phases are numbers, so that an account can add `phase & counting`.
    static constexpr std::uint64_t warming_up = 0;
    static constexpr std::uint64_t counting = 1;
    static constexpr std::uint64_t ended = 2;

    struct account {
        std::uint64_t counted = 0;
        std::uint64_t failed = 0;
        item given = 0;
        item got = 0;
        bool own = false;
        bool done = false;
    };

    std::uint64_t counts() const noexcept {
        return phase_.load(std::memory_order_relaxed) & counting;
    }
    std::uint64_t total(std::uint64_t account::* what) const {
        std::uint64_t sum = 0;
        for (const account& each : accounts_) {
            sum += each.*what;
        }
        return sum;
    }
    bool conserved() const {
        return total(&account::given) == total(&account::got) &&
               std::ranges::all_of(accounts_, &account::done) &&
               std::ranges::none_of(accounts_, &account::own);
    }
    double fairness(std::size_t first, std::size_t step) const {
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        std::uint64_t most = 0;
        for (std::size_t i = first; i < accounts_.size(); i += step) {
            least = std::min(least, accounts_[i].counted);
            most = std::max(most, accounts_[i].counted);
        }
        return ratio(least, most);
    }
    static double ratio(std::uint64_t part, std::uint64_t whole) {
        return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
    }

    alignas(128) std::atomic<std::uint64_t> phase_{warming_up};
    alignas(128) std::vector<account> accounts_;
    std::atomic<std::size_t> begun_ = 0;
    steady::time_point start_;
    steady::duration elapsed_{};
};

/// The account of one participant. It is on the participant's own stack or frame, so that no cache
/// lines are shared.
class participant {
public:
    participant(ledger& all, std::size_t id) : all_(all), id_(id), next_(id) {
        all.begun_.fetch_add(1, std::memory_order_relaxed);
    }
    participant(const participant&) = delete;
    participant& operator=(const participant&) = delete;
    ~participant() { all_.accounts_[id_] = mine_; }

    /// Returns the item to give next. No two items of a sample are the same.
    item next() const noexcept { return next_; }
    void swapped(item got) noexcept {
        mine_.own |= (got & ((item{1} << ledger::id_bits) - 1)) == id_;
        mine_.got += got;
        mine_.counted += all_.counts();
        gave(next_);
    }
    void failed() noexcept { mine_.failed += all_.counts(); }
    void gave(item given) noexcept {
        mine_.given += given;
        next_ += item{1} << ledger::id_bits;
    }
    /// @returns whether the item is counted.
    bool received(item got) noexcept {
        const std::uint64_t counts = all_.counts();
        mine_.got += got;
        mine_.counted += counts;
        return counts != 0;
    }
    /// Notes that the participant reached its end and was not destroyed before.
    void done() noexcept { mine_.done = true; }

private:
    ledger& all_;
    std::size_t id_;
    item next_;
    ledger::account mine_;
};

} // namespace tryst::bench
