// SPDX-License-Identifier: MIT
/// @file
/// Doubly linked lists of objects that contain their own links.
/// Standard library only. Never allocates or throws. Not thread-safe.
#pragma once

#include <utility>

namespace tryst::detail {

/// A base class of the elements of a `linked_list<T>` or `linked_queue<T>`.
template <class T>
struct list_links {
    T* following = nullptr;
    T** incoming = nullptr; ///< The pointer to this in the list; null outside it.

    bool is_linked() const noexcept { return incoming != nullptr; }

private:
    friend T;
    list_links() = default;
};

template <class T>
class linked_queue;

template <class T>
class linked_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }

    /// The element that was added last; null if there is none.
    T* front() const noexcept { return first_; }

    void push_front(T& element) noexcept {
        element.following = first_;
        element.incoming = &first_;
        if (first_ != nullptr) {
            first_->incoming = &element.following;
        }
        first_ = &element;
    }

    static void remove(T& element) noexcept {
        *element.incoming = element.following;
        if (element.following != nullptr) {
            element.following->incoming = element.incoming;
        }
        element.incoming = nullptr;
    }

private:
    friend linked_queue<T>;
    T* first_ = nullptr;
};

/// As above, first in, first out.
template <class T>
class linked_queue {
public:
    linked_queue() = default;
    linked_queue(linked_queue&&) = delete;

    bool empty() const noexcept { return first_ == nullptr; }

    /// The element that was added first; null if there is none.
    T* front() const noexcept { return first_; }

    void push_back(T& element) noexcept {
        element.following = nullptr;
        element.incoming = end_;
        *end_ = &element;
        end_ = &element.following;
    }

    void push_front(T& element) noexcept {
        element.following = first_;
        element.incoming = &first_;
        (first_ != nullptr ? first_->incoming : end_) = &element.following;
        first_ = &element;
    }

    /// `element` may also be in a list that this queue was moved to.
    void remove(T& element) noexcept {
        if (end_ == &element.following) {
            end_ = element.incoming;
        }
        linked_list<T>::remove(element);
    }

    /// Moves all elements to the front of `to`, in their order.
    void move_to(linked_list<T>& to) noexcept {
        if (first_ == nullptr) {
            return;
        }
        *end_ = to.first_;
        if (to.first_ != nullptr) {
            to.first_->incoming = end_;
        }
        to.first_ = std::exchange(first_, nullptr);
        to.first_->incoming = &to.first_;
        end_ = &first_;
    }

private:
    T* first_ = nullptr;
    T** end_ = &first_; ///< The null pointer at the end.
};

} // namespace tryst::detail
