// SPDX-License-Identifier: MIT
/// @file
/// A redis-server of the test's own, on a Unix socket in a temporary directory.
/// POSIX.
#pragma once

#include "redis/resp.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tryst::test {

/// Returns `result` unless it is -1.
inline int checked_call(int result, const char* call) {
    if (result == -1) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return result;
}

/// A directory that goes with its object. Its path is short enough for a Unix socket in it.
class temporary_directory {
public:
    temporary_directory() {
        std::array<char, 32> name{"/tmp/tryst-redis-XXXXXX"};
        if (!::mkdtemp(name.data())) {
            throw std::system_error(errno, std::generic_category(), "mkdtemp");
        }
        path_ = name.data();
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string file(const std::string& name) const { return path_ + '/' + name; }

private:
    std::string path_;
};

/// A TCP port of 127.0.0.1, reserved while its object lives: the system gives it to nobody else.
/// Nobody listens there, but a server that sets SO_REUSEADDR may.
class bound_port {
public:
    bound_port()
        : socket_(checked_call(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
        const int yes = 1;
        checked_call(::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes),
                     "setsockopt");
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof where;
        auto* const generic = reinterpret_cast<sockaddr*>(&where);
        checked_call(::bind(socket_, generic, size), "bind");
        checked_call(::getsockname(socket_, generic, &size), "getsockname");
        number_ = ntohs(where.sin_port);
    }
    bound_port(const bound_port&) = delete;
    bound_port& operator=(const bound_port&) = delete;
    ~bound_port() { ::close(socket_); }

    int number() const { return number_; }

private:
    int socket_;
    int number_ = 0;
};

/// A child process, killed at the end, also if this process dies first.
class child_process {
public:
    /// @param output  the file for what the program prints.
    child_process(const std::vector<std::string>& words, const std::string& output) {
        std::vector<char*> arguments;
        arguments.reserve(words.size() + 1);
        for (const std::string& word : words) {
            arguments.push_back(const_cast<char*>(word.c_str()));
        }
        arguments.push_back(nullptr);
        const pid_t parent = ::getpid();
        id_ = checked_call(::fork(), "fork");
        if (id_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const int log = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (::getppid() == parent && log != -1 && ::dup2(log, 1) != -1 &&
                ::dup2(log, 2) != -1) {
                ::execvp(arguments[0], arguments.data());
            }
            ::_exit(127);
        }
    }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process() {
        if (id_ != 0) {
            ::kill(id_, SIGKILL);
            wait();
        }
    }

    void signal(int number) const { checked_call(::kill(id_, number), "kill"); }

    bool has_exited() {
        if (id_ != 0 && ::waitpid(id_, &status_, WNOHANG) == id_) {
            id_ = 0;
        }
        return id_ == 0;
    }

    /// @returns the status, as of waitpid(2).
    int wait() {
        while (id_ != 0 && ::waitpid(id_, &status_, 0) == -1 && errno == EINTR) {
        }
        id_ = 0;
        return status_;
    }

private:
    pid_t id_ = 0; ///< 0 if it has ended.
    int status_ = 0;
};

inline sockaddr_un unix_address(const std::string& path) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    path.copy(where.sun_path, sizeof where.sun_path - 1);
    return where;
}

/// A reply's text: that of a string, error or number, or of its elements, each followed by a space.
inline std::string text_of(const redis::detail::reply& from) {
    std::string all(from.text);
    for (const redis::detail::reply& element : from.elements) {
        all += text_of(element) + ' ';
    }
    return all;
}

/// What a `redis_server` is to be.
struct redis_settings {
    std::vector<std::string> arguments = {}; ///< More arguments of redis-server.
    std::string password = {}; ///< Of the user `default`.
    bool tcp = false; ///< Whether to listen on a TCP port of 127.0.0.1, too.
    bool tls = false; ///< Whether to listen with TLS on that port.
};

/// A redis-server of the test's own. It does not save its data, unless the arguments say so.
class redis_server {
public:
    explicit redis_server(redis_settings settings = {}) : settings_(std::move(settings)) {
        if (settings_.tls) {
            make_certificate("server");
            make_certificate("client");
        }
        start();
    }

    /// Starts the server again after `kill`, in the same directory and at the same addresses.
    void start() {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        while (!try_start()) {
            if (std::chrono::steady_clock::now() > limit) {
                throw std::runtime_error("redis-server does not start: " + log());
            }
        }
    }

