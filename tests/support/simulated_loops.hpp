// SPDX-License-Identifier: MIT
// Loops on a simulated machine with two processors. It shows what a rule for spinning
// (tryst/detail/run/spin_policy.hpp) makes of wake-ups, shared processors and the kernel's
// placement. The same input gives the same run.
#pragma once

#include <tryst/executor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace tryst::test {

/// Where the kernel puts the threads.
enum class placement : std::uint8_t {
    pinned, ///< On the two processors in turn.
    shared, ///< All on the first processor, for good.
    free, ///< On the first; a woken thread moves to an idle processor if its own is busy.
};

/// What the steps of a loop cost, in ns.
struct loop_costs {
    std::int64_t poll = 25;
    std::int64_t turn = 150; ///< To take the mail and to answer it.
    std::int64_t line = 80; ///< Until the other processor sees the mail.
    std::int64_t wake_call = 3'000; ///< The waker's part of a wake-up.
    std::int64_t wake_up = 35'000; ///< Until a thread runs on an idle processor, give or take 5 us.
    std::int64_t fall_asleep = 1'500;
    std::int64_t change = 1'500; ///< To another thread of the same processor.
    std::int64_t slice = 3'000'000; ///< After which a thread must let others run.
};

/// Loops that answer their mail. `Rule` has the functions of `spin_policy`, and `slept(ns)`.
template <class Rule>
class simulated_loops {
public:
    using time = std::int64_t;

    /// What a loop has done.
    struct record {
        std::uint64_t turns = 0;
        std::uint64_t sleeps = 0;
        time used = 0; ///< Of a processor.
    };

    explicit simulated_loops(placement where, const loop_costs& costs = {})
        : where_(where), costs_(costs) {}

    /// Adds a loop that sleeps.
    /// @param partner  to which it posts for each message that it gets; none: it does not post.
    /// @param work     for each message, beside the turn.
    void add(Rule rule, std::optional<std::size_t> partner, time work = 0) {
        loop& made = loops_.emplace_back(rule);
        made.partner = partner;
        made.work = work;
        made.processor = where_ == placement::pinned ? (loops_.size() - 1) % 2 : 0;
    }

    /// Posts a message from outside.
    void post(std::size_t to) { deliver(to, nullptr); }
    /// From now on, a message comes from outside at this interval.
    void post_each(time interval, std::size_t to) {
        interval_ = interval;
        next_post_ = now_ + interval;
        sink_ = to;
    }
    /// From now on, other processes take a processor for 1 ms, about once in `interval`.
    void disturb(time interval) {
        disturbance_ = interval;
        next_disturbance_ = now_ + interval;
    }

    /// Lets time pass until `end`, or until `turns` turns have been run.
    void run(time end, std::uint64_t turns = std::numeric_limits<std::uint64_t>::max()) {
        while (now_ < end && total_turns_ < turns) {
            step(end);
        }
    }

    time now() const { return now_; }
    const record& of(std::size_t which) const { return loops_[which].done; }
    record total() const {
        record sum;
        for (const loop& each : loops_) {
            sum.turns += each.done.turns;
            sum.sleeps += each.done.sleeps;
            sum.used += each.done.used;
        }
        return sum;
    }

private:
    static constexpr time never = std::numeric_limits<time>::max() / 2;
    enum class state : std::uint8_t { asleep, woken, ready, running };
    enum class activity : std::uint8_t { polls, turn, wakes, falls_asleep };

    struct loop {
        explicit loop(Rule its) : rule(its) {}
        Rule rule;
        std::optional<std::size_t> partner;
        time work = 0;
        std::size_t processor = 0;
        state is = state::asleep;
        activity does = activity::falls_asleep;
        time left = 0; ///< Of the activity.
        time polled = 0;
        time mail_at = never; ///< When it can see its mail.
        time ready_at = never;
        time slept_at = 0;
        detail::partners_seen seen;
        record done;
    };

    struct processor {
        std::deque<std::size_t> queue;
        std::optional<std::size_t> current;
        time slice_ends = 0;
        time taken_until = 0;
    };

    // ---- What a loop does.

