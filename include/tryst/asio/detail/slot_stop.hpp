// SPDX-License-Identifier: MIT
/// @file
/// A stop source that follows an Asio cancellation slot.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>

#include <cassert>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// Requests a stop when a signal of any type is emitted in the slot. The types mean the same here,
/// because a cancelled exchange has no effect. Like the signals of Asio, it is not
/// thread-safe: all use is on one executor. The destructor does not clear the slot; the code that
/// completes the operation does.
class slot_stop {
public:
    template <class Callback>
    class callback;

    /// The stop token that operations take. Copies refer to the same source.
    class token {
    public:
        template <class Callback>
        using callback_type = callback<Callback>;

        explicit token(slot_stop* source) noexcept : source_(source) {}
        bool stop_requested() const noexcept { return source_ != nullptr && source_->requested_; }
        bool stop_possible() const noexcept { return source_ != nullptr; }

    private:
        template <class Callback>
        friend class callback;
        slot_stop* source_;
    };

    template <class Callback>
    class callback {
    public:
        callback(token from, Callback call) noexcept
            : source_(from.source_), call_(std::move(call)) {
            if (source_ == nullptr) {
                return;
            }
            assert(source_->callback_ == nullptr &&
                   "tryst: an Asio stop token serves one operation at a time: await the first "
                   "before the next");
            source_->callback_ = this;
            source_->invoke_ = [](void* self) noexcept { static_cast<callback*>(self)->call_(); };
            if (source_->requested_) {
                call_();
            }
        }
        callback(const callback&) = delete;
        callback& operator=(const callback&) = delete;
        ~callback() {
            if (source_ != nullptr) {
                source_->callback_ = nullptr;
            }
        }

    private:
        slot_stop* source_;
        Callback call_;
    };

    explicit slot_stop(net::cancellation_slot slot) noexcept : slot_(slot) {}
    slot_stop(const slot_stop&) = delete;
    slot_stop& operator=(const slot_stop&) = delete;
    ~slot_stop() = default;

    /// Installs a handler in the slot. After that, call `clear` before the destructor, unless no
    /// more signals will be emitted. @throws std::bad_alloc.
    void listen() {
        if (slot_.is_connected()) {
            slot_.assign([this](net::cancellation_type_t type) {
                if (type != net::cancellation_type_t::none) {
                    request_stop();
                }
            });
        }
    }

    token get_token() noexcept { return token(slot_.is_connected() ? this : nullptr); }

    /// Removes the handler from the slot.
    void clear() noexcept { slot_.clear(); }

private:
    void request_stop() noexcept {
        if (!std::exchange(requested_, true) && callback_ != nullptr) {
            invoke_(callback_);
        }
    }

    net::cancellation_slot slot_;
    bool requested_ = false;
    void* callback_ = nullptr; // null if none; a source serves one operation at a time
    void (*invoke_)(void*) noexcept = nullptr;
};

} // namespace detail
TRYST_ASIO_END
