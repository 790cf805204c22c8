// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#ifdef TRYST_TEST_QT
#include <QtCore/QCoreApplication>
#endif

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
#ifdef TRYST_TEST_QT
    const QCoreApplication application(argc, argv); // the threads' event loops need one
#endif
    return RUN_ALL_TESTS();
}
