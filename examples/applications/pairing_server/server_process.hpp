// SPDX-License-Identifier: MIT
/// @file
/// A pairing_server of one's own, for the load test.
/// POSIX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace pairing {

/// Runs the binary on a port that is free.
class server_process {
public:
    /// @throws std::runtime_error if it does not begin to listen.
    server_process(const std::string& binary, const std::vector<std::string>& options);
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;
    ~server_process();

    std::uint16_t port() const noexcept { return port_; }

    /// The most memory that it has had resident, in bytes.
    std::size_t peak_memory() const;

    /// Asks it to end by SIGTERM, and waits.
    /// @returns whether it ended well.
    bool stop();

private:
    struct closer {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };

    pid_t process_ = 0;
    std::unique_ptr<std::FILE, closer> output_; ///< Open to the end, for what it prints last.
    std::uint16_t port_ = 0;
};

} // namespace pairing
