// SPDX-License-Identifier: MIT
/// @file
/// A set of cases at exchangers of any kinds, which a party serves round by round.
#pragma once

#include "sim/memory.hpp"
#include "sim/scene.hpp"

#include <tryst/case_set.hpp>
#include <tryst/exchange_operation.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace tryst::sim {

class served_set {
    template <class... Sides>
    using set_of = case_set<std::size_t, exchange_operation<Sides, detail::limits<false>>...>;
    using set = of_all_sides<set_of>::type;

public:
    using result = set::result_type;

    explicit served_set(scene& s) noexcept : scene_(&s) {}
    served_set(const served_set&) = delete;
    served_set& operator=(const served_set&) = delete;
    ~served_set() = default;

    /// Adds, removes and rearms cases, and chooses how to wait for one.
    /// @param timers  as in `scene::make_wish`.
    /// @returns a wish of size 0 if there is nothing to wait for.
    wish make_wish(bool timers) {
        if (scene_->choose_meeting() == nullptr) { // the run is about to end
            return {.size = 0};
        }
        for (std::size_t i = 0; i != cases_.size(); ++i) {
            change(i);
        }
        wish made = scene_->make_limits(timers);
        made.set = this;
        made.size = 0;
        for (one& each : cases_) {
            if (each.where != nullptr && !each.is_idle) {
                made.where.at(made.size) = each.where;
                made.colours.at(made.size) = each.colour;
                in_round_.at(made.size++) = &each;
            }
        }
        return made;
    }

    /// Begins a round of the wish that was made last.
    case_records begin(wish what) {
        for (std::size_t i = 0; i != what.size; ++i) {
            one& each = *in_round_.at(i);
            if (each.place.told == history::never) {
                each.place = scene_->place_from_now();
            }
            what.places.at(i) = each.place;
        }
        case_records begun{};
        for (std::size_t i = 0; i != what.size; ++i) {
            one& each = *in_round_.at(i);
            if (each.brings_nothing()) { // another number each time
                each.given = scene_->make_item().id();
            }
            begun.at(i) = &scene_->begin(what, i, each.given, begun[0]);
        }
        begun[0]->arrived = true; // exchangers may be destroyed while a set registers
        return begun;
    }

    template <class... Limit>
    auto next(Limit... limit) noexcept {
        return set_.next(std::move(limit)...);
    }
    void try_next(const wish& what) {
        const case_records begun = begin(what);
        result got = set_.try_next();
        end(begun, got);
    }

    /// Ends the round.
    void end(const case_records& begun, result& got) {
        const auto reason =
            got ? exchange_errc::not_selected : static_cast<exchange_errc>(got.error().value());
        for (std::size_t i = 0; i != begun.size() && begun.at(i) != nullptr; ++i) {
            one& each = *in_round_.at(i);
            if (!got || &cases_.at(got.token()) != &each) {
                scene_->kept(*begun.at(i), reason);
                if (each.where->ex.what() == venue::kind::heavy && !each.brings_nothing()) {
                    each.place = {}; // it has left its list
                }
                continue;
            }
            got.visit([&](auto& known) { scene_->ended(*begun.at(i), known); });
            if (got.error() == exchange_errc::closed) {
                forget(each);
            } else {
                each.is_idle = !each.brings_nothing();
                each.place = {};
            }
        }
    }

private:
    using exchange = case_handle<exchange_result<item>>;
    using send = case_handle<exchange_result<void, item>>;
    using receive = case_handle<exchange_result<item, void>>;

    struct one {
        bool brings_nothing() const noexcept { return std::holds_alternative<receive>(handle); }

        meeting* where = nullptr; ///< Null if there is no such case.
        history::colour colour{};
        long given = 0;
        bool is_idle = false;
        place_in_queue place{};
        std::variant<exchange, send, receive> handle{};
    };

    void change(std::size_t i) {
        one& each = cases_.at(i);
        if (each.where == nullptr) {
            if (choices().one_in(2)) {
                add(i);
            }
        } else if (choices().one_in(8)) {
            remove(each);
        } else if (each.is_idle && !choices().one_in(4)) {
            item next = scene_->make_item();
            each.given = next.id();
            each.is_idle = false;
            std::visit(
                [&]<class Handle>(Handle which) {
                    if constexpr (!std::is_same_v<Handle, receive>) {
                        set_.rearm(which, std::move(next));
                    }
                },
                each.handle);
        }
    }

    void add(std::size_t i) {
        meeting* const where = scene_->choose_meeting();
        if (where == nullptr) {
            return;
        }
        one made{.where = where, .colour = scene_->choose_colour(*where)};
        for (const one& each : cases_) {
            if (each.where == where) { // not on both sides of one exchanger
                if (each.colour == history::colour::any) {
                    return;
                }
                made.colour = each.colour;
            }
        }
        item mine = scene_->make_item();
        made.given = mine.id();
        ++where->users;
        try {
            where->ex.as(made.colour, mine,
                         [&](auto make, auto) { made.handle = set_.add(make(), i); });
            note("adds a case at exchanger {} as {}", where->id, static_cast<long>(made.colour));
            cases_.at(i) = made;
            ++where->standing;
        } catch (const std::bad_alloc&) {
            note("a case is given up for want of memory");
        }
        --where->users;
    }

    void remove(one& each) {
        note("removes a case at exchanger {}", each.where->id);
        std::visit(
            [&](auto which) {
                const auto left = set_.remove(which);
                if (left.has_value() == each.is_idle) {
                    fail("a case is idle, or is not, and its set says otherwise");
                }
                if (left && left->error() != exchange_errc::not_selected) {
                    fail("a case took place between two rounds");
                }
                if constexpr (requires { left->returned().id(); }) {
                    if (left && left->returned().id() != each.given) {
                        fail("a case has another item than its own");
                    }
                }
            },
            each.handle);
        forget(each);
    }

    /// It has left the set.
    static void forget(one& each) noexcept {
        if (each.where != nullptr) {
            --each.where->standing;
        }
        each = {};
    }

    struct all_cases : std::array<one, wish::most> {
        all_cases() = default;
        all_cases(const all_cases&) = delete;
        all_cases& operator=(const all_cases&) = delete;
        ~all_cases() { std::ranges::for_each(*this, forget); }
    };

    scene* scene_;
    all_cases cases_; // destroyed after the set
    set set_;
    std::array<one*, wish::most> in_round_{};
};

} // namespace tryst::sim
