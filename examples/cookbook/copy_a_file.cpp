// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <exception>
#include <iostream>
#include <span>
#include <vector>

#include <fcntl.h>

tryst::task<> copy(tryst::uring::context& loop, const char* from, const char* to) {
    const auto source = co_await loop.openat(AT_FDCWD, from, O_RDONLY);
    const int in = source.value().get(); // throws if the file was not opened
    const auto target = co_await loop.openat(AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL, 0644);
    const int out = target.value().get();
    std::vector<std::byte> buffer(65536);
    std::size_t offset = 0;
    while (true) {
        const auto got = co_await loop.read(in, buffer, offset);
        if (got.value() == 0) {
            co_return; // the end of the file
        }
        for (auto rest = std::span(buffer).first(*got); !rest.empty();) {
            const auto put = co_await loop.write(out, rest, offset);
            offset += put.value();
            rest = rest.subspan(*put);
        }
    }
}

int main(int count, char** arguments) try {
    if (count != 3) {
        std::cerr << "usage: copy_a_file FROM TO\n";
        return 2;
    }
    tryst::uring::context loop;
    loop.run(copy(loop, arguments[1], arguments[2]));
    std::cout << "copied\n";
} catch (const std::exception& problem) { // of a file; or io_uring is missing or forbidden
    std::cerr << problem.what() << '\n';
    return 1;
}
