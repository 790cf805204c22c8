#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <boost/fiber/fiber.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

using namespace std::chrono_literals;

int main() {
    tryst::exchanger<std::string> ex;
    const auto meet = [&ex](std::string mine) {
        auto got = tryst::fiber::wait(ex.exchange(std::move(mine), 10s)); // suspends the fiber
        std::cout << "got " << (got ? *got : "no partner") << '\n';
    };
    boost::fibers::fiber a(meet, "a");
    boost::fibers::fiber b(meet, "b");
    a.join();
    b.join();
}
