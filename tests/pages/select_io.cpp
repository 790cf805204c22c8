// SPDX-License-Identifier: MIT
// What docs/select.md says of I/O, and a race between reads and a command that ends them. Each byte
// must be received, kept by the reader, or left in the pipe.
#include "context.hpp"

#include <tryst/uring.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace uring = tryst::uring;
using chunk_channel = tryst::synchronous_channel<std::string>;
using command_channel = tryst::synchronous_channel<char>;

/// Sends what it reads, until the end of the file, an error, or the stop.
/// @returns the bytes that it has read and nobody has received.
tryst::task<std::string> read_chunks(uring::context& loop, int file, chunk_channel& chunks,
                                     std::stop_token stop) {
    std::string unsent;
    while (unsent.empty()) {
        std::string chunk(16, '\0');
        const auto size = co_await loop.read(file, std::as_writable_bytes(std::span(chunk)),
                                             uring::current_position, stop);
        if (!size || *size == 0) {
            break;
        }
        chunk.resize(*size);
#include "docs/select.md/5"
    }
    chunks.close();
    co_return unsent;
}

/// Receives chunks until there are no more, or a command comes, which stops the reader.
tryst::task<> receive_chunks(chunk_channel& chunks, command_channel& commands,
                             std::stop_source& stop, std::string& received) {
    for (;;) {
#include "docs/select.md/4"
        const auto chunk = std::move(got).get<0>();
        if (!chunk) {
            co_return; // the reader has closed the channel
        }
        received += *chunk;
    }
}

std::string rest_of(int file) {
    ::fcntl(file, F_SETFL, O_NONBLOCK);
    std::string rest(4096, '\0');
    const ssize_t size = ::read(file, rest.data(), rest.size());
    rest.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return rest;
}

/// Writes 26 letters to a pipe, one by one, and gives the command after `before` of them.
bool loses_nothing(std::size_t before) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return false;
    }
    const uring::descriptor reader(ends[0]);
    const uring::descriptor writer(ends[1]);
    chunk_channel chunks;
    command_channel commands;
    std::stop_source stop;
    std::string received;
    std::string written;
    uring::context loop;
    loop.spawn(receive_chunks(chunks, commands, stop, received));
    std::thread other([&] {
        for (char letter = 'a'; letter <= 'z'; ++letter) {
            if (written.size() == before) {
                static_cast<void>(tryst::sync_wait(commands.send('q')));
            }
            written += letter;
            static_cast<void>(::write(writer.get(), &letter, 1));
        }
    });
    const std::string unsent = loop.run(read_chunks(loop, reader.get(), chunks, stop.get_token()));
    other.join();
    return received + unsent + rest_of(reader.get()) == written;
}

int main() {
    try {
        for (std::size_t round = 0; round != 260; ++round) {
            if (!loses_nothing(round % 26)) {
                std::puts("bytes were lost");
                return EXIT_FAILURE;
            }
        }
    } catch (const std::system_error& error) {
        std::printf("no io_uring here: %s\n", error.what());
        return 77;
    }
    return EXIT_SUCCESS;
}
