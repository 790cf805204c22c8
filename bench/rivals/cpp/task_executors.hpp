// SPDX-License-Identifier: MIT
/// @file
/// The family of tryst's tasks on Asio's contexts.
#pragma once

#include "io_contexts.hpp"
#include "run_loops.hpp"

#include <memory>
#include <vector>

namespace tryst::bench {

class task_executors : public contexts {
public:
    using bodies = coroutine_bodies<task_executors>;
    using task = tryst::task<>;

    explicit task_executors(unsigned count) : contexts(count) {
        for (unsigned i = 0; i != count; ++i) {
            executors_.push_back(std::make_unique<asio::task_executor<executor>>((*this)[i]));
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
    std::vector<std::unique_ptr<asio::task_executor<executor>>> executors_;
};

} // namespace tryst::bench
