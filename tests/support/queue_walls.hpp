// SPDX-License-Identifier: MIT
/// @file
/// Nodes that nobody may look at, at both ends of an executor's queue: shows that something is done
/// without a search of the queue, however long that is.
#pragma once

#include <tryst/executor.hpp>

#include <array>
#include <cstddef>
#include <new>

#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tryst::test {

/// Memory of which nothing can be read while it is hidden. (On Windows it can.)
class hideable_page {
public:
    hideable_page() = default;
    hideable_page(const hideable_page&) = delete;
    hideable_page& operator=(const hideable_page&) = delete;
#ifdef _WIN32
    void* get() noexcept { return memory_.data(); }
    void hide() noexcept {}
    void show() noexcept {}

private:
    alignas(std::max_align_t) std::array<std::byte, 64> memory_;
#else
    ~hideable_page() { ::munmap(memory_, size_); }

    void* get() noexcept { return memory_; }
    void hide() noexcept { ::mprotect(memory_, size_, PROT_NONE); }
    void show() noexcept { ::mprotect(memory_, size_, PROT_READ | PROT_WRITE); }

private:
    std::size_t size_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* memory_ =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
};

/// Two nodes for each end of a queue. The outer one is hidden; the inner one may be the neighbour
/// of a node that leaves the queue.
class queue_walls {
public:
    queue_walls() {
        outer_[0] = ::new (pages_[0].get()) counted(runs_);
        outer_[1] = ::new (pages_[1].get()) counted(runs_);
    }
    queue_walls(const queue_walls&) = delete;
    queue_walls& operator=(const queue_walls&) = delete;

    /// Queue the nodes of one end. Call on the executor.
    void begin(executor_ref on) noexcept {
        on.post(outer_[0]);
        on.post(&inner_[0]);
    }
    void end(executor_ref on) noexcept {
        on.post(&inner_[1]);
        on.post(outer_[1]);
    }

    /// Calls `function` while the outer nodes are hidden: a look at one of them ends the program.
    template <class Function>
    void hidden_during(Function function) {
        pages_[0].hide();
        pages_[1].hide();
        function();
        pages_[0].show();
        pages_[1].show();
    }

    /// How many nodes have run.
    int runs() const noexcept { return runs_; }

private:
    struct counted : executor_node {
        explicit counted(int& runs) noexcept : count(&runs) {
            run = [](executor_node* node) noexcept { ++*static_cast<counted*>(node)->count; };
        }
        int* count;
    };

    int runs_ = 0;
    std::array<hideable_page, 2> pages_;
    std::array<counted, 2> inner_{counted(runs_), counted(runs_)};
    std::array<counted*, 2> outer_{};
};

} // namespace tryst::test
