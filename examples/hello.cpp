#include <tryst/tryst.hpp>

#include <iostream>
#include <string>

tryst::task<> meet(tryst::exchanger<std::string>& ex, std::string mine) {
    auto got = co_await ex.exchange(std::move(mine));
    std::cout << "got " << *got << '\n';
}

int main() {
    tryst::run_loop loop;
    tryst::exchanger<std::string> ex;
    loop.spawn(meet(ex, "a"));
    loop.spawn(meet(ex, "b"));
    loop.run_until_idle();
}
