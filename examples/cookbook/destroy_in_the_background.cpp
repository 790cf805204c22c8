// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <memory>
#include <thread>
#include <utility>

struct index_file {
    ~index_file() { std::cout << "destroyed\n"; } // takes long
};

class disposer {
public:
    ~disposer() { trash_.close(); } // the thread destroys what is left; then it is joined

    void dispose(std::unique_ptr<index_file> old) noexcept {
        (void)trash_.try_send(std::move(old)); // without memory, it is destroyed here
    }

private:
    void run() {
        while (auto got = tryst::sync_wait(trash_.receive())) {
        } // `got` is destroyed here
    }

    tryst::channel<std::unique_ptr<index_file>> trash_{tryst::unlimited};
    std::jthread thread_{[this] { run(); }};
};

int main() {
    disposer background;
    auto current = std::make_unique<index_file>();
    background.dispose(std::exchange(current, std::make_unique<index_file>()));
    background.dispose(std::move(current));
}
