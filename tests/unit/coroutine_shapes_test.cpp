// SPDX-License-Identifier: MIT
// Shapes of `co_await` that users write. g++ 12 miscompiles some of them (docs/compilers.md): it
// runs the safe forms only, other compilers run all.
#include <tryst/tryst.hpp>

#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// An aggregate whose members must be destroyed once, and free memory.
struct message {
    tracked counted;
    std::string text;
};

using exchanger_type = exchanger<message>;

const std::string text = "a text that is too long to be kept inside of the string itself";

/// Two coroutines meet, each by the shape `f(exchanger, census)`; nothing is lost or destroyed
/// twice.
template <class Shape>
void expect_sound(Shape shape) {
    census kept;
    {
        exchanger_type ex;
        run_loop loop;
        for (int i = 0; i != 2; ++i) {
            loop.spawn(shape(ex, kept));
        }
        loop.run_until_idle();
        ex.close();
        loop.run_until_idle();
    }
    EXPECT_GT(kept.created, 0);
    EXPECT_EQ(kept.alive, 0);
}

void check(const exchange_result<message>& got) {
    EXPECT_EQ((got ? *got : got.returned()).text, text);
}

TEST(SafeShape, NamesTheItemFirst) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message mine{tracked(kept, 1), text};
        auto got = co_await ex.exchange(std::move(mine));
        check(got);
    });
}

TEST(SafeShape, NamesTheOperationFirst) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        auto swap = ex.exchange({tracked(kept, 1), text});
        auto got = co_await swap;
        check(got);
    });
}

TEST(SafeShape, CallsAFunctionThatMakesTheOperation) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        const auto swap = [&] { return ex.exchange(message{tracked(kept, 1), text}); };
        auto got = co_await swap();
        check(got);
    });
}

TEST(SafeShape, NamesTheItemThatItChooses) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message first{tracked(kept, 1), text};
        message mine = !text.empty() ? std::move(first) : message{tracked(kept, 2), text};
        auto got = co_await ex.exchange(std::move(mine));
        check(got);
    });
}

TEST(SafeShape, NamesTheStopTokenThatItChooses) {
    std::stop_source stop;
    expect_sound([&](exchanger_type& ex, census& kept) -> task<> {
        std::stop_token token = ex.is_closed() ? std::stop_token() : stop.get_token();
        message mine{tracked(kept, 1), text};
        auto got = co_await ex.exchange(std::move(mine), std::move(token));
        check(got);
    });
}

TEST(SafeShape, DecidesByIfWhetherToWait) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message mine{tracked(kept, 1), text};
        if (ex.is_closed()) {
            auto got = ex.try_exchange(std::move(mine));
            check(got);
        } else {
            auto got = co_await ex.exchange(std::move(mine));
            check(got);
        }
    });
}

TEST(SafeShape, SwitchesOverANamedResult) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message mine{tracked(kept, 1), text};
        auto got = co_await ex.exchange(std::move(mine));
        switch (got.error().value()) {
        case 0:
            check(got);
            break;
        default:
            ADD_FAILURE() << got.error().message();
        }
    });
}

TEST(SafeShape, LoopsWhileANamedResultIsASuccess) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message mine{tracked(kept, 1), text};
        int rounds = 0;
        while (auto got = co_await ex.exchange(std::move(mine), 0ms)) {
            mine = std::move(*got);
            if (++rounds == 3) {
                break;
            }
        }
    });
}

TEST(SafeShape, TestsANamedResultInAnIf) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message mine{tracked(kept, 1), text};
        if (auto got = co_await ex.exchange(std::move(mine))) {
            const message theirs = *std::move(got);
            EXPECT_EQ(theirs.text, text);
        }
    });
}

TEST(SafeShape, PassesANamedItemToATask) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        const auto swap = [](exchanger_type& at, message mine) -> task<> {
            auto got = co_await at.exchange(std::move(mine));
            check(got);
        };
        message mine{tracked(kept, 1), text};
        co_await swap(ex, std::move(mine));
    });
}

#if !defined(__GNUC__) || defined(__clang__)
TEST(AnyShape, MakesTheItemWithinTheAwait) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        auto got = co_await ex.exchange({tracked(kept, 1), text});
        check(got);
    });
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        auto got = co_await ex.exchange(message{tracked(kept, 1), text});
        check(got);
    });
}

TEST(AnyShape, ChoosesWithinTheAwait) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message first{tracked(kept, 1), text};
        auto got = co_await ex.exchange(!text.empty() ? std::move(first)
                                                      : message{tracked(kept, 2), text});
        check(got);
    });
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message mine{tracked(kept, 1), text};
        auto got = ex.is_closed() ? ex.try_exchange(std::move(mine))
                                  : co_await ex.exchange(std::move(mine));
        check(got);
    });
}

TEST(AnyShape, SwitchesOverAnAwait) {
    expect_sound([](exchanger_type& ex, census& kept) -> task<> {
        message mine{tracked(kept, 1), text};
        switch ((co_await ex.exchange(std::move(mine))).error().value()) {
        case 0:
            break;
        default:
            ADD_FAILURE();
        }
    });
}
#endif

} // namespace
} // namespace tryst::test
