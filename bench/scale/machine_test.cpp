// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace tryst::scale {
namespace {

constexpr costs prices{.load = 1,
                       .store = 2,
                       .update = 5,
                       .read_line = 100,
                       .take_line = 200,
                       .upgrade_line = 300,
                       .reads_take = false,
                       .far_percent = 200,
                       .request = 60,
                       .read_service = 30};

costs with_reads_that_take() {
    costs all = prices;
    all.reads_take = true;
    return all;
}

/// Cores that access lines of memory.
class cores {
public:
    explicit cores(unsigned count, unsigned sockets = 1, const costs& all = prices)
        : machine_(count, sockets, all, 1, 0), lines_(std::make_unique<line[]>(4)) {}

    /// Lets the next core run `body` from `start` on.
    void add(picoseconds start, std::function<void()> body) {
        machine_.add(start, std::move(body));
    }
    void run() { machine_.run(1'000'000); }

    // Each returns the time that the access took.
    picoseconds read(std::size_t which) {
        return took([&] { machine_.read(&lines_[which], prices.load); });
    }
    picoseconds store(std::size_t which) {
        return took([&] { machine_.store(&lines_[which], prices.store); });
    }
    picoseconds update(std::size_t which) {
        return took([&] { machine_.update(&lines_[which], prices.update); });
    }
    picoseconds own(std::size_t which) {
        return took([&] { machine_.own(&lines_[which]); });
    }
    void work(picoseconds time) { machine_.spend(time); }
    void wait_until(picoseconds time) { machine_.idle_until(time); }
    picoseconds now() { return machine_.now(); }

private:
    struct alignas(region::line_size) line {
        char bytes[region::line_size];
    };
    template <class Access>
    picoseconds took(Access access) {
        const picoseconds start = machine_.now();
        access();
        return machine_.now() - start;
    }
    machine machine_;
    std::unique_ptr<line[]> lines_;
};

TEST(Machine, ChargesOnlyTheAccessForALineThatTheCoreHas) {
    picoseconds first = 0;
    picoseconds second = 0;
    {
        cores all(1);
        all.add(0, [&] {
            first = all.update(0);
            second = all.read(0);
        });
        all.run();
    }
    EXPECT_EQ(first, prices.update);
    EXPECT_EQ(second, prices.load);
}

TEST(Machine, ChargesForALineThatAnotherCoreWrote) {
    picoseconds reading = 0;
    picoseconds updating = 0;
    {
        cores all(2);
        all.add(0, [&] {
            all.update(0);
            all.update(1);
        });
        all.add(1'000, [&] {
            reading = all.read(0);
            updating = all.update(1);
        });
        all.run();
    }
    EXPECT_EQ(reading, prices.read_line + prices.load);
    EXPECT_EQ(updating, prices.take_line + prices.update);
}

