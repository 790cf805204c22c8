// SPDX-License-Identifier: MIT
/// @file
/// A loop over io_uring: an executor on which coroutines do I/O without blocking its thread.
/// Standard library only; only the compiled part uses liburing.
#pragma once

#include <tryst/detail/run/event_loop.hpp>
#include <tryst/executor.hpp>
#include <tryst/uring/buffer_pool.hpp>
#include <tryst/uring/context_options.hpp>
#include <tryst/uring/descriptor.hpp>
#include <tryst/uring/limits.hpp>
#include <tryst/uring/operation.hpp>
#include <tryst/uring/result.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace tryst::uring {

/// An offset for reads and writes that uses the file's own position and advances it. Pass it for
/// pipes, sockets and terminals.
inline constexpr std::uint64_t current_position = ~std::uint64_t{0};

/// A single-threaded executor over one io_uring: like a `run_loop`, with I/O operations.
///
/// `spawn`, `post`, `stop` and `executor` may be called from any thread. The context is bound to
/// the first thread that runs it. Operations must be awaited on that thread, and frames that wait
/// for them must be destroyed there.
///
/// When `run` returns, nothing is in flight: operations in flight are cancelled, and start again if
/// the context runs again (except `connect`, which ends with `operation_canceled`). So another
/// thread may destroy a context once `run` has returned. `run_until_idle` leaves operations in
/// flight; after it, only the context's own thread may destroy the context.
///
/// The destructor destroys the frames of all spawned tasks that have not finished. Nothing else
/// that waits on the context may outlive it.
class [[gnu::visibility("default")]] context : public tryst::detail::event_loop<context> {
    using base = tryst::detail::event_loop<context>;
    friend base;

public:
    /// Sets up a ring with the best features that the kernel has, such as a single issuer and
    /// deferred task work.
    /// @throws std::system_error with the name of the failed call: "eventfd", "pthread_atfork", or
    ///   "io_uring_setup" with the setting or limit that forbids it; std::bad_alloc.
    explicit context(context_options options = {});
    ~context();

    /// Runs until stopped; sleeps in the kernel while there is nothing to do.
    /// @returns the number of nodes that it ran: resumptions, calls of `stop`, and the library's
    ///   own checks of waiting operations.
    /// @throws std::system_error if another thread ran the context before, or if its first run
    ///   cannot enable the ring.
    std::size_t run();
    using base::run; ///< `run(work)`: runs until `work` has finished, and returns its result.

    /// Runs until nothing is ready, without sleeping. Serves due timers and completed operations,
    /// too. A `stop` among this work takes effect in the next `run`.
    /// @returns the number of nodes that it has run.
    /// @throws as `run`.
    std::size_t run_until_idle();

    /// Registers a pool's memory with the kernel, so that the kernel need not look up its pages for
    /// each `read_fixed` and `write_fixed`. Call it before the context runs, or on the context. At
    /// most `max_pools` pools can be registered; registering one again does nothing. The memory
    /// stays locked until `unregister_buffers` or the destruction of the context, even if the pool
    /// is destroyed before that.
    /// @returns an error if too little memory may be locked (ENOMEM, see `ulimit -l`), if
    ///   `max_pools` pools are registered (ENOSPC), or if the kernel is too old. The pool's buffers
    ///   can then be used like any other memory.
    result<void> register_buffers(const buffer_pool& pool) noexcept;

    /// Undoes `register_buffers`: the pool may be destroyed before the context, and another one
    /// registered in its place. Call it before the context runs, or on the context. The
    /// memory is unlocked at once, or in a later turn of the context if the kernel still has to
    /// free an operation that has completed. Operations made with this pool's buffers and not yet
    /// awaited fail with EFAULT.
    /// @returns an error if the pool is not registered (ENOENT), or if an operation still uses it
    ///   (EBUSY: await that first); then nothing has changed.
    result<void> unregister_buffers(const buffer_pool& pool) noexcept;
    static constexpr unsigned max_pools = 16; ///< The maximum number of registered pools.

