// SPDX-License-Identifier: MIT
// The counters of exchangers, and the thread numbers that they rest on.
#include "model/checker.hpp"
#include "model/meeting.hpp"
#include "model/platform.hpp"
#include "model/scenes.hpp"

#include <tryst/tryst.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tryst::model {

namespace {

using detail::step;

/// Uses a place that belongs to a number, as a counter's cell does. The checker finds races there.
class numbered_places {
public:
    void use() {
        const std::uint32_t number = pool_.acquire();
        ++uses_.at(number);
        pool_.release(number);
    }
    void require_uses(int wanted) const {
        int sum = 0;
        for (const int each : uses_) {
            sum += each;
        }
        require(sum == wanted, "a use of a place was lost");
    }

private:
    detail::number_pool<1> pool_;
    std::array<int, 4> uses_{};
};

void numbers_passed_on() {
    numbered_places places;
    run_threads([&] { places.use(); },
                [&] {
                    places.use();
                    places.use();
                });
    places.require_uses(3);
}

void numbers_of_three_threads() {
    numbered_places places;
    const auto use = [&] { places.use(); };
    run_threads(use, use, use);
    places.require_uses(3);
}

/// One exchanger, whose first thread has a cell of its own.
class counted_meeting {
public:
    using channel = exchanger<parcel, counted>;

    channel& ex() noexcept { return *ex_; }
    void destroy() noexcept { delete std::exchange(ex_, nullptr); }
    stop_source& stop() noexcept { return stop_; }
    detail::stop_token token() noexcept { return detail::stop_token(stop_); }
    statistics stats() const noexcept { return counters_.stats(); }

    auto thread(std::size_t number) {
        return [this, number] { static_cast<void>(sync_wait(ex().exchange(parcel(number)))); };
    }

    /// All operations have ended.
    void require_sums(std::uint64_t arrivals, std::uint64_t exchanges) const {
        const statistics seen = stats();
        require(seen.arrivals == arrivals, "an arrival was not counted");
        require(seen.exchanges == exchanges, "an exchange was not counted");
        require(seen.arrivals == 2 * seen.exchanges + seen.ended(), "an end was not counted");
        require(seen.waiting == 0, "an operation seems to wait");
    }

    ~counted_meeting() { delete ex_; }

private:
    counters counters_{1};
    channel* ex_ = new channel(0, counters_);
    stop_source stop_;
};

void counted_threads() {
    counted_meeting m;
    run_threads(m.thread(1), m.thread(2));
    m.require_sums(2, 1);
}

void counted_snapshot() {
    counted_meeting m;
    run_threads(m.thread(1), m.thread(2), [&] {
        const statistics seen = m.stats();
        require(seen.arrivals <= 2 && seen.exchanges <= 1 && seen.waiting <= 2,
                "a snapshot counts too much");
    });
    m.require_sums(2, 1);
}

void counted_canceller() {
    counted_meeting m;
    run_threads([&] { static_cast<void>(sync_wait(m.ex().exchange(parcel(1), m.token()))); },
                [&] { static_cast<void>(m.ex().try_exchange(parcel(2))); },
                [&] { m.stop().request_stop(); });
    m.require_sums(2, m.stats().exchanges);
}

/// The canceller counts when the exchanger may already be destroyed, unless that waits (I50).
void counted_destroyed_over_one() {
    counted_meeting m;
    shared_object waiting;
    constexpr auto party = [](counted_meeting& where) -> detached {
        static_cast<void>(co_await where.ex().exchange(parcel(1), where.token()));
    };
    run_threads(
        [&] {
            party(m);
            the_checker().publish(waiting, "has begun to wait", site::current());
        },
        [&] {
            the_checker().await(waiting, 1, "has begun to wait", site::current());
            m.destroy();
        },
        [&] { m.stop().request_stop(); });
    m.require_sums(1, 0);
}

constexpr std::array all{
    scene{"numbers_passed_on", "a thread uses a number that another has given back",
          numbers_passed_on},
    scene{"numbers_of_three_threads", "three threads with numbers", numbers_of_three_threads},
    scene{"counted_threads", "two threads meet, and are counted", counted_threads,
          reaches(step::claim_in_wait_list)},
    scene{"counted_snapshot", "the same, and a snapshot", counted_snapshot,
          reaches(step::claim_in_wait_list)},
    scene{"counted_canceller", "a thread waits; a stop, and a try", counted_canceller,
          reaches(step::stop, step::own_stop, step::claim_in_wait_list)},
    scene{"counted_destroyed_over_one", "an exchanger is destroyed while a party waits; a stop",
          counted_destroyed_over_one, reaches(step::stop, step::late_stop)},
};

} // namespace

std::span<const scene> counter_scenes() {
    return all;
}

} // namespace tryst::model
