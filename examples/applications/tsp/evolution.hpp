// SPDX-License-Identifier: MIT
/// @file
/// A genetic algorithm whose breeders exchange genes: the second benchmark of Scherer, Lea and
/// Scott, "A scalable elimination-based exchange channel", 2005, sections 4.1 and 4.4.
#pragma once

#include "tour.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>
#include <tryst/when_all.hpp>

#include <barrier>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

namespace tsp {

/// How breeders find partners. With `mutex`, threads block instead of coroutines that suspend.
enum class pairing : unsigned char { red_blue, symmetric, mutex };

/// After this time without a partner, a breeder checks whether it is the last one.
constexpr std::chrono::microseconds patience{100};

/// For comparison: Java SE 5's Exchanger, with a condition variable for each party that waits.
class mutex_exchanger {
public:
    std::optional<genes> exchange(genes mine) {
        std::unique_lock lock(mutex_);
        if (offer* const partner = std::exchange(waiting_, nullptr)) {
            partner->is_taken = true;
            partner->taken.notify_one();
            return std::exchange(partner->item, mine);
        }
        offer ours{.item = mine};
        waiting_ = &ours;
        if (ours.taken.wait_for(lock, patience, [&] { return ours.is_taken; })) {
            return ours.item;
        }
        waiting_ = nullptr;
        return std::nullopt;
    }

private:
    struct offer {
        genes item;
        bool is_taken = false;
        std::condition_variable taken{};
    };
    std::mutex mutex_;
    offer* waiting_ = nullptr;
};

class evolution {
public:
    struct individual {
        std::int64_t length = 0;
        tour round;
    };

    // The paper's parameters, as far as it says.
    pairing how = pairing::red_blue;
    std::size_t threads = 2;
    std::size_t population = 1000;
    std::size_t breeders = 200; ///< In each generation; even.
    bool improves = true; ///< Whether local search improves each child; not in the paper.
    std::uint64_t seed = 1;
    // The first of these that is reached ends it.
    std::int64_t optimum = 0;
    double generations = 1e9;
    double seconds = 1e9;
    std::function<void()> on_progress = [] {}; ///< A shorter tour was found.

    /// To be called once.
    void run(const problem& all) {
        all_ = &all;
        cities_.resize(all.size());
        std::iota(cities_.begin(), cities_.end(), city(0));
        random_.seed(seed);
        individuals_.resize(population);
        for (individual& each : individuals_) {
            each.round = cities_;
            std::ranges::shuffle(each.round, random_);
            each.length = length_of(all, each.round);
        }
        breeders_.resize(breeders);
        for (breeder& each : breeders_) {
            each.random.seed(random_());
        }
        begin_generation();
        std::barrier all_ended{std::ptrdiff_t(threads)};
        std::vector<std::jthread> running;
        for (std::size_t i = 0; i != threads; ++i) {
            running.emplace_back([&, i] { work(i, all_ended); });
        }
    }