    /// The flags of io_uring_setup(2) that the kernel accepted.
    unsigned setup_flags() const noexcept;

    // ---- Operations. All give a `result`; see `operation` for exceptions, resumption,
    // cancellation, synchronization and allocation. Transfers may be shorter than requested, as in
    // the system calls; 0 bytes mean the end of a file or a stream. If the kernel is too old for an
    // operation, it fails with `function_not_supported`.
    //
    // `limit` stands for what can end the operation early: at most one time limit and one
    // `std::stop_token`, in either order, or one object of the class `limits`. A duration begins
    // when the operation is made: `recv(socket, into, 0, 5ms, stop)`.

    /// Makes a round trip to the kernel, and does nothing.
    operation<void> nop(auto... limit) noexcept {
        return make<void>(opcode::nop, {std::move(limit)...});
    }

    /// pread(2), or read(2) at the `current_position`.
    operation<std::size_t> read(int file, std::span<std::byte> into,
                                std::uint64_t offset = current_position, auto... limit) noexcept {
        return transfer(opcode::read, file, into, offset, {std::move(limit)...});
    }

    /// pwrite(2), or write(2) at the `current_position`.
    operation<std::size_t> write(int file, std::span<const std::byte> from,
                                 std::uint64_t offset = current_position, auto... limit) noexcept {
        return transfer(opcode::write, file, from, offset, {std::move(limit)...});
    }

    /// As `read`, into a part of `whole`. Uses the registration of its pool if there is one.
    operation<std::size_t> read_fixed(int file, const buffer& whole, std::span<std::byte> into,
                                      std::uint64_t offset = current_position,
                                      auto... limit) noexcept {
        return transfer_fixed(opcode::read_fixed, file, whole, into, offset, {std::move(limit)...});
    }

    /// As `write`, from a part of `whole`. Uses the registration of its pool if there is one.
    operation<std::size_t> write_fixed(int file, const buffer& whole,
                                       std::span<const std::byte> from,
                                       std::uint64_t offset = current_position,
                                       auto... limit) noexcept {
        return transfer_fixed(opcode::write_fixed, file, whole, from, offset,
                              {std::move(limit)...});
    }

    /// fsync(2), or fdatasync(2) if `data_only`.
    operation<void> fsync(int file, bool data_only = false, auto... limit) noexcept {
        return make<void>({opcode::fsync, file, 0, 0, data_only}, {std::move(limit)...});
    }

    /// openat(2), with O_CLOEXEC; `directory` may be AT_FDCWD.
    operation<descriptor> openat(int directory, const char* path, int flags, mode_t mode = 0,
                                 auto... limit) noexcept {
        return make<descriptor>({opcode::openat, directory, path, mode, flags | O_CLOEXEC},
                                {std::move(limit)...});
    }

    /// close(2) without blocking. The file is closed even if this is cancelled or never awaited.
    close_operation close(descriptor file, auto... limit) noexcept {
        return {*reactor_, {opcode::close, file.release()}, {std::move(limit)...}};
    }

    /// accept4(2), with SOCK_CLOEXEC. For many connections, see `accept_stream`.
    operation<descriptor> accept(int listener, auto... limit) noexcept {
        return make<descriptor>({opcode::accept, listener, 0, 0, int{SOCK_CLOEXEC}},
                                {std::move(limit)...});
    }

    /// connect(2).
    operation<void> connect(int socket, const sockaddr* address, socklen_t length,
                            auto... limit) noexcept {
        return make<void>({opcode::connect, socket, address, 0, 0, length}, {std::move(limit)...});
    }

    /// send(2), with MSG_NOSIGNAL: if the peer has closed, this fails with EPIPE and raises no
    /// signal.
    operation<std::size_t> send(int socket, std::span<const std::byte> from, int flags = 0,
                                auto... limit) noexcept {
        return make<std::size_t>(
            {opcode::send, socket, from.data(), length_of(from.size()), flags | MSG_NOSIGNAL},
            {std::move(limit)...});
    }

