// SPDX-License-Identifier: MIT
/// @file
/// A redis-server of the test's own, on a Unix socket in a temporary directory.
/// POSIX.
#pragma once

#include "redis/link.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#else
#include <asio/io_context.hpp>
#include <asio/write.hpp>
#endif

namespace tryst::test {

using local_stream = redis::net::local::stream_protocol;

/// Fails unless `part` occurs in `whole`.
inline void expect_part(const std::string& whole, const std::string& part) {
    EXPECT_NE(whole.find(part), whole.npos) << '"' << part << "\" is not in " << whole;
}

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
    bound_port() : socket_(context_, tcp::v4()) {
        socket_.set_option(tcp::socket::reuse_address(true));
        socket_.bind({redis::net::ip::address_v4::loopback(), 0});
    }

    std::string number() const { return std::to_string(socket_.local_endpoint().port()); }
    std::string host_and_port() const { return "127.0.0.1:" + number(); }

private:
    using tcp = redis::net::ip::tcp;

    redis::net::io_context context_;
    tcp::socket socket_;
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
            if (::getppid() == parent && ::dup2(log, 1) != -1 && ::dup2(log, 2) != -1) {
                ::close_range(3, ~0U, 0); // the sockets of this process
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

/// A reply's text: that of a string, error or number, or of its elements, each followed by a space.
inline std::string text_of(const redis::detail::reply& from) {
    std::string all(from.text);
    for (const redis::detail::reply& element : from.elements) {
        all += text_of(element) + ' ';
    }
    return all;
}

/// A redis-server of the test's own, on a Unix socket and on a TCP port of 127.0.0.1. It does not
/// save its data.
class redis_server {
public:
    enum class port_speaks : bool { plain, tls };

    /// @param arguments  more arguments of redis-server.
    explicit redis_server(const std::vector<std::string>& arguments = {},
                          port_speaks what = port_speaks::plain) {
        words_ = {"redis-server",       "--unixsocket", socket(), "--dir",
                  directory_.file("."), "--save",       "",       "--bind",
                  "127.0.0.1",          "--port"};
        if (what == port_speaks::tls) {
            make_certificate("server");
            make_certificate("client");
            words_.insert(words_.end(), {"0", "--tls-cert-file", certificate("server"),
                                         "--tls-key-file", key("server"), "--tls-ca-cert-file",
                                         certificate("client"), "--tls-port"});
        }
        words_.push_back(port_.number());
        words_.insert(words_.end(), arguments.begin(), arguments.end());
        start();
    }

    /// Starts the server again after `kill`, in the same directory and at the same addresses.
    void start() {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        process_ = std::make_unique<child_process>(words_, directory_.file("log"));
        while (!answers()) {
            if (process_->has_exited()) { // after a kill, the port may be in use for a moment
                process_ = std::make_unique<child_process>(words_, directory_.file("log"));
            }
            if (std::chrono::steady_clock::now() > limit) {
                throw std::runtime_error("redis-server does not start: " + log());
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2)); // polls
        }
    }

    /// Ends the server at once, as a crash does.
    void kill() { process_ = nullptr; }
    /// The server stops answering; the kernel still accepts connections and bytes for it.
    void suspend() { process_->signal(SIGSTOP); }
    void resume() { process_->signal(SIGCONT); }

    std::string socket() const { return directory_.file("redis.sock"); }
    std::string port() const { return port_.number(); }
    std::string host_and_port() const { return port_.host_and_port(); }
    std::string unix_url() const { return "unix://" + socket(); }
    std::string tcp_url() const { return "redis://" + host_and_port(); }

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
        redis::net::io_context context;
        local_stream::socket on(context);
        on.connect(local_stream::endpoint(socket()));
        std::string request;
        redis::detail::append_command(request,
                                      std::vector<std::string_view>(words.begin(), words.end()));
        redis::net::write(on, redis::net::buffer(request));
        redis::detail::reply_reader replies(std::size_t{64} << 20);
        for (;;) {
            if (const redis::detail::reply* const got = replies.next()) {
                return text_of(*got);
            }
            const std::span<char> space = replies.space();
            replies.add(on.read_some(redis::net::buffer(space.data(), space.size())));
        }
    }

private:
    bool answers() const {
        try {
            return command({"PING"}) == "PONG";
        } catch (const std::exception&) {
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

    temporary_directory directory_;
    bound_port port_;
    std::vector<std::string> words_; ///< That start the server.
    std::unique_ptr<child_process> process_;
};

} // namespace tryst::test
