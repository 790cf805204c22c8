// SPDX-License-Identifier: MIT
// A mailbox on the real kernel. Scenes of tests/model/loop_scenes.cpp explore its races.
#include <tryst/detail/run/mailbox.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tryst::test {
namespace {

using detail::clock;
using detail::mailbox;
using namespace std::chrono_literals;

struct letter : executor_node {
    int number = 0;
};

std::vector<int> numbers(const executor_node* mail) {
    std::vector<int> found;
    for (; mail != nullptr; mail = mail->next) {
        found.push_back(static_cast<const letter*>(mail)->number);
    }
    return found;
}

TEST(Mailbox, HandsOutAllItsMailOnceInTheOrderOfPosting) {
    mailbox mail;
    EXPECT_FALSE(mail.has_mail());
    EXPECT_EQ(mail.take(), nullptr);
    letter letters[3];
    for (int round = 0; round != 2; ++round) {
        for (int i = 0; i != 3; ++i) {
            letters[i].number = i;
            mail.post(&letters[i]);
            EXPECT_TRUE(mail.has_mail());
        }
        EXPECT_EQ(numbers(mail.take()), (std::vector{0, 1, 2}));
        EXPECT_FALSE(mail.has_mail());
        EXPECT_EQ(mail.take(), nullptr);
    }
}

TEST(Mailbox, DoesNotSleepOnMail) {
    mailbox mail;
    letter only;
    mail.post(&only);
    mail.sleep();
    mail.sleep_until(clock::time_point::max());
    EXPECT_EQ(mail.take(), &only);
}

TEST(Mailbox, SleepsUntilTheDeadlineWithoutMail) {
    mailbox mail;
    const auto deadline = clock::now() + 3ms;
    mail.sleep_until(deadline);
    EXPECT_GE(clock::now(), deadline);
    EXPECT_FALSE(mail.has_mail());

    letter only;
    mail.post(&only); // wakes nobody: a token left here would end a later sleep
    EXPECT_EQ(mail.take(), &only);
    const auto next = clock::now() + 3ms;
    mail.sleep_until(next);
    EXPECT_GE(clock::now(), next);
}

TEST(Mailbox, LeavesNoTokenBehindWhenAPosterRacesWithTheDeadline) {
    // The sleeper's time is up at about the moment when the poster comes.
    constexpr int rounds = 2'000;
    mailbox mail;
    letter only;
    std::atomic<int> wanted{-1};
    std::thread poster([&] {
        for (int i = 0; i != rounds; ++i) {
            while (wanted.load(std::memory_order_acquire) != i) {
                std::this_thread::yield();
            }
            mail.post(&only);
        }
    });
    for (int i = 0; i != rounds; ++i) {
        wanted.store(i, std::memory_order_release);
        do {
            mail.sleep_until(clock::now() + std::chrono::microseconds(i % 50));
        } while (mail.take() == nullptr);
        if (i % 20 == 0) {
            const auto deadline = clock::now() + 50us;
            mail.sleep_until(deadline);
            ASSERT_GE(clock::now(), deadline);
        }
    }
    poster.join();
}

} // namespace
} // namespace tryst::test
