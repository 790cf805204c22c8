// SPDX-License-Identifier: MIT
/// @file
/// What the checker is let loose on.
#pragma once

#include "model/checker.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tryst::model {

struct scene {
    std::string_view name;
    std::string_view about;
    void (*body)();
    /// A bit for each step of the protocol (detail::step), or outcome of a litmus test, that some
    /// execution must reach, lest the scene be empty.
    std::uint64_t must_reach = 0;
    /// What must go wrong, for a scene that shows that the checker finds it; else empty.
    std::string_view must_fail = {};

    // If it is a line of scenes.txt:
    std::string_view venue = {};
    std::string_view words = {}; ///< What its actors do.
    std::uint64_t never = 0; ///< Steps that no execution may reach,
    std::uint64_t once = 0; ///< or not more than once.
    bool firm = false; ///< Nothing fails spuriously.
};

/// The scene that is explored.
inline const scene* playing = nullptr;

/// Calls `f` for each of the words of a text.
template <class F>
void each_word(std::string_view text, F f) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        if (end != begin) {
            f(text.substr(begin, end - begin));
        }
        begin = end + 1;
    }
}

/// Fails the execution if something is not as it must be.
inline void require(bool condition, const char* what) {
    if (!condition) {
        the_checker().fail(what);
    }
}

inline constexpr std::array thread_names{"first", "second", "third",  "fourth",
                                         "fifth", "sixth",  "seventh"};

/// Starts a thread for each body. They must live until it has ended.
template <class... Body>
void start(Body&... bodies) {
    std::size_t number = 0;
    (the_checker().spawn(
         thread_names.at(number++), [](void* self) { (*static_cast<Body*>(self))(); }, &bodies),
     ...);
}

/// A word of scenes.txt that acts: as a thread, or before or after the threads.
struct actor {
    std::string_view word;
    char when = '='; ///< Before the threads: `<`, after them: `>`.
    std::size_t first = 0; ///< The parties that it consists of.
    std::size_t count = 0;
    void* stage = nullptr; ///< Where it acts.

    char kind() const { return word.front(); }
};

/// All of the scene that is explored. Not in the model's memory, so that checks may look at it.
inline std::array<actor, 10> actors;
inline std::size_t actor_count = 0;

inline std::span<actor> every_actor() {
    return std::span(actors).first(actor_count);
}

/// Which of the loops is the actor's.
inline std::size_t loop_number(const actor& each) {
    const auto before = std::span(actors).first(static_cast<std::size_t>(&each - actors.data()));
    return static_cast<std::size_t>(std::ranges::count(before, 'L', &actor::kind));
}

/// Reads the scene's words. `read` reads the parties of each, and counts them in `parties`.
template <class Read>
void read_actors(const std::size_t& parties, Read read) {
    actor_count = 0;
    each_word(playing->words, [&](std::string_view text) {
        const bool apart = text.front() == '<' || text.front() == '>';
        actor& each = actors.at(actor_count++);
        each = {.word = text.substr(apart ? 1 : 0),
                .when = apart ? text.front() : '=',
                .first = parties};
        read(each);
        each.count = parties - each.first;
    });
}

/// The letters and signs of a party.
class party_marks {
public:
    void add(char mark) { bits_ |= bit(mark); }
    bool has(char mark) const { return (bits_ & bit(mark)) != 0; }

private:
    static std::uint64_t bit(char mark) { return std::uint64_t{1} << (mark & 63); }

    std::uint64_t bits_ = 0;
};

/// Lets those act that come before the threads, and starts the threads.
template <class Stage>
void start_actors(Stage& stage) {
    std::size_t threads = 0;
    for (actor& each : every_actor()) {
        each.stage = &stage;
        if (each.when == '<') {
            stage.act(each);
        } else if (each.when == '=') {
            the_checker().spawn(
                thread_names.at(threads++),
                [](void* self) {
                    const actor& who = *static_cast<actor*>(self);
                    static_cast<Stage*>(who.stage)->act(who);
                },
                &each);
        }
    }
}

/// Runs a thread for each body to its end.
template <class... Body>
void run_threads(Body... bodies) {
    start(bodies...);
    the_checker().join();
}

/// What `must_reach` says.
template <class... Number>
constexpr std::uint64_t reaches(Number... numbers) {
    return ((std::uint64_t{1} << static_cast<unsigned>(numbers)) | ... | 0U);
}

/// Tells that something has been done or begins, and orders nothing.
class bell {
public:
    void ring() {
        the_checker().use(object_, true, "rings", site::current());
        add(1);
    }
    /// @returns how often it has been rung.
    int listen() {
        the_checker().use(object_, false, "listens", site::current());
        return add(0);
    }

private:
    /// Unseen by the race detector.
    __attribute__((no_sanitize("thread"), noinline)) int add(int more) noexcept {
        return rung_ += more;
    }

    shared_object object_;
    int rung_ = 0;
};

std::span<const scene> litmus_scenes();
std::span<const scene> loop_scenes();
std::span<const scene> case_set_scenes();
std::span<const scene> future_scenes();
/// The scene that a line of scenes.txt is; it refers to the line.
scene scene_of(std::string_view line);
/// Lines without names: all exchanges of so many parties, of whatever may end their waits, with and
/// without a close. Colours are not swapped.
std::vector<std::string> all_small_scenes(std::size_t parties);
/// Those of scenes.txt.
std::span<const scene> text_scenes();
/// Whether a test of scenes.txt names the scene, which is a function.
bool is_tested(std::string_view scene);

// What plays a scene of scenes.txt.
void play_exchanges();
void play_wait_list();
void play_buffer();

} // namespace tryst::model
