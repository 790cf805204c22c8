#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <boost/fiber/fiber.hpp>

int main() {
    tryst::exchanger<int> ex;
    int theirs = 0;
    boost::fibers::fiber partner([&] { theirs = *tryst::fiber::wait(ex.exchange(1)); });
    const int ours = *tryst::fiber::wait(ex.exchange(2));
    partner.join();
    return ours == 1 && theirs == 2 ? 0 : 1;
}