    /// Ends the server at once, as a crash does.
    void kill() { process_ = nullptr; }
    /// The server stops answering; the kernel still accepts connections and bytes for it.
    void suspend() { process_->signal(SIGSTOP); }
    void resume() { process_->signal(SIGCONT); }

    std::string socket() const { return directory_.file("redis.sock"); }
    /// The TCP port. Precondition: `tcp` or `tls` was set.
    int port() const { return port_.number(); }
    std::string host_and_port() const { return "127.0.0.1:" + std::to_string(port()); }
    std::string unix_url() const { return "unix://" + credentials() + socket(); }
    std::string tcp_url() const { return "redis://" + credentials() + host_and_port(); }

    std::string certificate(const std::string& name) const {
        return directory_.file(name + ".crt");
    }
    std::string key(const std::string& name) const { return directory_.file(name + ".key"); }

    std::string log() const {
        std::ifstream file(directory_.file("log"));
        return {std::istreambuf_iterator<char>(file), {}};
    }

    /// Executes a command.
    /// @returns the text of its reply: strings, errors, numbers, and the elements of an array, each
    /// followed by a space.
    std::string command(const std::vector<std::string>& words) const {
        const int socket = checked_call(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        const std::unique_ptr<const int, void (*)(const int*)> closer(
            &socket, [](const int* open) { ::close(*open); });
        const sockaddr_un where = unix_address(this->socket());
        checked_call(::connect(socket, reinterpret_cast<const sockaddr*>(&where), sizeof where),
                     "connect to redis-server");
        redis::detail::reply_reader replies(std::size_t{64} << 20);
        if (!settings_.password.empty()) {
            execute(socket, replies, {"AUTH", settings_.password});
        }
        return execute(socket, replies, words);
    }

private:
    static std::string execute(int socket, redis::detail::reply_reader& replies,
                               const std::vector<std::string>& words) {
        std::string request;
        redis::detail::append_command(request,
                                      std::vector<std::string_view>(words.begin(), words.end()));
        for (std::string_view rest = request; !rest.empty();) {
            const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
            rest.remove_prefix(
                static_cast<std::size_t>(checked_call(static_cast<int>(sent), "send")));
        }
        for (;;) {
            if (const redis::detail::reply* const got = replies.next()) {
                return text_of(*got);
            }
            const std::span<char> space = replies.space();
            const ssize_t count = ::recv(socket, space.data(), space.size(), 0);
            if (count <= 0) {
                return "no reply";
            }
            replies.add(static_cast<std::size_t>(count));
        }
    }

    bool has_tcp() const { return settings_.tcp || settings_.tls; }

    std::string credentials() const {
        return settings_.password.empty() ? "" : ':' + settings_.password + '@';
    }

    /// @returns false if the server has ended.
    bool try_start() {
        const std::string port = has_tcp() ? std::to_string(port_.number()) : "0";
        std::vector<std::string> words{"redis-server",
                                       "--unixsocket",
                                       socket(),
                                       "--dir",
                                       directory_.file("."),
                                       "--save",
                                       "",
                                       "--bind",
                                       "127.0.0.1",
                                       "--logfile",
                                       "",
                                       "--port",
                                       settings_.tls ? "0" : port};
        if (settings_.tls) {
            words.insert(words.end(), {"--tls-port", port, "--tls-cert-file", certificate("server"),
                                       "--tls-key-file", key("server"), "--tls-ca-cert-file",
                                       certificate("client")});
        }
        if (!settings_.password.empty()) {
            words.insert(words.end(), {"--requirepass", settings_.password});
        }
        words.insert(words.end(), settings_.arguments.begin(), settings_.arguments.end());
        process_ = std::make_unique<child_process>(words, directory_.file("log"));
        while (!process_->has_exited()) {
            if (answers()) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2)); // polls
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50)); // polls
        return false;
    }

    bool answers() const {
        try {
            return command({"PING"}) == "PONG";
        } catch (const std::system_error&) {
            return false;
        }
    }

    /// Makes a certificate for localhost that is signed with its own key.
    void make_certificate(const std::string& name) {
        child_process openssl({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "36500", "-subj",
                               "/CN=" + name, "-addext",
                               "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key(name),
                               "-out", certificate(name)},
                              directory_.file("log"));
        if (openssl.wait() != 0) {
            throw std::runtime_error("openssl: " + log());
        }
    }

    redis_settings settings_;
    temporary_directory directory_;
    bound_port port_;
    std::unique_ptr<child_process> process_;
};

} // namespace tryst::test
