// SPDX-License-Identifier: MIT
/// @file
/// The common part of executors that run one node at a time: a queue of ready nodes, and the
/// spawned tasks.
/// Standard library only.
#pragma once

#include <tryst/detail/run/linked_list.hpp>
#include <tryst/detail/run/root.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <cstddef>
#include <utility>

namespace tryst::detail {

/// The queue of a serial executor. Everything except `spawn` is for the thread that runs the
/// executor now; other threads post to an inbox beside the queue.
///
/// The `link` of a node is null if and only if the node is not in the queue. The first node's is
/// stale, so that a node that runs need not write to the next one. Rejected: to leave a retracted
/// node in the queue and skip it, because its frame is destroyed.
class serial_queue {
public:
    /// @param executor  whose queue this is.
    explicit serial_queue(executor_ref executor) noexcept : executor_(executor) {}
    serial_queue(serial_queue&&) = delete;

    executor_ref executor() const noexcept { return executor_; }

    bool empty() const noexcept { return head_ == nullptr; }

    /// Queues a node, first in, first out.
    void push(executor_node* node) noexcept {
        if (dying_) {
            discard(node);
            return;
        }
        node->next = nullptr;
        node->link = tail_;
        *tail_ = node;
        tail_ = &node->next;
    }

    /// Queues a list of nodes, such as the mail of an inbox.
    void append(executor_node* nodes) noexcept {
        while (nodes != nullptr) {
            push(std::exchange(nodes, nodes->next));
        }
    }

    /// Runs nodes until none is ready, `count` have been run, or `stop()` is true.
    /// @returns the number of nodes that it ran. Precondition: not empty.
    template <class Stop>
    std::size_t run_some(std::size_t count, Stop stop) noexcept {
        std::size_t done = 0;
        do {
            executor_node* const node = head_;
            head_ = node->next;
            if (head_ == nullptr) {
                tail_ = &head_;
            }
            node->link = nullptr;
            node->run(node);
            ++done;
        } while (done != count && !stop() && head_ != nullptr);
        return done;
    }

    /// Takes `node` out of the queue, in constant time, because a scope may end with any number of
    /// nodes in the queue. @returns false if it is not there.
    bool retract(executor_node* node) noexcept {
        if (node->run == nullptr) { // discarded
            return true;
        }
        if (node->link == nullptr) {
            return false;
        }
        executor_node** const link = node == head_ ? &head_ : node->link;
        *link = node->next;
        (node->next == nullptr ? tail_ : node->next->link) = link;
        node->link = nullptr;
        return true;
    }

    /// Makes a coroutine that owns `work`, which is spawned at `where`. This queue owns the
    /// coroutine once it has started.
    /// @returns a node that starts the coroutine; post it on the executor of this queue.
    executor_node* spawn(task<> work, location where) {
        spawned_task& made = tasks::own(*this, std::move(work)).release();
        made.spawned_at.set(where);
        made.run = start_;
        return &made;
    }

    /// Whether a spawned task has started and not finished.
    bool has_tasks() const noexcept { return !tasks_.empty(); }

    /// For the destruction of the executor: destroys the frames of all tasks, including those that
    /// are spawned meanwhile. From now on, no node runs. Call within an `ending_scope`.
    void dispose() noexcept {
        dying_ = true;
        executor_node* node = std::exchange(head_, nullptr);
        tail_ = &head_;
        while (node != nullptr) {
            discard(std::exchange(node, node->next));
        }
        while (!tasks_.empty()) {
            ended(*tasks_.front());
        }
    }

private:
    using tasks = root<serial_queue>;
    friend tasks;

    void ended(spawned_task& task) noexcept {
        tasks_.remove(task);
        tasks::coroutine(task).destroy();
    }

    static void start(executor_node* node) noexcept {
        auto& task = static_cast<spawned_task&>(*node);
        static_cast<tasks::promise_type&>(task).owner.tasks_.push_front(task);
        tasks::coroutine(task).resume();
    }

    /// Marks `node` as retracted, because it will not run. Not inlined: it is rarely called, and if
    /// g++ 12 sees that a node is not a task, it warns.
    [[gnu::noinline]] void discard(executor_node* node) noexcept {
        if (node->run == start_) {
            tasks_.push_front(static_cast<spawned_task&>(*node));
        }
        node->link = nullptr; // the node of a case set outlives this queue
        node->run = nullptr;
    }

    const executor_ref executor_;
    /// What each spawned task of this queue runs first. Kept here because a program and its shared
    /// libraries may have a copy each of the function.
    void (*const start_)(executor_node*) noexcept = start;
    executor_node* head_ = nullptr;
    executor_node** tail_ = &head_;
    linked_list<spawned_task> tasks_; ///< Those that have started.
    bool dying_ = false;
};

} // namespace tryst::detail
