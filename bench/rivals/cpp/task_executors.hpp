// SPDX-License-Identifier: MIT
/// @file
/// The family of tryst's tasks on Asio.
#pragma once

#include "io_contexts.hpp"
#include "run_loops.hpp"

#include <memory>
#include <vector>

namespace tryst::bench {

template <class Place>
class task_executors : public Place {
public:
    using bodies = coroutine_bodies<task_executors>;
    using task = tryst::task<>;

    explicit task_executors(unsigned count, bool pinned = true) : Place(count, pinned) {
        for (unsigned i = 0; i != count; ++i) {
            executors_.push_back(std::make_unique<task_executor>(this->get_executor(i)));
        }
    }

    template <class Operation>
    static by_reference<Operation> wait(Operation&& operation) noexcept {
        return {operation};
    }
    template <class Start>
    void spawn(unsigned loop, Start start) {
        executors_[loop]->spawn(start());
    }

private:
    using task_executor = asio::task_executor<typename Place::executor>;

    std::vector<std::unique_ptr<task_executor>> executors_;
};

} // namespace tryst::bench
