#include <tryst/tryst.hpp>

#include <thread>

int main() {
    tryst::exchanger<int> ex;
    int theirs = 0;
    std::thread partner([&] { theirs = *tryst::sync_wait(ex.exchange(1)); });
    const int ours = *tryst::sync_wait(ex.exchange(2));
    partner.join();
    return ours == 1 && theirs == 2 ? 0 : 1;
}