    const individual& best() const noexcept { return individuals_.front(); }
    std::uint64_t generation() const noexcept { return generation_; }
    double elapsed() const noexcept {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    /// Has one child in each generation.
    struct breeder {
        std::mt19937_64 random;
        const tour* parent = nullptr;
        individual child;
        std::size_t partners = 0; ///< That it has yet to find.
        std::int64_t surplus = 0; ///< Genes given, minus genes received.
    };
    /// The result of an exchange that has blocked.
    struct ready {
        std::optional<genes> result;
        bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        std::optional<genes> await_resume() const noexcept { return result; }
    };

    /// The better of two.
    const tour& select(std::mt19937_64& random) const noexcept {
        return individuals_[std::min(random() % individuals_.size(),
                                     random() % individuals_.size())]
            .round;
    }

    genes offer(breeder& self, const tour& parent) const noexcept {
        const std::size_t count = 1 + self.random() % (parent.size() - 1);
        return genes(parent).subspan(self.random() % (parent.size() - count + 1), count);
    }

    void receive(breeder& self, genes given, genes theirs) {
        self.surplus += std::ssize(given) - std::ssize(theirs);
        self.child.round = crossed(*all_, self.child.round, theirs);
        --self.partners;
    }

    /// The paper's listing 2: when all others have finished, nobody is left to exchange with.
    bool is_stranded(breeder& self) {
        if (how == pairing::red_blue || unfinished_ != 1) {
            return false;
        }
        const genes theirs = offer(self, select(self.random));
        receive(self, theirs, theirs);
        return true;
    }

    /// @param meet  begins an exchange.
    template <class Meet>
    tryst::task<> breed(breeder& self, Meet meet) {
        while (self.partners != 0) {
            if (!is_stranded(self)) {
                const genes mine = offer(self, *self.parent);
                const auto theirs = co_await meet(mine);
                if (theirs) { // else nobody came in time
                    receive(self, mine, *theirs);
                }
            }
        }
        unfinished_ -= how == pairing::mutex ? 0 : 1;
        if (improves) {
            improver(*all_, self.child.round);
        }
        self.child.length = length_of(*all_, self.child.round);
    }

    tryst::task<> breed(breeder& self, bool is_red) {
        if (how == pairing::mutex) {
            return breed(self, [this](genes mine) { return ready{blocking_.exchange(mine)}; });
        }
        if (how == pairing::symmetric) {
            return breed(self, [this](genes mine) { return symmetric_.exchange(mine, patience); });
        }
        // Listing 3: as many red ones as blue ones, with as many partners, so none is stranded.
        return is_red ? breed(self, [this](genes mine) { return red_blue_.red(mine); })
                      : breed(self, [this](genes mine) { return red_blue_.blue(mine); });
    }

    void work(std::size_t thread, std::barrier<>& all_ended) {
        const std::size_t first = thread * breeders_.size() / threads;
        const std::size_t last = (thread + 1) * breeders_.size() / threads;
        tryst::run_loop loop;
        while (!is_over_) {
            std::vector<tryst::task<>> tasks;
            for (std::size_t i = first; i != last; ++i) {
                if (how == pairing::mutex) { // which blocks: one after the other
                    loop.run(breed(breeders_[i], true));
                } else {
                    tasks.push_back(breed(breeders_[i], i % 2 == 0));
                }
            }
            loop.run(tryst::when_all(std::move(tasks)));
            unfinished_ -= how == pairing::mutex ? 1 : 0;
            all_ended.arrive_and_wait();
            if (thread == 0) {
                check_children();
                begin_generation();
            }
            all_ended.arrive_and_wait();
        }
    }

    void check_children() {
        std::int64_t lost = 0;
        for (breeder& each : breeders_) {
            lost += each.surplus;
            tour sorted = each.child.round;
            std::ranges::sort(sorted);
            if (sorted != cities_) {
                throw std::logic_error("a child is not a tour"); // which ends the program
            }
            individuals_.push_back(std::move(each.child));
        }
        if (lost != 0) {
            throw std::logic_error("genes were lost");
        }
        ++generation_;
    }

    /// Tours of equal length count as the same.
    void begin_generation() {
        std::ranges::sort(individuals_, {}, &individual::length);
        const auto duplicates = std::ranges::unique(individuals_, {}, &individual::length);
        individuals_.erase(duplicates.begin(), duplicates.end());
        individuals_.resize(std::min(individuals_.size(), population));
        if (std::exchange(best_length_, best().length) != best().length) {
            on_progress();
        }
        const double done =
            std::max(static_cast<double>(generation_) / generations, elapsed() / seconds);
        is_over_ = best_length_ == optimum || done >= 1;
        for (breeder& each : breeders_) {
            each.parent = &select(random_);
            each.child.round = *each.parent;
            // Four at first, and one in the end, as in simulated annealing.
            each.partners = static_cast<std::size_t>(4 - std::min(done * 4, 3.0));
        }
        unfinished_ = how == pairing::mutex ? threads : breeders;
    }

    const problem* all_ = nullptr;
    tour cities_; ///< Each of them, in order.
    std::vector<individual> individuals_; ///< The shortest tour first.
    std::vector<breeder> breeders_;
    std::mt19937_64 random_;
    std::atomic<std::size_t> unfinished_ = 0; ///< Breeders, or threads that block.
    tryst::exchanger<genes> symmetric_;
    tryst::red_blue_exchanger<genes> red_blue_;
    mutex_exchanger blocking_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::uint64_t generation_ = 0;
    std::int64_t best_length_ = 0;
    bool is_over_ = false;
};

} // namespace tsp
