// SPDX-License-Identifier: MIT
#include <tryst/result.hpp>

#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace {

using tryst::exchange_category;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::test::census;
using tryst::test::tracked;

constexpr std::array all_errors{exchange_errc::timed_out, exchange_errc::cancelled,
                                exchange_errc::closed, exchange_errc::no_partner};

using text = exchange_result<std::string>;

text success(std::string partners) {
    return text(std::move(partners));
}
text failure(exchange_errc error, std::string own) {
    return {error, std::move(own)};
}

/// A pointer whose `&` gives its pointee away, as COM's do.
struct greedy {
    int value = 3;
    greedy* operator&() noexcept { // NOLINT(google-runtime-operator)
        value = 0;
        return this;
    }
    const greedy* operator&() const noexcept = delete;
};

} // namespace

/// Every way to the partner's item, or to the own one.
template <class Result>
void expect_access(Result& result, const std::string& expected) {
    EXPECT_EQ(result.has_value(), static_cast<bool>(result));
    if (result) {
        EXPECT_EQ(*result, expected);
        EXPECT_EQ(result.value(), expected);
        EXPECT_EQ(result->size(), expected.size());
        EXPECT_EQ(result.value_or("none"), expected);
        EXPECT_EQ(result.error(), std::error_code());
    } else {
        EXPECT_EQ(result.returned(), expected);
        EXPECT_EQ(result.value_or("none"), "none");
    }
}

TEST(ExchangeResult, HoldsThePartnersItemOrHandsTheOwnOneBack) {
    for (const char* const item : {"theirs", ""}) { // an item like any other
        text won = success(item);
        EXPECT_TRUE(won);
        expect_access(won, item);
        expect_access(std::as_const(won), item);
        for (const exchange_errc error : all_errors) {
            text lost = failure(error, item);
            EXPECT_FALSE(lost);
            EXPECT_EQ(lost.error(), error);
            expect_access(lost, item);
            expect_access(std::as_const(lost), item);
        }
    }
}

TEST(ExchangeResult, AccessThroughAnLvalueRefersToTheItemInside) {
    text won = success("theirs");
    *won += "!";
    won->push_back('!');
    won.value() += "!";
    EXPECT_EQ(*won, "theirs!!!");

    text lost = failure(exchange_errc::closed, "mine");
    lost.returned() += "!";
    EXPECT_EQ(lost.returned(), "mine!");
}

TEST(ExchangeResult, AccessThroughAnRvalueMovesTheItemOut) {
    using owner = std::unique_ptr<int>;
    using result = exchange_result<owner>;
    const auto make = [](int n) { return result(std::make_unique<int>(n)); };
    const owner items[] = {*make(0), make(1).value(), make(2).value_or(nullptr),
                           result(exchange_errc::timed_out, std::make_unique<int>(3)).returned()};
    for (int n = 0; n != 4; ++n) {
        ASSERT_TRUE(items[n]);
        EXPECT_EQ(*items[n], n);
    }
}

TEST(ExchangeResult, ValueOfAFailureThrowsItsErrorAsASystemError) {
    for (const exchange_errc error : all_errors) {
        text result = failure(error, "mine");
        const auto expect_throw = [error](auto take) {
            try {
                take();
                ADD_FAILURE() << "value() of a failure returned";
            } catch (const std::system_error& thrown) {
                EXPECT_EQ(thrown.code(), error);
                EXPECT_NE(std::string(thrown.what()).find(thrown.code().message()),
                          std::string::npos);
            }
        };
        expect_throw([&] { static_cast<void>(result.value()); });
        expect_throw([&] { static_cast<void>(std::as_const(result).value()); });
        expect_throw([&] { static_cast<void>(std::move(result).value()); });
        EXPECT_EQ(result.returned(), "mine") << "the attempt must leave the item alone";
    }
}

TEST(ExchangeResult, IsCopiedIfItsItemCanBeAndKeepsItsOutcome) {
    const text lost = failure(exchange_errc::closed, "mine");
    text copy = lost;
    copy.returned() += "!";
    EXPECT_EQ(lost.returned(), "mine");
    copy = success("theirs");
    EXPECT_EQ(*copy, "theirs");
    copy = lost;
    EXPECT_EQ(copy, lost);
    const std::string theirs = "theirs";
    EXPECT_EQ(text(theirs), "theirs");
    static_assert(!std::is_copy_constructible_v<exchange_result<tracked>>);
    static_assert(!std::is_constructible_v<exchange_result<tracked>, const tracked&>);
}

