// SPDX-License-Identifier: MIT
/// @file
/// Starts a pairing_server for the load test. POSIX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace pairing {

/// Runs the binary on a free port.
class server_process {
public:
    /// @throws std::runtime_error if the server cannot be started or does not listen.
    server_process(const std::string& binary, const std::vector<std::string>& options);
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;
    ~server_process();

    std::uint16_t port() const noexcept { return port_; }

    /// The peak resident memory, in bytes.
    std::size_t peak_memory() const;

    /// Sends SIGTERM and waits for the end of the process.
    /// @returns whether the exit status was 0.
    bool stop();

private:
    struct closer {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };

    pid_t process_ = 0;
    std::unique_ptr<std::FILE, closer> output_; ///< Stays open: the server prints until its end.
    std::uint16_t port_ = 0;
};

} // namespace pairing
