// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#ifdef TRYST_TEST_QT
#include <QtCore/QCoreApplication>

// ThreadSanitizer sees the allocations and copies of Qt, which is not instrumented, but not the
// mutexes around them.
// NOLINTNEXTLINE(bugprone-reserved-identifier): ThreadSanitizer's own
extern "C" const char* __tsan_default_suppressions() {
    return "called_from_lib:libQt6Core.so\n";
}
#endif

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
#ifdef TRYST_TEST_QT
    const QCoreApplication application(argc, argv); // the threads' event loops need one
#endif
    return RUN_ALL_TESTS();
}
