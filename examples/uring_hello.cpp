#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <array>
#include <exception>
#include <iostream>
#include <string_view>

#include <fcntl.h>

tryst::task<> print(tryst::uring::context& loop, const char* path) {
    const auto file = co_await loop.openat(AT_FDCWD, path, O_RDONLY);
    std::array<char, 64> text{};
    if (file) {
        const auto got = co_await loop.read(file->get(), std::as_writable_bytes(std::span(text)));
        std::cout << std::string_view(text.data(), got ? *got : 0);
    } else {
        std::cout << file.message() << '\n'; // openat: No such file or directory
    }
    loop.stop();
}

int main(int count, char** arguments) try {
    tryst::uring::context loop;
    loop.spawn(print(loop, count > 1 ? arguments[1] : "/proc/sys/kernel/osrelease"));
    loop.run();
} catch (const std::exception& problem) { // io_uring is missing or forbidden
    std::cerr << problem.what() << '\n';
    return 1;
}