TEST(ExchangeResult, NeedsNoDefaultConstructorAndDestroysItsItemOnce) {
    census kept;
    {
        exchange_result<tracked> won(tracked(kept, 1));
        exchange_result<tracked> lost(exchange_errc::closed, tracked(kept, 2));
        EXPECT_EQ(kept.alive, 2);
        lost = std::move(won);
        EXPECT_EQ(kept.alive, 1);
        EXPECT_EQ(lost->id(), 1);
        lost = exchange_result<tracked>(exchange_errc::timed_out, tracked(kept, 3));
        EXPECT_EQ(lost.error(), exchange_errc::timed_out);
        EXPECT_EQ(lost.returned().id(), 3);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(ExchangeResult, TakesTheAddressOfAnItemThatOverloadsTheOperator) {
    exchange_result<greedy> result{greedy{}};
    EXPECT_EQ(result->value, 3);
    EXPECT_EQ(std::as_const(result)->value, 3);
}

TEST(ExchangeResult, ComparesOutcomesAndItems) {
    EXPECT_EQ(success("a"), success("a"));
    EXPECT_NE(success("a"), success("b"));
    EXPECT_NE(success("a"), failure(exchange_errc::closed, "a"));
    EXPECT_EQ(failure(exchange_errc::closed, "a"), failure(exchange_errc::closed, "a"));
    EXPECT_NE(failure(exchange_errc::closed, "a"), failure(exchange_errc::closed, "b"));
    EXPECT_NE(failure(exchange_errc::closed, "a"), failure(exchange_errc::timed_out, "a"));

    EXPECT_TRUE(success("a") == "a");
    EXPECT_FALSE(failure(exchange_errc::closed, "a") == "a");
    EXPECT_TRUE(failure(exchange_errc::closed, "a") == exchange_errc::closed);
    EXPECT_TRUE(exchange_errc::closed != success("a"));

    using sent = exchange_result<void, int>;
    EXPECT_EQ(sent(tryst::detail::nothing()), sent(tryst::detail::nothing()));
    EXPECT_EQ(sent(exchange_errc::closed, 1), sent(exchange_errc::closed, 1));
    struct opaque {};
    static_assert(!std::equality_comparable<exchange_result<opaque>>);
}

TEST(ExchangeResult, SaysWhatIsMissing) {
    static_assert(std::is_same_v<exchange_result<int>, exchange_result<int, int>>);
    exchange_result<void, std::string> sent{tryst::detail::nothing()};
    EXPECT_TRUE(sent);
    sent.value();
    exchange_result<void, std::string> kept(exchange_errc::closed, "mine");
    EXPECT_EQ(kept.returned(), "mine");
    EXPECT_THROW(kept.value(), std::system_error);
    exchange_result<std::string, void> received(std::string("theirs"));
    EXPECT_EQ(*received, "theirs");
    EXPECT_EQ(received->size(), 6U);
    exchange_result<std::string, void> none(exchange_errc::closed, {});
    EXPECT_FALSE(none);
    EXPECT_THROW(static_cast<void>(none.value()), std::system_error);
}

TEST(ExchangeErrc, ComparesWithTheGeneralErrorsItResembles) {
    EXPECT_EQ(make_error_code(exchange_errc::out_of_memory), std::errc::not_enough_memory);
    EXPECT_EQ(make_error_code(exchange_errc::timed_out), std::errc::timed_out);
    EXPECT_EQ(make_error_code(exchange_errc::cancelled), std::errc::operation_canceled);
    EXPECT_EQ(make_error_code(exchange_errc::no_partner), std::errc::operation_would_block);
    for (const exchange_errc error : all_errors) {
        const std::error_code code = failure(error, "").error();
        EXPECT_EQ(code == std::errc::timed_out, error == exchange_errc::timed_out);
        EXPECT_EQ(code == std::errc::operation_canceled, error == exchange_errc::cancelled);
        EXPECT_EQ(code == std::errc::operation_would_block, error == exchange_errc::no_partner);
        EXPECT_FALSE(code == std::errc::broken_pipe);
    }
}

TEST(ExchangeErrc, IsAnErrorCodeOfItsOwnCategory) {
    for (const exchange_errc error : all_errors) {
        const std::error_code code = error;
        EXPECT_TRUE(code);
        EXPECT_EQ(code.category(), exchange_category());
        EXPECT_NE(code.category(), std::generic_category());
        EXPECT_EQ(code.value(), static_cast<int>(error));
    }
    EXPECT_NE(make_error_code(exchange_errc::timed_out), make_error_code(exchange_errc::closed));
}

TEST(ExchangeCategory, HasANameAndAMessageForEachError) {
    EXPECT_STREQ(exchange_category().name(), "tryst.exchange");
    std::set<std::string> messages{exchange_category().message(0), exchange_category().message(99)};
    for (const exchange_errc error : all_errors) {
        messages.insert(make_error_code(error).message());
    }
    EXPECT_EQ(messages.size(), 2 + all_errors.size()) << "two errors share a message";
    EXPECT_FALSE(messages.contains(""));
}

#ifndef NDEBUG
TEST(ExchangeResultDeathTest, CatchesWhoeverTakesThePartnersItemAfterAFailure) {
    text lost = failure(exchange_errc::closed, "mine");
    EXPECT_DEATH(static_cast<void>(*lost), "this exchange failed");
    EXPECT_DEATH(static_cast<void>(*std::as_const(lost)), "this exchange failed");
    EXPECT_DEATH(static_cast<void>(lost->size()), "this exchange failed");
    EXPECT_DEATH(static_cast<void>(*std::move(lost)), "this exchange failed");
}

TEST(ExchangeResultDeathTest, CatchesWhoeverTakesTheOwnItemAfterASuccess) {
    text won = success("theirs");
    EXPECT_DEATH(static_cast<void>(won.returned()), "this exchange succeeded");
    EXPECT_DEATH(static_cast<void>(std::as_const(won).returned()), "this exchange succeeded");
    EXPECT_DEATH(static_cast<void>(std::move(won).returned()), "this exchange succeeded");
}
#endif
