// SPDX-License-Identifier: MIT
// Objects of the adapters, for printers_test.py. Macros say which adapters there are.
#include <tryst/tryst.hpp>

#ifdef TRYST_PRINT_ASIO
#include <asio/io_context.hpp>
#include <tryst/asio.hpp>
#endif
#ifdef TRYST_PRINT_LIBUV
#include <tryst/libuv.hpp>
#include <uv.h>
#endif
#ifdef TRYST_PRINT_URING
#include <system_error>
#include <tryst/uring/buffer_pool.hpp>
#include <tryst/uring/descriptor.hpp>
#include <tryst/uring/result.hpp>
#endif

extern "C" [[gnu::noinline]] void stop_here() {
    asm volatile("" ::: "memory");
}

namespace {

tryst::task<> nothing() {
    co_return;
}

} // namespace

#ifdef TRYST_PRINT_ASIO
asio::io_context context;
tryst::asio::task_executor asio_executor(context);
tryst::executor_ref on_asio = asio_executor.executor();
#endif
#ifdef TRYST_PRINT_LIBUV
tryst::libuv::executor uv_executor(uv_default_loop());
tryst::executor_ref on_libuv = uv_executor.executor();
#endif
#ifdef TRYST_PRINT_URING
tryst::uring::buffer_pool pool(4, 4096);
tryst::uring::buffer buffer = pool.acquire();
tryst::uring::buffer no_buffer;
tryst::uring::descriptor file(1);
tryst::uring::descriptor no_file;
tryst::uring::result<int> opened("open", 5);
tryst::uring::result<int> not_opened("open", std::make_error_code(std::errc::permission_denied));
tryst::uring::result<> closed("close");
#endif

int main() {
#ifdef TRYST_PRINT_ASIO
    asio_executor.spawn(nothing());
#endif
#ifdef TRYST_PRINT_LIBUV
    uv_executor.spawn(nothing());
#endif
    stop_here();
}
