// SPDX-License-Identifier: MIT
// Each adapter for an event loop with types of a namespace whose functions have the names of the
// library's.
#include "adapters/loops/hosts.hpp"
#include "meet.hpp"

#include <gtest/gtest.h>

namespace {

template <class Host>
class StrangerOnLoop : public ::testing::Test {};
TYPED_TEST_SUITE(StrangerOnLoop, tryst::test::hosts, tryst::test::host_names);

template <class Host, class Executor>
tryst::task<> meet_and_stop(Host& host, Executor& on) {
    co_await stranger::meet(on);
    host.stop();
}

TYPED_TEST(StrangerOnLoop, Meets) {
    TypeParam host;
    const auto on = host.template make<typename TypeParam::executor>();
    on->spawn(meet_and_stop(host, *on));
    host.run();
}

} // namespace
