// SPDX-License-Identifier: MIT
#include <tryst/detail/run/mailbox.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace {

using tryst::executor_node;
using tryst::detail::mailbox;
using clock = tryst::detail::clock;
using namespace std::chrono_literals;

struct letter : executor_node {
    int sender = 0;
    int number = 0;
};

const letter& as_letter(const executor_node* node) {
    return *static_cast<const letter*>(node);
}

std::vector<int> numbers(const executor_node* mail) {
    std::vector<int> found;
    for (; mail != nullptr; mail = mail->next) {
        found.push_back(as_letter(mail).number);
    }
    return found;
}

} // namespace

TEST(Mailbox, HasNothingAtFirst) {
    mailbox mail;
    EXPECT_FALSE(mail.has_mail());
    EXPECT_EQ(mail.take(), nullptr);
}

TEST(Mailbox, HandsOutAllItsMailOnceInTheOrderOfPosting) {
    mailbox mail;
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

TEST(Mailbox, WakesForEachPostAndLosesNone) {
    constexpr int rounds = 3'000;
    mailbox to_main;
    mailbox to_other;
    letter first;
    letter second;
    std::thread other([&] {
        for (int i = 0; i != rounds; ++i) {
            while (to_other.take() == nullptr) {
                to_other.sleep();
            }
            second.number = first.number;
            to_main.post(&second);
        }
    });
    for (int i = 0; i != rounds; ++i) {
        first.number = i;
        to_other.post(&first);
        while (to_main.take() == nullptr) {
            i % 2 == 0 ? to_main.sleep() : to_main.sleep_until(clock::time_point::max());
        }
        ASSERT_EQ(second.number, i);
    }
    other.join();
}

TEST(Mailbox, IsWokenOnceForEachSleepHoweverManyPost) {
    constexpr int senders = 4;
    for (int round = 0; round != 200; ++round) {
        mailbox mail;
        letter letters[senders];
        std::latch start(senders + 1);
        std::vector<std::thread> threads;
        threads.reserve(senders);
        for (letter& own : letters) {
            threads.emplace_back([&mail, &start, &own] {
                start.arrive_and_wait();
                mail.post(&own);
            });
        }
        start.arrive_and_wait();
        for (int got = 0; got != senders;) {
            mail.sleep();
            got += static_cast<int>(numbers(mail.take()).size());
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        // A second unpark of one sleep would now end this one early.
        const auto deadline = clock::now() + 50us;
        mail.sleep_until(deadline);
        ASSERT_GE(clock::now(), deadline);
    }
}

TEST(Mailbox, KeepsTheOrderOfEachSender) {
    constexpr int senders = 3;
    constexpr int each = 2'000;
    mailbox mail;
    std::vector<std::vector<letter>> letters(senders, std::vector<letter>(each));
    std::vector<std::thread> threads;
    for (int sender = 0; sender != senders; ++sender) {
        threads.emplace_back([&mail, sender, &own = letters[static_cast<std::size_t>(sender)]] {
            for (int i = 0; i != each; ++i) {
                auto& next = own[static_cast<std::size_t>(i)];
                next.sender = sender;
                next.number = i;
                mail.post(&next);
            }
        });
    }
    std::vector<int> expected(senders, 0);
    for (int got = 0; got != senders * each;) {
        mail.sleep();
        for (const executor_node* node = mail.take(); node != nullptr; node = node->next) {
            const letter& next = as_letter(node);
            ASSERT_EQ(next.number, expected[static_cast<std::size_t>(next.sender)]++);
            ++got;
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
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

TEST(Mailbox, MayBeDestroyedByASleeperThatFoundItsMail) {
    for (int round = 0; round != 3'000; ++round) {
        auto mail = std::make_unique<mailbox>();
        auto only = std::make_unique<letter>();
        std::thread poster([&posted = *only, &to = *mail] { to.post(&posted); });
        while (mail->take() == nullptr) {
            round % 2 == 0 ? mail->sleep() : mail->sleep_until(clock::now() + 20us);
        }
        mail.reset();
        only.reset();
        poster.join();
    }
}
