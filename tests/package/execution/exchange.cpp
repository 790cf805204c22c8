#include <tryst/execution.hpp>
#include <tryst/tryst.hpp>

#include <stdexec/execution.hpp>

int main() {
    tryst::exchanger<int> ex;
    auto [ours, theirs] = stdexec::sync_wait(stdexec::when_all(tryst::as_sender(ex.exchange(1)),
                                                               tryst::as_sender(ex.exchange(2))))
                              .value();
    return *ours == 2 && *theirs == 1 ? 0 : 1;
}
