// SPDX-License-Identifier: MIT
/// @file
/// Which parties wait, where in the program, and for how long: told by the program itself.
/// Standard library only. Never allocates.
#pragma once

#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/section_lock.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/thread_number.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/linked_list.hpp>
#include <tryst/statistics.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <ranges>
#include <source_location>
#include <string_view>
#include <system_error>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

/// One wait.
struct listed_entry : list_links<listed_entry> {
    listed_entry(const char* exchanger, std::source_location at) noexcept
        : name(exchanger), where(at), since(batch_time()) {}

    const char* name;
    std::source_location where;
    clock::rep since;
    clock::rep deadline = 0; ///< Zero: none. Set while its list is locked.
    std::size_t list = 0; ///< The index of its list.
};

/* The lists of waits
 * A thread enters its waits in one of several lists, by its number, so that threads seldom meet.
 * A list has a lock, which is held to enter, to leave, and while a dump walks the list. So a dump
 * reads entries of parties that run, and each wait leaves before its waiter is destroyed. */
class waits_listed {
public:
    void enter(listed_entry& wait) noexcept {
        wait.list = detail::find_thread_number() % lists;
        const lock_section here(shards_[wait.list].lock);
        shards_[wait.list].waits.push_back(wait);
    }
    void set_deadline(listed_entry& wait, clock::time_point when) noexcept {
        const lock_section here(shards_[wait.list].lock);
        wait.deadline = when.time_since_epoch().count();
    }
    void leave(listed_entry& wait) noexcept {
        const lock_section here(shards_[wait.list].lock);
        shards_[wait.list].waits.remove(wait);
    }

    /// Calls `visit` for each wait; must not enter or leave.
    /// @param patient  false in a signal handler, which may have interrupted the owner of a lock.
    /// @returns how many lists were left out.
    template <class Visit>
    std::size_t for_each(bool patient, Visit visit) noexcept {
        std::size_t left_out = 0;
        for (shard& each : shards_) {
            if (patient) {
                each.lock.lock();
            } else if (!tries_to_lock(each.lock)) {
                ++left_out;
                continue;
            }
            for (const listed_entry* wait = each.waits.front(); wait != nullptr;
                 wait = wait->following) {
                visit(*wait);
            }
            each.lock.unlock();
        }
        return left_out;
    }

    static constexpr std::size_t lists = 16;

private:
    static constexpr int tries = 10'000; ///< Longer than a party holds a lock, unless preempted.

    static bool tries_to_lock(section_lock& lock) noexcept {
        for (int i = 0; i != tries; ++i) {
            if (lock.try_lock()) {
                return true;
            }
            spin_pause();
        }
        return false;
    }

    struct alignas(line_pair) shard {
        section_lock lock;
        linked_queue<listed_entry> waits; ///< The oldest first.
    };
    std::array<shard, lists> shards_;
};

[[gnu::visibility("default")]] inline waits_listed all_waits;

/// The waits at exchangers of one name, at one place in the program.
struct equal_waits {
    static constexpr std::size_t name_size = 48; ///< With the null at the end.

    static std::string_view name_of(const listed_entry& wait) noexcept {
        return std::string_view(wait.name).substr(0, name_size - 1);
    }
    static std::size_t hash_of(const listed_entry& wait) noexcept {
        return std::hash<std::string_view>()(name_of(wait)) * 31 + wait.where.line();
    }

    /// Begins a group with this wait.
    void begin(const listed_entry& wait, std::size_t hashed) noexcept {
        const std::string_view full = name_of(wait);
        *std::copy(full.begin(), full.end(), name.begin()) = 0;
        where = wait.where;
        oldest = wait.since;
        hash = hashed;
        count = timed = 0;
    }
    void add(const listed_entry& wait) noexcept {
        ++count;
        oldest = (std::min)(oldest, wait.since);
        if (wait.deadline != 0) {
            next_deadline = timed++ == 0 ? wait.deadline : (std::min)(next_deadline, wait.deadline);
        }
    }
    bool is_of(const listed_entry& wait, std::size_t hashed) const noexcept {
        return hash == hashed && where.line() == wait.where.line() &&
               where.column() == wait.where.column() &&
               std::string_view(where.file_name()) == wait.where.file_name() &&
               name.data() == name_of(wait);
    }

