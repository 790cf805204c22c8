// SPDX-License-Identifier: MIT
//
// Copies a file by two loops on two threads: one reads, the other writes, and they swap buffers, full for
// empty. The kernel is told of the buffers once; after that nothing is allocated, copied or looked up.
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>

namespace {

namespace uring = tryst::uring;

/// A buffer on its way, and how much of it is full. Nothing: the file has ended.
struct piece {
    uring::buffer memory;
    std::size_t size = 0;
};
using meeting = tryst::exchanger<piece>;

tryst::task<> fill(uring::context& loop, int file, piece mine, meeting& ex) {
    std::uint64_t offset = 0;
    while (true) {
        const auto got = co_await loop.read_fixed(file, mine.memory, mine.memory.bytes(), offset);
        mine.size = got.value();
        offset += mine.size;
        const bool end = mine.size == 0;
        auto swapped = co_await ex.exchange(std::move(mine)); // full for empty
        if (end || !swapped) {
            break;
        }
        mine = std::move(*swapped);
    }
}

tryst::task<> drain(uring::context& loop, int file, piece mine, meeting& ex) {
    std::uint64_t offset = 0;
    while (true) {
        auto swapped = co_await ex.exchange(std::move(mine)); // empty for full
        if (!swapped || swapped->size == 0) {
            break;
        }
        mine = std::move(*swapped);
        for (auto rest = mine.memory.bytes().first(mine.size); !rest.empty();) {
            const auto put = co_await loop.write_fixed(file, mine.memory, rest, offset);
            offset += put.value();
            rest = rest.subspan(*put);
        }
    }
}

/// Runs a stage to its end. If it fails, its partner gets no other.
tryst::task<> run(uring::context& loop, tryst::task<> stage, meeting& ex, std::exception_ptr& why) {
    try {
        co_await std::move(stage);
    } catch (...) {
        why = std::current_exception();
        ex.close();
    }
    loop.stop();
}

uring::descriptor open_file(const char* path, int flags) {
    uring::descriptor file(::open(path, flags | O_CLOEXEC, 0666));
    if (!file) {
        throw std::system_error(errno, std::system_category(), path);
    }
    return file;
}

void copy(const char* from, const char* to) {
    const uring::descriptor source = open_file(from, O_RDONLY);
    const uring::descriptor target = open_file(to, O_WRONLY | O_CREAT | O_TRUNC);
    uring::buffer_pool pool(2, std::size_t{256} * 1024);
    meeting ex(0); // of two: one slot is enough
    std::exception_ptr reading;
    std::exception_ptr writing;
    uring::context reader;
    uring::context writer;
    for (uring::context* const each : {&reader, &writer}) {
        if (const auto told = each->register_buffers(pool); !told) {
            std::cerr << told.message() << ", so the kernel looks them up each time\n";
        }
    }
    reader.spawn(run(reader, fill(reader, source.get(), {pool.acquire()}, ex), ex, reading));
    writer.spawn(run(writer, drain(writer, target.get(), {pool.acquire()}, ex), ex, writing));
    std::thread other([&writer] { writer.run(); });
    reader.run();
    other.join();
    for (const std::exception_ptr& each : {reading, writing}) {
        if (each) {
            std::rethrow_exception(each);
        }
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: " << arguments[0] << " FROM TO\n";
        return 2;
    }
    try {
        copy(arguments[1], arguments[2]);
        return 0;
    } catch (const std::exception& problem) {
        std::cerr << arguments[0] << ": " << problem.what() << '\n';
        return 1;
    }
}
