// SPDX-License-Identifier: MIT
/// @file
/// A doubly linked list of objects that contain their own links.
/// Standard library only. Never allocates or throws. Not thread-safe.
#pragma once

namespace tryst::detail {

/// A base class of the elements of a `linked_list<T>`.
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
class linked_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }

    /// The element that was added last. Precondition: not empty.
    T& front() const noexcept { return *first_; }

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
    T* first_ = nullptr;
};

} // namespace tryst::detail