    void deliver(std::size_t to, loop* from) {
        loop& l = loops_[to];
        l.mail_at = std::min(l.mail_at, now_ + costs_.line);
        const bool sleeps = l.is == state::asleep;
        if (from != nullptr) {
            (sleeps ? from->seen.sleeping : from->seen.running) = true;
        }
        if (sleeps) {
            l.is = state::woken;
            if (where_ == placement::free && is_busy(l.processor) && !is_busy(1 - l.processor)) {
                l.processor = 1 - l.processor;
            }
            l.ready_at = now_ + (is_busy(l.processor) ? costs_.wake_call
                                                      : costs_.wake_up - 5'000 + random(10'000));
        }
    }

    void set(loop& l, activity what, time takes) {
        l.does = what;
        l.left = takes;
    }
    void take_mail(loop& l) {
        l.mail_at = never;
        set(l, activity::turn, costs_.turn + l.work);
    }
    void begin_wait(loop& l) {
        l.polled = 0;
        set(l, activity::polls, l.rule.begin(l.seen) * costs_.poll);
        l.seen = {};
    }
    void go_on(loop& l) { l.mail_at <= now_ ? take_mail(l) : begin_wait(l); }

    /// The activity is over.
    void finish(std::size_t which) {
        loop& l = loops_[which];
        switch (l.does) {
        case activity::polls:
            l.rule.in_vain();
            set(l, activity::falls_asleep, costs_.fall_asleep);
            break;
        case activity::turn: {
            ++l.done.turns;
            ++total_turns_;
            const bool wakes = l.partner && loops_[*l.partner].is == state::asleep;
            if (l.partner) {
                deliver(*l.partner, &l);
            }
            wakes ? set(l, activity::wakes, costs_.wake_call) : go_on(l);
            break;
        }
        case activity::wakes:
            go_on(l);
            break;
        case activity::falls_asleep:
            if (l.mail_at != never) {
                take_mail(l);
                break;
            }
            ++l.done.sleeps;
            l.is = state::asleep;
            l.slept_at = now_;
            leave(l.processor);
            break;
        }
    }

    // ---- What the kernel does.

    bool is_busy(std::size_t which) const { return processors_[which].current.has_value(); }
    void leave(std::size_t which) {
        processors_[which].current.reset();
        pick(which);
    }
    void pick(std::size_t which) {
        processor& p = processors_[which];
        if (p.current || p.queue.empty() || p.taken_until > now_) {
            return;
        }
        p.current = p.queue.front();
        p.queue.pop_front();
        p.slice_ends = now_ + costs_.slice;
        loop& l = loops_[*p.current];
        l.is = state::running;
        if (l.does == activity::falls_asleep) { // which it did before
            l.rule.slept(now_ - l.slept_at);
            take_mail(l);
        }
        l.left += costs_.change;
    }

    void step(time end) {
        time next = end;
        void (simulated_loops::*event)(std::size_t) = nullptr;
        std::size_t which = 0;
        const auto consider = [&](time at, auto what, std::size_t whose) {
            if (at < next) {
                next = std::max(at, now_);
                event = what;
                which = whose;
            }
        };
        for (std::size_t i = 0; i != processors_.size(); ++i) {
            const processor& p = processors_[i];
            if (p.taken_until > now_) {
                consider(p.taken_until, &simulated_loops::pick, i);
            } else if (p.current) {
                const loop& l = loops_[*p.current];
                if (l.does == activity::polls) {
                    consider(l.mail_at, &simulated_loops::find, *p.current);
                }
                consider(now_ + l.left, &simulated_loops::finish, *p.current);
                if (!p.queue.empty()) {
                    consider(p.slice_ends, &simulated_loops::rotate, i);
                }
            }
        }
        for (std::size_t i = 0; i != loops_.size(); ++i) {
            consider(loops_[i].ready_at, &simulated_loops::become_ready, i);
        }
        consider(next_post_, &simulated_loops::post_from_outside, sink_);
        consider(next_disturbance_, &simulated_loops::take_processor, disturbed_);
        for (const processor& p : processors_) {
            if (p.current && p.taken_until <= now_) {
                loop& l = loops_[*p.current];
                l.left -= next - now_;
                l.done.used += next - now_;
                l.polled += next - now_;
            }
        }
        now_ = next;
        if (event != nullptr) {
            (this->*event)(which);
        }
    }

    void find(std::size_t which) {
        loops_[which].rule.found(static_cast<unsigned>(loops_[which].polled / costs_.poll));
        take_mail(loops_[which]);
    }
    void rotate(std::size_t which) {
        processor& p = processors_[which];
        loops_[*p.current].is = state::ready;
        p.queue.push_back(*p.current);
        leave(which);
    }
    void become_ready(std::size_t which) {
        loop& l = loops_[which];
        l.ready_at = never;
        l.is = state::ready;
        processors_[l.processor].queue.push_back(which);
        pick(l.processor);
    }
    void post_from_outside(std::size_t to) {
        next_post_ += interval_;
        post(to);
    }
    void take_processor(std::size_t which) {
        processors_[which].taken_until = now_ + 1'000'000;
        disturbed_ = 1 - which;
        next_disturbance_ = now_ + disturbance_ / 2 + random(disturbance_);
    }
    time random(time below) {
        return static_cast<time>(random_() % static_cast<std::uint64_t>(below));
    }

    placement where_;
    loop_costs costs_;
    std::vector<loop> loops_;
    std::array<processor, 2> processors_;
    time now_ = 0;
    std::uint64_t total_turns_ = 0;
    time interval_ = 0;
    time next_post_ = never;
    std::size_t sink_ = 0;
    time disturbance_ = 0;
    time next_disturbance_ = never;
    std::size_t disturbed_ = 0;
    std::mt19937_64 random_{1}; // whose numbers are the same everywhere
};

} // namespace tryst::test