    /// recv(2).
    operation<std::size_t> recv(int socket, std::span<std::byte> into, int flags = 0,
                                auto... limit) noexcept {
        return make<std::size_t>({opcode::recv, socket, into.data(), length_of(into.size()), flags},
                                 {std::move(limit)...});
    }

    /// Waits until `file` is ready for one of `events`, as in poll(2). Use it for files with
    /// O_NONBLOCK, on which reads and writes may fail with EAGAIN.
    /// @returns the events.
    operation<unsigned> poll(int file, short events, auto... limit) noexcept {
        return make<unsigned>({opcode::poll, file, 0, 0, static_cast<std::uint16_t>(events)},
                              {std::move(limit)...});
    }

    /// Succeeds when its time limit is over. Uses a timer of the loop; only the earliest timer is
    /// passed to the kernel. Without a time limit, it waits for a stop.
    operation<void> timeout(auto limit, auto... other) noexcept {
        return make<void>(opcode::timeout, {std::move(limit), std::move(other)...});
    }

    // ---- Several buffers, messages.

    /// preadv(2), or readv(2) at the `current_position`. `into` and the memory it refers to must
    /// remain valid until this is over.
    operation<std::size_t> readv(int file, std::span<const iovec> into,
                                 std::uint64_t offset = current_position, auto... limit) noexcept {
        return transfer(opcode::readv, file, into, offset, {std::move(limit)...});
    }

    /// pwritev(2), or writev(2) at the `current_position`. `from` and the memory it refers to must
    /// remain valid until this is over.
    operation<std::size_t> writev(int file, std::span<const iovec> from,
                                  std::uint64_t offset = current_position, auto... limit) noexcept {
        return transfer(opcode::writev, file, from, offset, {std::move(limit)...});
    }

    /// sendmsg(2), with MSG_NOSIGNAL. `message` and the memory it refers to must remain valid until
    /// this is over.
    operation<std::size_t> sendmsg(int socket, const msghdr* message, int flags = 0,
                                   auto... limit) noexcept {
        return make<std::size_t>({opcode::sendmsg, socket, message, 1, flags | MSG_NOSIGNAL},
                                 {std::move(limit)...});
    }

    /// recvmsg(2). The kernel sets the lengths and flags in `message`. It and the memory it refers
    /// to must remain valid until this is over. If this is cancelled, `message` is unchanged.
    operation<std::size_t> recvmsg(int socket, msghdr* message, int flags = 0,
                                   auto... limit) noexcept {
        return make<std::size_t>({opcode::recvmsg, socket, message, 1, flags},
                                 {std::move(limit)...});
    }

    /// splice(2): moves at most `length` bytes between two files, one of which must be a pipe. The
    /// pipe's offset must be the `current_position`. While it waits, it occupies one of the
    /// kernel's threads.
    /// @returns the number of bytes; 0 at the end of the input.
    operation<std::size_t> splice(int from, std::uint64_t from_offset, int into,
                                  std::uint64_t into_offset, std::size_t length, unsigned flags = 0,
                                  auto... limit) noexcept {
        // A request has 16 bits left for the flags. The kernel knows four flags, refuses others.
        return make<std::size_t>({opcode::splice, into, from_offset, length_of(length), from,
                                  into_offset, flags < 0xffff ? flags : 0xffff},
                                 {std::move(limit)...});
    }

    // ---- Directories, properties of files, set-up and shutdown of sockets. Paths must remain
    // valid until the operation is over; a directory may be AT_FDCWD.

    /// statx(2): writes the fields in `mask` to `status`, which must remain valid until this is
    /// over.
    operation<void> statx(int directory, const char* path, int flags, unsigned mask,
                          struct ::statx* status, auto... limit) noexcept {
        return make<void>({opcode::statx, directory, path, mask, flags, status},
                          {std::move(limit)...});
    }

