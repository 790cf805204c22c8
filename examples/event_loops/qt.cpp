// SPDX-License-Identifier: MIT
// A task on Qt's main thread and one on a worker's QThread swap buffers: one fills, one shows.
#include <QtCore/QCoreApplication>
#include <QtCore/QThread>

#include <tryst/qt.hpp>
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using buffers = tryst::exchanger<std::string>;

tryst::task<> fill(buffers& swap) {
    std::string buffer;
    for (int i = 1; i != 4; ++i) {
        buffer = "frame " + std::to_string(i);
        auto got = co_await swap.exchange(std::move(buffer));
        if (!got) {
            co_return;
        }
        buffer = std::move(*got);
    }
    swap.close();
}

tryst::task<> show(buffers& swap) {
    std::string buffer;
    for (;;) {
        auto got = co_await swap.exchange(std::move(buffer), 10s);
        if (!got) {
            break; // closed, or the worker takes too long
        }
        buffer = std::move(*got);
        std::printf("%s\n", buffer.c_str());
    }
    QCoreApplication::quit();
}

int main(int argc, char** argv) {
    const QCoreApplication application(argc, argv);
    buffers swap;
    QThread thread;
    tryst::qt::executor here;
    tryst::qt::executor worker(&thread);
    here.spawn(show(swap));
    worker.spawn(fill(swap));
    thread.start();
    const int status = QCoreApplication::exec();
    thread.quit();
    thread.wait(); // then the worker's executor may be destroyed here
    return status;
}
