// SPDX-License-Identifier: MIT
#include "server_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace pairing {

server_process::server_process(const std::string& binary, const std::vector<std::string>& options) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "cannot create a pipe");
    }
    std::vector<std::string> words{binary};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& each : words) {
        arguments.push_back(each.data());
    }
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int failed =
        ::posix_spawn(&process_, binary.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_.reset(::fdopen(ends[0], "r"));
    if (failed != 0) {
        throw std::system_error(failed, std::generic_category(), "cannot run " + binary);
    }
    if (std::fscanf(output_.get(), "listening on %*s port %hu", &port_) != 1) {
        stop();
        throw std::runtime_error(binary + " did not start listening; its messages say why");
    }
}

server_process::~server_process() {
    stop();
}

std::size_t server_process::peak_memory() const {
    std::ifstream status("/proc/" + std::to_string(process_) + "/status");
    for (std::string word; status >> word;) {
        std::size_t kilobytes = 0;
        if (word == "VmHWM:" && status >> kilobytes) {
            return kilobytes * 1024;
        }
    }
    return 0;
}

bool server_process::stop() {
    if (process_ == 0) {
        return true;
    }
    ::kill(process_, SIGTERM);
    int status = 1;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace pairing