    /// unlinkat(2); with AT_REMOVEDIR for a directory.
    operation<void> unlinkat(int directory, const char* path, int flags = 0,
                             auto... limit) noexcept {
        return make<void>({opcode::unlinkat, directory, path, 0, flags}, {std::move(limit)...});
    }

    /// renameat2(2).
    operation<void> renameat(int from_directory, const char* from, int to_directory, const char* to,
                             unsigned flags = 0, auto... limit) noexcept {
        return make<void>({opcode::renameat, from_directory, from, to_directory, flags, to},
                          {std::move(limit)...});
    }

    /// mkdirat(2).
    operation<void> mkdirat(int directory, const char* path, mode_t mode, auto... limit) noexcept {
        return make<void>({opcode::mkdirat, directory, path, mode}, {std::move(limit)...});
    }

    /// fallocate(2), of `length` bytes at `offset`.
    operation<void> fallocate(int file, int mode, std::uint64_t offset, std::uint64_t length,
                              auto... limit) noexcept {
        return make<void>({opcode::fallocate, file, length, mode, 0, offset},
                          {std::move(limit)...});
    }

    /// shutdown(2). Operations that wait for the socket, such as a `recv`, end.
    operation<void> shutdown(int socket, int how, auto... limit) noexcept {
        return make<void>({opcode::shutdown, socket, 0, how}, {std::move(limit)...});
    }

    /// socket(2), with SOCK_CLOEXEC.
    operation<descriptor> socket(int domain, int type, int protocol = 0, auto... limit) noexcept {
        return make<descriptor>({opcode::socket, domain, 0, protocol, 0, type | SOCK_CLOEXEC},
                                {std::move(limit)...});
    }

private:
    using opcode = detail::opcode;
    friend class accept_stream;
    friend class recv_stream;

    template <class T>
    operation<T> make(const detail::request& what, limits&& until) noexcept {
        return {*reactor_, what, std::move(until)};
    }

    /// @tparam Item  bytes, or `iovec`s
    template <class Item>
    operation<std::size_t> transfer(opcode code, int file, std::span<Item> items,
                                    std::uint64_t offset, limits&& until,
                                    unsigned registration = 0) noexcept {
        return make<std::size_t>(
            {code, file, items.data(), length_of(items.size()), 0, offset, registration},
            std::move(until));
    }

    operation<std::size_t> transfer_fixed(opcode code, int file, const buffer& whole,
                                          std::span<const std::byte> part, std::uint64_t offset,
                                          limits&& until) noexcept {
        assert(part.data() >= whole.data() &&
               part.data() + part.size() <= whole.data() + whole.size() &&
               "tryst: read_fixed and write_fixed need a part of the given buffer");
        const int registration = registration_of(whole.pool());
        if (registration < 0) {
            return transfer(code == opcode::read_fixed ? opcode::read : opcode::write, file, part,
                            offset, std::move(until));
        }
        return transfer(code, file, part, offset, std::move(until),
                        static_cast<unsigned>(registration));
    }

    /// Reduces `size` to 32 bits, the width of the kernel's lengths. The kernel transfers at most
    /// `most` bytes at once anyway (MAX_RW_COUNT). It refuses `most` `iovec`s, as it would refuse
    /// `size` of them.
    static std::size_t length_of(std::size_t size) noexcept {
        constexpr std::size_t most = 0x7fff'f000;
        return size < most ? size : most;
    }

    int registration_of(const buffer_pool* pool) const noexcept;

    // Required by `event_loop`.
    void deliver(executor_node* node) noexcept;
    executor_node* take_mail() noexcept;
    bool has_events() const noexcept;
    void fetch_events() noexcept;
    void claim();
    void run_to(const bool& ended) noexcept;
    void sleep() noexcept;
    void sleep_until(time_point deadline) noexcept;
    static time_point now() noexcept { return tryst::detail::clock::now(); }

    std::unique_ptr<detail::reactor> reactor_;
};

} // namespace tryst::uring
