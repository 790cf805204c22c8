// SPDX-License-Identifier: MIT
// What C++'s memory model allows and forbids, and what the checker must find: tests of the checker
// itself.
#include "model/checker.hpp"
#include "model/platform.hpp"
#include "model/scenes.hpp"

#include <array>
#include <atomic>

namespace tryst::model {

namespace {

using detail::atomic;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

/// Enters that an execution came to outcome `number`.
void outcome(unsigned number) {
    the_checker().reached(number, "outcome", site::current());
}

// ---- Message passing: a flag tells that plain data is there.

template <std::memory_order Store, std::memory_order Load>
void message_passing() {
    int data = 0;
    atomic<int> flag{0};
    run_threads(
        [&] {
            data = 1;
            flag.store(1, Store);
        },
        [&] {
            const bool there = flag.load(Load) == 1;
            outcome(there ? 1 : 0);
            require(!there || data == 1, "the flag came before the data");
        });
}

/// The flag goes through a read-modify-write of a third thread, which passes the release on.
void release_sequence() {
    int data = 0;
    atomic<int> flag{0};
    run_threads(
        [&] {
            data = 1;
            flag.store(1, release);
        },
        [&] { flag.fetch_add(1, relaxed); },
        [&] {
            const int seen = flag.load(acquire);
            outcome(static_cast<unsigned>(seen));
            require(seen != 2 || data == 1, "the release was not passed on");
        });
}

/// A plain store of a third thread does not.
void release_sequence_broken() {
    int data = 0;
    atomic<int> flag{0};
    run_threads(
        [&] {
            data = 1;
            flag.store(1, release);
        },
        [&] {
            if (flag.load(relaxed) == 1) {
                flag.store(2, relaxed);
            }
        },
        [&] {
            if (flag.load(acquire) == 2) {
                outcome(static_cast<unsigned>(data));
            }
        });
}

// ---- Two threads and two atomics

struct pair {
    int first;
    int second;
};

/// Each of two threads calls `use` with an atomic of its own and the other's.
/// @returns what the calls have returned, which is also the outcome.
template <class Use>
pair use_two(Use use) {
    atomic<int> x{0};
    atomic<int> y{0};
    pair got{};
    run_threads([&] { got.first = use(x, y); }, [&] { got.second = use(y, x); });
    outcome(static_cast<unsigned>(got.first + 2 * got.second));
    return got;
}

/// Each writes its own and reads the other's.
template <std::memory_order Store, std::memory_order Load>
void store_buffering() {
    const pair got = use_two([](atomic<int>& own, atomic<int>& other) {
        own.store(1, Store);
        return other.load(Load);
    });
    require(Store != seq_cst || got.first + got.second != 0, "neither store was seen");
}

/// Each reads what the other stores later: excluded by RC11, and never made by this checker.
void load_buffering() {
    const pair got = use_two([](atomic<int>& own, atomic<int>& other) {
        const int seen = own.load(relaxed);
        other.store(1, relaxed);
        return seen;
    });
    require(got.first + got.second != 2, "a value out of thin air");
}

/// An update that reads nothing new may come before another's store in modification order.
template <std::memory_order Order>
void late_updates() {
    const pair got = use_two([](atomic<int>& own, atomic<int>& other) {
        own.store(1, Order);
        return other.fetch_add(0, Order);
    });
    require(Order != seq_cst || got.first + got.second != 0, "neither store was seen");
}

/// Two readers of two independent writers: may they see them in different orders?
template <std::memory_order Load>
void independent_reads() {
    atomic<int> x{0};
    atomic<int> y{0};
    std::array<int, 4> seen{};
    constexpr auto stored = Load == seq_cst ? seq_cst : release;
    run_threads([&] { x.store(1, stored); }, [&] { y.store(1, stored); },
                [&] {
                    seen[0] = x.load(Load);
                    seen[1] = y.load(Load);
                },
                [&] {
                    seen[2] = y.load(Load);
                    seen[3] = x.load(Load);
                });
    const bool contradict = seen == std::array{1, 0, 1, 0};
    outcome(contradict ? 1 : 0);
    require(Load != seq_cst || !contradict, "the readers disagree");
}

/// Each stores to both, in opposite orders: the first stores may both be the last in modification
/// order.
template <std::memory_order Store>
void two_writes() {
    atomic<int> x{0};
    atomic<int> y{0};
    const auto write = [](atomic<int>& first, atomic<int>& second) {
        first.store(1, Store);
        second.store(2, Store);
    };
    run_threads([&] { write(x, y); }, [&] { write(y, x); });
    const int last_x = x.load(relaxed);
    const int last_y = y.load(relaxed);
    outcome(static_cast<unsigned>(last_x - 1 + 2 * (last_y - 1)));
    require(Store != seq_cst || last_x + last_y != 2, "both first stores are last");
}

// ---- One atomic

void coherence() {
    atomic<int> x{0};
    run_threads([&] { x.store(1, relaxed); }, [&] { x.store(2, relaxed); },
                [&] {
                    const int a = x.load(relaxed);
                    const int b = x.load(relaxed);
                    const int c = x.load(relaxed);
                    require(b == a || b != 0, "a value went back to the first");
                    require(a == b || b == c || a != c, "a value came twice");
                    outcome(static_cast<unsigned>(a + 3 * b));
                });
}

void increments() {
    atomic<int> x{0};
    run_threads([&] { x.fetch_add(1, relaxed); }, [&] { x.fetch_add(1, relaxed); });
    require(x.load(relaxed) == 2, "an increment was lost");
}

/// Two threads contend for an atomic; `win` says whether one has.
template <class Win>
void contend(Win win) {
    atomic<int> x{0};
    std::array<bool, 2> won{};
    run_threads([&] { won[0] = win(x); }, [&] { won[1] = win(x); });
    require(won[0] != won[1], "not one winner");
    outcome(won[0] ? 0 : 1);
}

void one_winner() {
    contend([](atomic<int>& x) {
        int seen = 0;
        const bool won = x.compare_exchange_strong(seen, 1, relaxed, relaxed);
        require(won || seen == 1, "a compare-exchange failed on what it expected");
        return won;
    });
}

void split_exchange() {
    contend([](atomic<int>& x) {
        int seen = 0;
        return x.split_compare_exchange(seen, 1, acq_rel, relaxed);
    });
}

void weak_exchange() {
    atomic<int> x{0};
    int seen = 0;
    const bool stored = x.compare_exchange_weak(seen, 1, relaxed, relaxed);
    outcome(stored ? 1 : 0);
}

// ---- Plain memory

void racing_writes() {
    int data = 0;
    run_threads([&] { data = 1; }, [&] { data = 2; });
}

/// The readers never come after the deallocation in this order of starts; nothing orders them
/// before it.
void use_after_free() {
    int* const data = new int(1);
    run_threads([data] { require(*data >= 0, "negative"); }, [data] { delete data; });
}

void dead_atomic() {
    auto* const x = new atomic<int>{0};
    bool deleted = false;
    run_threads([x] { x->store(1, relaxed); },
                [x, &deleted] {
                    if (x->load(relaxed) == 1) {
                        delete x;
                        deleted = true;
                    }
                });
    if (!deleted) {
        delete x;
    }
}

void dead_atomic_on_a_stack() {
    atomic<std::uintptr_t> shared{0};
    run_threads(
        [&] {
            atomic<int> mine{0};
            shared.store(reinterpret_cast<std::uintptr_t>(&mine), release);
        },
        [&] {
            if (const auto theirs = shared.load(acquire); theirs != 0) {
                reinterpret_cast<atomic<int>*>(theirs)->store(1, relaxed);
            }
        });
}

void overflow() {
    run_threads([] {
        int* const block = new int[2];
        require(block[32] == 0, "not fresh");
        delete[] block;
    });
}

void leak() {
    run_threads([] {
        void* volatile forgotten = ::operator new(8);
        static_cast<void>(forgotten);
    });
}

void crash() {
    int* volatile nowhere = nullptr;
    run_threads([&] { *nowhere = 1; });
}

// ---- Waiting

void deadlock() {
    atomic<int> x{0};
    run_threads([&] { detail::yield_until([&] { return x.load(relaxed) == 2; }); },
                [&] { x.store(1, relaxed); });
}

void livelock() {
    atomic<int> x{0};
    run_threads([&] {
        while (x.load(relaxed) == 0) {
            detail::yield_thread();
        }
    });
}

void endless_loop() {
    volatile bool never = false;
    run_threads([&] {
        while (!never) {
        }
    });
}

/// A sleeper that does not look again between deciding to sleep and sleeping.
template <bool Checks>
void wake_up() {
    detail::sleep_word word;
    run_threads(
        [&] {
            while (word.value.load(acquire) == 0) {
                word.sleep(Checks ? 0 : word.value.load(acquire));
            }
        },
        [&] { word.store_and_wake(1); });
}

/// A callback's destructor waits for a call that is under way.
void stop_callbacks() {
    stop_source source;
    run_threads([&] { source.request_stop(); },
                [&] {
                    int called = 0;
                    {
                        const auto call = [&] { ++called; };
                        const stop_callback callback(stop_token(source), call);
                    }
                    outcome(static_cast<unsigned>(called));
                    require(called <= 1, "a callback was called twice");
                });
}

constexpr std::array all{
    scene{"message_passing", "release and acquire", message_passing<release, acquire>,
          reaches(0, 1)},
    scene{"message_passing_unreleased", "a relaxed store", message_passing<relaxed, acquire>, 0,
          "data race"},
    scene{"message_passing_unacquired", "a relaxed load", message_passing<release, relaxed>, 0,
          "data race"},
    scene{"release_sequence", "goes on through read-modify-writes", release_sequence,
          reaches(0, 1, 2)},
    scene{"release_sequence_broken", "ends with another's store", release_sequence_broken, 0,
          "data race"},
    scene{"store_buffering", "both loads may be stale", store_buffering<release, acquire>,
          reaches(0, 1, 2, 3)},
    scene{"store_buffering_seq_cst", "not both", store_buffering<seq_cst, seq_cst>,
          reaches(1, 2, 3)},
    scene{"load_buffering", "is never made", load_buffering, reaches(0, 1, 2)},
    scene{"independent_reads", "readers may disagree", independent_reads<acquire>, reaches(0, 1)},
    scene{"independent_reads_seq_cst", "readers agree", independent_reads<seq_cst>, reaches(0)},
    scene{"two_writes", "both first stores may be last", two_writes<release>, reaches(0, 1, 2, 3)},
    scene{"two_writes_seq_cst", "not both", two_writes<seq_cst>, reaches(1, 2, 3)},
    scene{"late_updates", "neither may see the other's store", late_updates<relaxed>,
          reaches(0, 1, 2, 3)},
    scene{"late_updates_seq_cst", "one does", late_updates<seq_cst>, reaches(1, 2, 3)},
    scene{"coherence", "of three loads and two stores", coherence, reaches(0, 3, 6, 4, 7, 8, 5)},
    scene{"increments", "none is lost", increments},
    scene{"one_winner", "of two compare-exchanges", one_winner, reaches(0, 1)},
    scene{"split_exchange", "two winners of a load and a store", split_exchange, 0,
          "not one winner"},
    scene{"weak_exchange", "fails for no reason", weak_exchange, reaches(0, 1)},
    scene{"racing_writes", "to plain memory", racing_writes, 0, "data race"},
    scene{"use_after_free", "in another order", use_after_free, 0, "not ordered after the"},
    scene{"dead_atomic", "its last user knows no end of the other's use", dead_atomic, 0,
          "not ordered after the"},
    scene{"dead_atomic_on_a_stack", "the end of its scope is one", dead_atomic_on_a_stack, 0,
          "data race"},
    scene{"overflow", "of a block", overflow, 0, "use after free"},
    scene{"leak", "of a block", leak, 0, "never freed"},
    scene{"crash", "of a thread", crash, 0, "Segmentation fault"},
    scene{"deadlock", "waits for what never comes", deadlock, 0, "deadlock"},
    scene{"livelock", "looks for ever", livelock, 0, "no end after"},
    scene{"endless_loop", "without a step", endless_loop, 0, "no end between two steps"},
    scene{"wake_up", "of a sleeper that checks", wake_up<true>},
    scene{"wake_up_lost", "of one that does not", wake_up<false>, 0, "deadlock"},
    scene{"stop_callbacks", "end after their call", stop_callbacks, reaches(0, 1)},
};

} // namespace

std::span<const scene> litmus_scenes() {
    return all;
}

} // namespace tryst::model
