// SPDX-License-Identifier: MIT
/// @file
/// Cancels Asio operations through a `std::stop_token`.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>

#include <cassert>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN

/// A completion token that adds a stop token to another token; see `bind_stop_token`.
template <class Token>
struct stop_token_binder {
    std::stop_token stop; ///< Cancels the operation.
    Token token; ///< The completion token of the operation.
};

/// Makes a stop request cancel an operation:
/// `socket.async_read_some(buffer, bind_stop_token(stop, use_awaitable))`.
///
/// A stop may be requested on any thread. It is posted to the handler's associated executor, or to
/// the I/O object's executor if the handler has none, and emits a terminal cancellation there. As
/// for every cancellation in Asio, that executor must run one handler at a time, and the operation
/// must be initiated on it. `bind_stop_token` must know the executor, so it is applied outside
/// of `bind_executor`: `bind_stop_token(stop, bind_executor(executor, token))`. The handler's own
/// cancellation slot works as before.
///
/// A stop request after the completion has no effect. A context that is destroyed while a stop is
/// being requested on another thread waits for that request.
///
/// @returns    a completion token for any operation that `token` serves.
/// @allocation one shared state per operation, and the allocations of a post when a stop is
///             requested.
template <class Token>
auto bind_stop_token(std::stop_token stop, Token&& token) {
    return stop_token_binder<std::decay_t<Token>>{std::move(stop), std::forward<Token>(token)};
}

namespace detail {

/// Connects a stop token to an operation in progress. Everything except `request` runs on the
/// handler's executor.
template <class Executor>
class stop_link : public std::enable_shared_from_this<stop_link<Executor>> {
public:
    explicit stop_link(const Executor& executor)
        : executor_(executor), registry_(registry::of(executor)) {}

    void begin(std::stop_token stop, net::cancellation_slot own) {
        own_ = own;
        if (own_.is_connected()) {
            own_.assign([this](net::cancellation_type_t type) { signal_.emit(type); });
        }
        if (stop.stop_possible()) {
            callback_.emplace(std::move(stop), request{this});
        }
    }

    /// Disconnects the stop token. Waits for a request in progress on another thread.
    void forget() noexcept { callback_.reset(); }

    void end() noexcept {
        forget();
        own_.clear();
        ended_ = true;
    }

    net::cancellation_slot slot() noexcept { return signal_.slot(); }

private:
    struct request {
        stop_link* link;
        void operator()() const {
            // Null while the operation is being destroyed. The destructor waits for this call to
            // return.
            if (auto self = link->weak_from_this().lock()) {
                // Nothing may be posted to a scheduler that is being shut down.
                link->registry_.post_unless_ended([&self] { emit_later(std::move(self)); });
            }
        }
    };

    static void emit_later(std::shared_ptr<stop_link> self) {
        const Executor executor = self->executor_;
        net::post(executor, [self = std::move(self)] {
            if (!self->ended_) {
                self->signal_.emit(net::cancellation_type::terminal);
            }
        });
    }

    Executor executor_;
    registry& registry_; // used only until `forget`
    net::cancellation_signal signal_;
    net::cancellation_slot own_;
    bool ended_ = false;
    std::optional<std::stop_callback<request>> callback_;
};

/// A handler with the cancellation slot of a `stop_link`. `Io` is the executor for handlers without
/// one.
template <class Handler, class Io>
class stop_bound_handler {
    using executor = net::associated_executor_t<Handler, Io>;
    using link_type = stop_link<executor>;

public:
    using cancellation_slot_type = net::cancellation_slot;

    stop_bound_handler(Handler&& handler, const Io& io, std::stop_token stop)
        : handler_(std::move(handler)),
          link_(std::make_shared<link_type>(net::get_associated_executor(handler_, io))) {
        // Not a static_assert: Asio's concepts try each token with an initiation that has no
        // executor.
        assert((!std::is_same_v<executor, net::system_executor>) &&
               "tryst: bind_stop_token needs the handler's executor, which must not be the system "
               "executor: write bind_stop_token(stop, bind_executor(executor, token))");
        link_->begin(std::move(stop), net::get_associated_cancellation_slot(handler_));
    }
    stop_bound_handler(stop_bound_handler&&) = default;
    stop_bound_handler& operator=(stop_bound_handler&&) = delete;
    /// Waits for a request in progress, which must post before the context is destroyed.
    ~stop_bound_handler() {
        if (link_ != nullptr) {
            link_->forget();
        }
    }

    cancellation_slot_type get_cancellation_slot() const noexcept { return link_->slot(); }

    const std::shared_ptr<link_type>& link() const noexcept { return link_; }
    const Handler& target() const noexcept { return handler_; }

    template <class... Results>
    void operator()(Results&&... results) {
        std::exchange(link_, nullptr)->end();
        std::move(handler_)(std::forward<Results>(results)...);
    }

private:
    Handler handler_;
    std::shared_ptr<link_type> link_;
};

template <class Initiation>
struct stop_bound_initiation {
    using executor_type = net::associated_executor_t<Initiation, net::system_executor>;

    Initiation initiation;

    /// The I/O object's executor, if there is one.
    executor_type get_executor() const noexcept {
        return net::get_associated_executor(initiation, net::system_executor());
    }

    template <class Handler, class... Args>
    void operator()(Handler handler, std::stop_token stop, Args&&... args) && {
        stop_bound_handler<Handler, executor_type> bound(std::move(handler), get_executor(),
                                                         std::move(stop));
        const auto link = bound.link();
        try {
            std::move(initiation)(std::move(bound), std::forward<Args>(args)...);
        } catch (...) {
            link->end();
            throw;
        }
    }
};

/// The `return_type` that tokens such as `redirect_error` require of the tokens that they wrap.
template <class Result>
struct return_type_of {};
template <class Result>
    requires requires { typename Result::return_type; }
struct return_type_of<Result> {
    using return_type = typename Result::return_type;
};

} // namespace detail
TRYST_ASIO_END

/// @cond
/// All associations are those of the inner handler, except the cancellation slot.
template <template <class, class> class Associator, class Handler, class Io, class Default>
struct tryst::asio::net::associator<Associator,
                                    tryst::asio::detail::stop_bound_handler<Handler, Io>, Default>
    : Associator<Handler, Default> {
    static auto get(const tryst::asio::detail::stop_bound_handler<Handler, Io>& handler,
                    const Default& fallback = Default()) noexcept {
        return Associator<Handler, Default>::get(handler.target(), fallback);
    }
};

template <class Token, class... Signatures>
class tryst::asio::net::async_result<tryst::asio::stop_token_binder<Token>, Signatures...>
    : public tryst::asio::detail::return_type_of<
          tryst::asio::net::async_result<Token, Signatures...>> {
public:
    /// Takes the binder by value, because one binder may serve several operations.
    template <class Initiation, class... Args>
    static auto initiate(Initiation&& initiation, tryst::asio::stop_token_binder<Token> binder,
                         Args&&... args) {
        return tryst::asio::net::async_initiate<Token, Signatures...>(
            tryst::asio::detail::stop_bound_initiation<std::decay_t<Initiation>>{
                std::forward<Initiation>(initiation)},
            binder.token, std::move(binder.stop), std::forward<Args>(args)...);
    }
};
/// @endcond