    std::array<char, name_size> name{}; ///< A copy, because the exchanger may be destroyed.
    std::source_location where{};
    std::size_t hash = 0;
    std::uint64_t count = 0; ///< Zero: no group.
    clock::rep oldest = 0;
    std::uint64_t timed = 0; ///< How many have a deadline.
    clock::rep next_deadline = 0;
};

/// A line of a dump.
class dump_line {
public:
    std::string_view text() const noexcept { return {text_.data(), size_}; }

    dump_line& operator<<(std::string_view more) noexcept {
        // A name may come from a client.
        const auto printable = [](char c) { return static_cast<unsigned char>(c) < ' ' ? '?' : c; };
        const std::size_t fits = (std::min)(more.size(), text_.size() - size_ - 1);
        std::transform(more.data(), more.data() + fits, text_.data() + size_, printable);
        size_ += fits;
        return *this;
    }
    dump_line& operator<<(std::uint64_t number) noexcept {
        std::array<char, 20> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        return *this << std::string_view(digits.data(), end);
    }
    /// In seconds; zero if it is negative.
    dump_line& operator<<(clock::duration length) noexcept {
        using std::chrono::milliseconds;
        const auto ms = static_cast<std::uint64_t>(
            (std::max)(std::chrono::duration_cast<milliseconds>(length), milliseconds(0)).count());
        const std::uint64_t fraction = ms % 1'000;
        return *this << ms / 1'000
                     << (fraction < 10    ? ".00"
                         : fraction < 100 ? ".0"
                                          : ".")
                     << fraction << " s";
    }
    void end() noexcept { text_.at(size_++) = '\n'; }

private:
    std::array<char, 1'024> text_{};
    std::size_t size_ = 0;
};

/// One dump at a time.
class waiter_dump {
public:
    /// @param patient  as in `waits_listed::for_each`.
    template <class Write>
    void write(bool patient, Write write_text) {
        if (!patient && !lock_.try_lock()) {
            return write_text(std::string_view("tryst: another dump is being written\n"));
        }
        if (patient) {
            lock_.lock();
        }
        const unlocking end{lock_};
        const std::size_t left_out = collect(patient);
        print(write_text, left_out);
    }

private:
    struct unlocking {
        section_lock& lock;
        ~unlocking() { lock.unlock(); }
    };

    std::size_t collect(bool patient) noexcept {
        groups_.fill({});
        size_ = 0;
        total_ = elsewhere_ = 0;
        return all_waits.for_each(patient, [this](const listed_entry& wait) { add(wait); });
    }

    /// Takes about the same time for each wait, because its list is locked.
    void add(const listed_entry& wait) noexcept {
        ++total_;
        const std::size_t hash = equal_waits::hash_of(wait);
        for (std::size_t i = hash;; ++i) {
            equal_waits& each = groups_[i % groups_.size()];
            if (each.count == 0) {
                if (size_ == most_groups) {
                    ++elsewhere_;
                    return;
                }
                ++size_;
                each.begin(wait, hash);
            } else if (!each.is_of(wait, hash)) {
                continue;
            }
            each.add(wait);
            return;
        }
    }

    template <class Write>
    void print(Write& write_text, std::size_t left_out) {
        const auto known = std::ranges::partition(
            groups_, [](const equal_waits& each) { return each.count != 0; });
        const std::ranges::subrange all(groups_.begin(), known.begin());
        std::ranges::sort(all, {}, &equal_waits::oldest);
        line(write_text, [this](dump_line& to) {
            to << total_ << (total_ == 1 ? " party waits" : " parties wait");
        });
        const clock::rep now = clock::now().time_since_epoch().count();
        for (const equal_waits& each : all) {
            line(write_text, [&each, now](dump_line& to) {
                to << each.count << " at " << (each.name[0] == 0 ? "?" : each.name.data())
                   << " for " << clock::duration(now - each.oldest);
                if (each.timed != 0) {
                    to << ", " << each.timed << " with a deadline, the next in "
                       << clock::duration(each.next_deadline - now);
                }
                if (each.where.line() != 0) {
                    to << ", " << each.where.file_name() << ":" << each.where.line() << " in "
                       << each.where.function_name();
                }
            });
        }
        if (elsewhere_ != 0) {
            line(write_text, [this](dump_line& to) { to << elsewhere_ << " in other places"; });
        }
        if (left_out != 0) {
            line(write_text, [left_out](dump_line& to) {
                to << left_out << " of " << waits_listed::lists
                   << " lists were in use, and are left out: dump again";
            });
        }
    }

