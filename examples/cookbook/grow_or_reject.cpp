// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>
#include <utility>

using jobs = tryst::channel<std::string>;

tryst::task<> work(jobs& queue, std::string first) {
    std::cout << "did " << first << '\n';
    while (auto next = co_await queue.receive()) {
        std::cout << "did " << *next << '\n';
    }
}

// Never waits: the job is queued, or given to a new worker, or rejected.
void accept(jobs& queue, tryst::task_scope& workers, int& vacancies, std::string job) {
    auto sent = queue.try_send(std::move(job));
    if (!sent && vacancies > 0) {
        --vacancies;
        workers.spawn(work(queue, std::move(sent).returned()));
    } else if (!sent) {
        std::cout << "rejected " << sent.returned() << '\n';
    }
}

tryst::task<> run() {
    jobs queue(2);
    tryst::task_scope workers;
    int vacancies = 1;
    for (std::string job : {"1", "2", "3", "4"}) {
        accept(queue, workers, vacancies, std::move(job));
    }
    queue.close(); // what is queued is still done
    co_await workers.join();
}

int main() {
    tryst::run_loop().run(run());
}