TEST(Machine, SharesALineThatIsRead) {
    picoseconds again = 0;
    picoseconds updating = 0;
    {
        cores all(2);
        all.add(0, [&] {
            all.update(0);
            all.wait_until(2'000);
            again = all.read(0);
        });
        all.add(1'000, [&] {
            all.read(0);
            all.wait_until(3'000);
            updating = all.update(0);
        });
        all.run();
    }
    EXPECT_EQ(again, prices.load);
    EXPECT_EQ(updating, prices.upgrade_line + prices.update);
}

TEST(Machine, TakesAWrittenLineWithAReadIfTheRealMachineDoesSo) {
    picoseconds again = 0;
    picoseconds updating = 0;
    picoseconds shared = 0;
    {
        cores all(2, 1, with_reads_that_take());
        all.add(0, [&] {
            all.update(0);
            all.update(1);
            all.wait_until(3'000);
            again = all.read(0);
        });
        all.add(1'000, [&] {
            all.read(0);
            all.read(1);
            updating = all.update(1);
            all.wait_until(4'000);
            shared = all.read(0); // it was not written before the other core read it again
        });
        all.run();
    }
    EXPECT_EQ(again, prices.read_line + prices.load);
    EXPECT_EQ(updating, prices.update);
    EXPECT_EQ(shared, prices.load);
}

TEST(Machine, ServesTheRequestsOfALineOneAfterAnother) {
    std::vector<picoseconds> ends(4);
    {
        cores all(4);
        all.add(0, [&] { all.update(0); });
        for (std::size_t i = 1; i != ends.size(); ++i) {
            all.add(1'000, [&, i] {
                all.update(0);
                ends[i] = all.now();
            });
        }
        all.run();
    }
    std::ranges::sort(ends);
    // An update takes place at its end.
    const picoseconds first = 1'000 + prices.update + prices.take_line;
    EXPECT_EQ(ends[1], first);
    EXPECT_EQ(ends[2], first + prices.take_line);
    EXPECT_EQ(ends[3], first + 2 * prices.take_line);
}

TEST(Machine, LetsReadersOverlap) {
    std::vector<picoseconds> times(3);
    {
        cores all(3);
        all.add(0, [&] { all.update(0); });
        for (std::size_t i = 1; i != times.size(); ++i) {
            all.add(1'000, [&, i] { times[i] = all.read(0); });
        }
        all.run();
    }
    EXPECT_EQ(times[1], prices.read_line + prices.load);
    EXPECT_EQ(times[2], prices.read_service + prices.read_line + prices.load);
}

TEST(Machine, LetsTheOwnerUpdateUntilARequestArrives) {
    int updates = 0;
    {
        cores all(2);
        all.add(0, [&] {
            while (all.update(0) == prices.update) {
                ++updates;
            }
        });
        all.add(1'000, [&] { all.update(0); });
        all.run();
    }
    EXPECT_EQ(updates, (1'000 + prices.update + prices.request) / prices.update);
}

TEST(Machine, MayLoseALineDuringAnUpdate) {
    picoseconds reading = 0;
    picoseconds updating = 0;
    {
        cores all(2);
        const picoseconds leaves = 1'000 + prices.update + prices.request;
        all.add(0, [&] {
            all.update(0);
            all.wait_until(leaves - prices.load - 2);
            reading = all.read(0);
            updating = all.update(0);
        });
        all.add(1'000, [&] { all.update(0); });
        all.run();
    }
    EXPECT_EQ(reading, prices.load);
    EXPECT_GT(updating, prices.take_line);
}

TEST(Machine, DoesNotWaitForAStore) {
    picoseconds storing = 0;
    picoseconds reading = 0;
    picoseconds updating = 0;
    picoseconds elsewhere = 0;
    {
        cores all(2);
        all.add(0, [&] {
            all.update(0);
            all.wait_until(1'010);
            elsewhere = all.read(0);
        });
        all.add(1'000, [&] {
            storing = all.store(0);
            reading = all.read(0); // from the store buffer
            updating = all.update(1);
        });
        all.run();
    }
    EXPECT_EQ(storing, prices.store);
    EXPECT_EQ(reading, prices.load);
    // An update waits until the store buffer is empty.
    EXPECT_EQ(updating, prices.take_line - prices.store - prices.load + prices.update);
    // The line goes to the core that stores, and then comes back.
    EXPECT_EQ(elsewhere, prices.take_line - 10 + prices.read_line + prices.load);
}

TEST(Machine, HidesInstructionsBehindTheWaitOfAnUpdate) {
    std::vector<picoseconds> ends(2);
    for (const bool hides : {false, true}) {
        costs all_prices = prices;
        all_prices.run_ahead = hides ? 50 : 0;
        cores all(2, 1, all_prices);
        all.add(0, [&] { all.update(0); });
        all.add(1'000, [&] {
            all.update(0);
            all.work(70);
            ends[hides ? 1 : 0] = all.now();
        });
        all.run();
    }
    EXPECT_EQ(ends[0] - ends[1], 50);
}

TEST(Machine, FetchesALineForWritingBeforeItIsUsed) {
    picoseconds fetching = 0;
    picoseconds reading = 0;
    picoseconds updating = 0;
    {
        cores all(2);
        all.add(0, [&] { all.update(0); });
        all.add(1'000, [&] {
            fetching = all.own(0);
            reading = all.read(0);
            updating = all.update(0);
        });
        all.run();
    }
    EXPECT_EQ(fetching, prices.take_line);
    EXPECT_EQ(reading, prices.load);
    EXPECT_EQ(updating, prices.update);
}

TEST(Machine, ChargesMoreForALineOfAnotherSocket) {
    std::vector<picoseconds> times(4);
    picoseconds upgrading = 0;
    {
        cores all(4, 2); // 0 and 1 are on one socket, 2 and 3 on the other
        all.add(0, [&] {
            all.update(0);
            all.wait_until(10'000);
            upgrading = all.update(0);
        });
        for (std::size_t i = 1; i != times.size(); ++i) {
            all.add(static_cast<picoseconds>(i) * 1'000, [&, i] { times[i] = all.read(0); });
        }
        all.run();
    }
    EXPECT_EQ(times[1], prices.read_line + prices.load);
    EXPECT_EQ(times[2], 2 * prices.read_line + prices.load);
    EXPECT_EQ(times[3], prices.read_line + prices.load); // from core 2
    EXPECT_EQ(upgrading, 2 * prices.upgrade_line + prices.update);
}

} // namespace
} // namespace tryst::scale