    template <class Write, class Fill>
    static void line(Write& write_text, Fill fill) {
        dump_line made;
        fill(made);
        made.end();
        write_text(made.text());
    }

    section_lock lock_;
    static constexpr std::size_t most_groups = 256;

    std::array<equal_waits, 2 * most_groups> groups_; ///< A hash table.
    std::size_t size_ = 0;
    std::uint64_t total_ = 0;
    std::uint64_t elsewhere_ = 0;
};

inline waiter_dump the_waiter_dump;

} // namespace detail

/// A span that enters its wait in the list of `dump_waiters` (see `traced`). A span of your own may
/// contain one.
/// @progress   blocking for a few instructions, or while a dump walks the list.
/// @allocation none.
class listed_wait {
public:
    /// Enters the list.
    explicit listed_wait(const char* name, std::source_location where = {}) noexcept
        : entry_(name, where) {
        detail::all_waits.enter(entry_);
    }
    listed_wait(const listed_wait&) = delete;
    listed_wait& operator=(const listed_wait&) = delete;
    /// Leaves the list.
    ~listed_wait() { detail::all_waits.leave(entry_); }

    /// Lists the deadline, too.
    void set_deadline(std::chrono::steady_clock::time_point when) noexcept {
        detail::all_waits.set_deadline(entry_, when);
    }

    /// Does nothing: the wait stays in the list until it is destroyed.
    void end(std::error_code /*how*/) noexcept {}

private:
    detail::listed_entry entry_;
};

/// A policy of exchangers and channels: `dump_waiters` lists the parties that wait there, by the
/// name that `set_name` gives, which must outlive their operations. For example
/// `synchronous_channel<job, order::fifo, listed>`.
using listed = traced<listed_wait>;

/// Writes which parties wait at exchangers and channels with the policy `listed`, those that have
/// waited longest first. Parties that wait at the same place, at exchangers of the same name, are
/// one line:
///
///     3 parties wait
///     2 at orders for 12.345 s, server.cpp:41 in tryst::task<> serve(orders&)
///     1 at desk for 0.020 s, 1 with a deadline, the next in 1.980 s, server.cpp:58 in trade
///
/// A wait is listed from its beginning to the moment when its party goes on: also if its partner
/// has come, and the party's executor has not run it yet. The time is that of the executor's
/// batches, as for `statistics::longest_wait`. A deadline is listed once it has taken effect (see
/// `traced`). Of a selection, each case is listed that waits at a listed exchanger; of a
/// `case_set`, also between two rounds. Names are cut after 47 characters. If there are more than
/// 256 places, the others are only counted. An operation that a function of `when_any` returned has
/// no place.
/// @param to  where to write, a line at a time.
/// @throws what `to` throws.
/// @progress   blocking: parties that begin or end a listed wait wait for the walk of their list.
/// @allocation none of its own.
/// @sync none.
inline void dump_waiters(std::ostream& to) {
    detail::the_waiter_dump.write(true, [&to](std::string_view text) {
        to.write(text.data(), static_cast<std::streamsize>(text.size()));
    });
}

/// As above, for a signal handler: writes to a file descriptor, such as 2, and does not
/// wait for other threads.
/// Async-signal-safe. If a list of waits is in use, possibly by the thread that the signal has
/// interrupted, says that it is left out. Keeps `errno`.
/// @throws nothing.  @progress lock-free, except for the writes.
inline void dump_waiters(int descriptor) noexcept {
    const int error = errno;
    detail::the_waiter_dump.write(false, [descriptor](std::string_view text) {
        while (!text.empty()) {
#ifdef _WIN32
            const auto written =
                ::_write(descriptor, text.data(), static_cast<unsigned>(text.size()));
#else
            const auto written = ::write(descriptor, text.data(), text.size());
#endif
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written <= 0) {
                return;
            }
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    });
    errno = error;
}

/// @}
} // namespace tryst
