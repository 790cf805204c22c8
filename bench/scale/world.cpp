// SPDX-License-Identifier: MIT
#include "world.hpp"

#include "designs.hpp"
#include "machine.hpp"
#include "parties.hpp"

#include <tryst/detail/platform/trace.hpp>
#include <tryst/run_loop.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tryst::scale {
namespace {

constexpr std::uint64_t most_accesses = 20'000'000'000;

/// The counts of the protocol's steps, reported by the platform.
struct records {
    const scene* how = nullptr;
    std::array<std::uint64_t, 32> steps{};
    std::uint64_t of(detail::step which) const { return steps[static_cast<std::size_t>(which)]; }
};
records now;

class stage {
public:
    stage(const scene& how, const costs& prices)
        : how_(how), machine_(how.cores, how.sockets, prices, how.seed, how.jitter) {
        now = {&how, {}};
    }

    template <class Meeting>
    outcome_of_scene play(std::size_t capacity) {
        const auto at = std::make_unique<Meeting>(capacity);
        const std::size_t each = how_.who == kind::loops ? how_.coroutines : 1;
        tallies_.resize(how_.cores * each);
        if (how_.who == kind::loops) {
            play_loops(*at, each);
        } else {
            play_threads(*at);
        }
        if (!conserved(tallies_, Meeting::pairs)) {
            throw std::runtime_error("items were not conserved");
        }
        return result();
    }

private:
    template <class Meeting>
    void play_loops(Meeting& at, std::size_t each) {
        std::vector<std::unique_ptr<run_loop>> loops;
        for (unsigned i = 0; i != how_.cores; ++i) {
            loops.push_back(std::make_unique<run_loop>());
            for (std::size_t j = 0; j != each; ++j) {
                const std::size_t party = i * each + j;
                loops.back()->spawn(how_.is_red(i, j)
                                        ? meet_for_ever<true>(at, party, tallies_[party])
                                        : meet_for_ever<false>(at, party, tallies_[party]));
            }
            machine_.add(start_of(i), [&loop = *loops.back()] { loop.run(); });
        }
        observe([&] {
            for (auto& loop : loops) {
                loop->stop();
            }
        });
        machine_.run(most_accesses);
        at.close(); // so that both parties of a swap are served
        for (auto& loop : loops) {
            loop->run_until_idle();
        }
    }

    template <class Meeting>
    void play_threads(Meeting& at) {
        const auto over = std::make_unique<detail::atomic<bool>>(false);
        for (unsigned i = 0; i != how_.cores; ++i) {
            machine_.add(start_of(i), [this, &at, &over = *over, i] {
                const auto is_over = [&] { return over.load(std::memory_order_relaxed); };
                if (how_.is_red(i, 0)) {
                    meet_until<true>(at, i, tallies_[i], is_over);
                } else {
                    meet_until<false>(at, i, tallies_[i], is_over);
                }
            });
        }
        observe([&at, &over = *over] {
            over.store(true, std::memory_order_relaxed);
            at.close(); // ends the last waits
        });
        machine_.run(most_accesses);
    }

    /// Cores begin at different times.
    picoseconds start_of(unsigned core) const { return static_cast<picoseconds>(core) * 1'700; }

    /// Adds an observer that counts, and that ends the run.
    template <class End>
    void observe(End end) {
        machine_.add(how_.warm_up, [this, end] {
            before_ = exchanges();
            transfers_ = machine_.transfers();
            steps_ = now;
            machine_.idle_until(how_.warm_up + how_.duration);
            after_ = exchanges();
            transfers_ = machine_.transfers() - transfers_;
            last_steps_ = now;
            end();
        });
    }

    std::vector<std::int64_t> exchanges() const {
        std::vector<std::int64_t> of_cores(how_.cores);
        const std::size_t each = tallies_.size() / how_.cores;
        for (std::size_t i = 0; i != tallies_.size(); ++i) {
            of_cores[i / each] += tallies_[i].exchanges;
        }
        return of_cores;
    }

    outcome_of_scene result() const {
        double total = 0;
        double least = 1e300;
        std::uint64_t digest = machine_.accesses() * 31 + machine_.transfers();
        for (unsigned i = 0; i != how_.cores; ++i) {
            const auto served = static_cast<double>(after_[i] - before_[i]);
            total += served;
            least = std::min(least, served);
        }
        for (const tally& each : tallies_) {
            digest = digest * 0x100000001B3U + each.got;
        }
        if (total == 0) {
            throw std::runtime_error("nothing was exchanged");
        }
        const double pairs = total / 2;
        const auto per_pair = [&](detail::step which) {
            return static_cast<double>(last_steps_.of(which) - steps_.of(which)) / pairs;
        };
        return {.ns = static_cast<double>(how_.duration) / 1000 / pairs,
                .served_least = least / (total / how_.cores),
                .transfers = static_cast<double>(transfers_) / pairs,
                .offers_above_home = per_pair(detail::step::offer_in_arena),
                .expiries = per_pair(detail::step::expiry),
                .growths = now.of(detail::step::growth),
                .shrinkages = now.of(detail::step::shrinkage),
                .accesses = machine_.accesses(),
                .digest = digest};
    }

    const scene& how_;
    machine machine_;
    std::vector<tally> tallies_;
    std::vector<std::int64_t> before_;
    std::vector<std::int64_t> after_;
    std::uint64_t transfers_ = 0;
    records steps_;
    records last_steps_;
};

} // namespace

void step_taken(unsigned step) noexcept {
    ++now.steps[step];
    if (step == static_cast<unsigned>(detail::step::expiry) && now.how->who == kind::loops) {
        simulated_memory::turn(); // the check, and a resumption to come
    }
}

void simulated_memory::work() noexcept {
    machine::here().spend_about(machine::here().prices().instructions);
    if (now.how->work) {
        machine::here().spend_about(now.how->work(machine::here().core()));
    }
}

outcome_of_scene simulate(const scene& how, const costs& prices) {
    stage here(how, prices);
    // As in the library: as many slots beside slot 0 as there are processors.
    const std::size_t capacity = how.cores;
    switch (how.how) {
    case design::one_slot:
        return here.play<plain_meeting<simulated_memory>>(0);
    case design::arena:
        return here.play<plain_meeting<simulated_memory>>(capacity);
    case design::counted:
        return here.play<plain_meeting<simulated_memory, tryst::counted>>(capacity);
    case design::fifo:
        return here.play<two_coloured_meeting<simulated_memory, order::fifo>>(capacity);
    case design::lifo:
        return here.play<two_coloured_meeting<simulated_memory, order::lifo>>(capacity);
    case design::select:
        return here.play<selecting_meeting<simulated_memory>>(capacity);
    case design::remote:
        return here.play<counting_meeting<simulated_memory>>(capacity);
    case design::mutex:
        return here.play<locked_meeting<simulated_memory>>(capacity);
    case design::ticket:
        return here.play<ticket_meeting<simulated_memory>>(capacity);
    case design::lists:
        return here.play<waiting_in_context<simulated_memory, listed_by_thread<simulated_memory>>>(
            capacity);
    case design::one_list:
        return here
            .play<waiting_in_context<simulated_memory, listed_behind_mutex<simulated_memory>>>(
                capacity);
    }
    throw std::logic_error("no such design");
}

} // namespace tryst::scale
