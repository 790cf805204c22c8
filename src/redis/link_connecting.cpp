// SPDX-License-Identifier: MIT
// How a link connects, agrees on TLS and greets the server.
#include "link.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

bool is_too_old(std::string_view version) {
    const std::size_t dot = std::min(version.find('.'), version.size() - 1);
    const unsigned major = parse_number<unsigned>(version.substr(0, dot)).value_or(0);
    version.remove_prefix(dot + 1);
    const unsigned minor = parse_number<unsigned>(version.substr(0, version.find('.'))).value_or(0);
    return major < 6 || (major == 6 && minor < 2);
}

void check_file(const error_code& error, const char* what, const std::string& file) {
    if (error) {
        throw std::runtime_error(std::string("cannot use the TLS ") + what + ' ' + file + ": " +
                                 error.message());
    }
}

} // namespace

void link::open() {
    deadline_ = clock::now() + options_.connect_timeout;
    close_at(deadline_);
    // Not at once: the owner has no pointer to this yet, and a wrong path fails without a wait.
    net::post(strand_, [self = shared_from_this()] { spawn(self->strand_, self->run(self)); });
}

net::awaitable<void> link::run(std::shared_ptr<link> /*self*/) {
    try {
        co_await connect();
        co_await greet();
    } catch (const system_error& problem) {
        fail(std::string(stage_) + ": " + problem.code().message());
        co_return;
    } catch (const std::exception& problem) {
        fail(problem.what());
        co_return;
    }
    if (!owner_) {
        co_return;
    }
    is_open_ = true;
    timer_.cancel();
    const std::shared_ptr<owner> who = owner_;
    who->on_open(*this);
    co_await serve();
}

/// Sets the timer. At `when`, what it bounds ends with an error, or at the deadline the link.
void link::close_at(clock::time_point when) {
    timer_.expires_at(when);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (error || self->is_open_ || self->timer_.expiry() > clock::now()) {
            return;
        }
        if (self->timer_.expiry() < self->deadline_) {
            self->close_socket();
        } else {
            self->fail("no connection after " +
                       std::to_string(self->options_.connect_timeout.count()) +
                       " ms: " + self->stage_);
        }
    });
}

net::awaitable<std::vector<link::endpoint>> link::resolve() {
    std::vector<endpoint> endpoints;
    error_code is_name;
    if (!where_.path.empty()) {
        endpoints.emplace_back(net::local::stream_protocol::endpoint(where_.path));
    } else if (const auto parsed = net::ip::make_address(where_.host, is_name); !is_name) {
        endpoints.emplace_back(net::ip::tcp::endpoint(parsed, where_.port));
    } else {
        stage_ = "cannot resolve the host's name";
        const auto found = co_await resolver_.async_resolve(
            where_.host, std::to_string(where_.port), net::ip::resolver_base::numeric_service,
            net::use_awaitable);
        for (const auto& entry : found) {
            endpoints.emplace_back(entry.endpoint());
        }
        stage_ = "cannot connect";
    }
    co_return endpoints;
}

// A name may have several addresses. All but the last get an equal share of the time that is left,
// so that one that does not answer leaves time for the next.
net::awaitable<void> link::connect() {
    const std::vector<endpoint> endpoints = co_await resolve();
    error_code error = net::error::host_not_found;
    for (std::size_t i = 0; owner_ && error && i < endpoints.size(); ++i) {
        const auto now = clock::now();
        const auto share = (deadline_ - now) / static_cast<long>(endpoints.size() - i);
        close_at(i + 1 == endpoints.size() ? deadline_ : now + share);
        close_socket(); // that of the last attempt
        co_await socket_.async_connect(endpoints[i],
                                       net::redirect_error(net::use_awaitable, error));
    }
    if (error || !owner_) {
        throw system_error(error);
    }
    close_at(deadline_);
    std::ignore = socket_.set_option(net::ip::tcp::no_delay(true), error); // not of a Unix socket
    if (options_.tls.enabled) {
        use_tls(options_.tls);
        stage_ = "cannot agree on TLS; does the server expect it?";
        co_await tls_->async_handshake(net::ssl::stream_base::client,
                                       net::redirect_error(net::use_awaitable, error));
        if (error) {
            throw std::runtime_error("the TLS handshake failed: " + error.message());
        }
    }
}

/// Prepares TLS for a server of the chosen name, which it asks for and, if it shall, checks.
/// @throws std::runtime_error that names the file that cannot be used.
void link::use_tls(const tls_options& chosen) {
    const std::string& name = chosen.server_name.empty() ? where_.host : chosen.server_name;
    net::ssl::context& made = tls_context_.emplace(net::ssl::context::tls_client);
    made.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_tlsv1 |
                     net::ssl::context::no_tlsv1_1);
    error_code error;
    made.set_verify_mode(chosen.verify ? net::ssl::verify_peer : net::ssl::verify_none);
    if (chosen.verify && chosen.ca_file.empty()) {
        std::ignore = made.set_default_verify_paths(error);
        check_file(error, "certificate authorities", "of the system");
    } else if (chosen.verify) {
        std::ignore = made.load_verify_file(chosen.ca_file, error);
        check_file(error, "certificate authorities in", chosen.ca_file);
    }
    if (!chosen.cert_file.empty()) {
        std::ignore = made.use_certificate_chain_file(chosen.cert_file, error);
        check_file(error, "certificate in", chosen.cert_file);
    }
    if (!chosen.key_file.empty()) {
        std::ignore = made.use_private_key_file(chosen.key_file, net::ssl::context::pem, error);
        check_file(error, "key in", chosen.key_file);
    }
    tls_.emplace(socket_, made);
    error_code is_name;
    std::ignore = net::ip::make_address(name, is_name);
    if (is_name) { // servers may refuse an address here
        ::SSL_ctrl(tls_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   const_cast<char*>(name.c_str()));
    }
    if (chosen.verify) {
        tls_->set_verify_callback(net::ssl::host_name_verification(name));
    }
}

net::awaitable<void> link::greet() {
    std::string greeting;
    std::vector<std::string_view> words{"HELLO", "3"};
    if (!options_.user.empty() || !options_.password.empty()) {
        const std::string_view user = options_.user;
        words.insert(words.end(), {"AUTH", user.empty() ? "default" : user, options_.password});
    }
    append_command(greeting, words);
    const std::string database = std::to_string(options_.database);
    if (options_.database != 0) {
        append_command(greeting, words = {"SELECT", database});
    }
    append_command(greeting, words = {"SCRIPT", "LOAD", script_});
    if (!channels_.empty()) {
        words = {"SUBSCRIBE"};
        words.insert(words.end(), channels_.begin(), channels_.end());
        append_command(greeting, words);
    }

    stage_ = "cannot get a reply; is it a Redis server?";
    error_code error;
    auto sent = net::redirect_error(net::use_awaitable, error);
    auto writing = tls_ ? net::async_write(*tls_, net::buffer(greeting), sent)
                        : net::async_write(socket_, net::buffer(greeting), sent);
    co_await std::move(writing);
    if (error) {
        throw std::runtime_error(ending(error));
    }
    const reply* const hello = co_await next_reply();
    check_hello(*hello);
    if (options_.database != 0) {
        const reply* const selected = co_await next_reply();
        check(*selected, "cannot select database " + database);
    }
    const reply* const loaded = co_await next_reply();
    check(*loaded, "cannot load the script");
    script_hash_ = loaded->text;
    if (script_hash_.size() != 40) {
        throw std::runtime_error("is not a Redis server: it does not know SCRIPT LOAD");
    }
    for (const std::string& channel : channels_) {
        const reply* const subscribed = co_await next_reply("subscribe");
        check(*subscribed, "cannot subscribe to channel " + channel);
    }
}

/// Waits for the next reply, or the next push of this kind. Ignores other pushes.
net::awaitable<const reply*> link::next_reply(std::string_view push) {
    for (;;) {
        if (const reply* const next = reader_.next()) {
            has_replied_ = true;
            stage_ = "cannot get all replies";
            if (next->type != '>' || (!push.empty() && next->is_push(push))) {
                if (!push.empty() && next->type != '>' && !next->is_error()) {
                    throw std::runtime_error("is not a Redis server: it does not know SUBSCRIBE");
                }
                co_return next;
            }
        } else if (!reader_.error().empty()) {
            throw std::runtime_error(
                (has_replied_ ? "sent what is not a reply of Redis: " : "is not a Redis server: ") +
                reader_.error());
        } else if (owner_) {
            co_await read_more();
        } else {
            throw std::runtime_error("closed");
        }
    }
}

void link::check_hello(const reply& hello) {
    const std::string_view code = hello.text.substr(0, hello.text.find(' '));
    if (code == "WRONGPASS") {
        check(hello,
              options_.user.empty() ? "refused the password" : "refused user " + options_.user);
    } else if (code == "ERR" || code == "NOPROTO") { // with the password, if HELLO is unknown
        throw std::runtime_error("does not know HELLO 3, so it is older than Redis 6.2");
    }
    check(hello, "refused HELLO");
    const auto value_of = [&hello](std::string_view name) -> std::string_view {
        for (std::size_t i = 0; hello.type == '%' && i < hello.elements.size(); i += 2) {
            if (hello.elements[i].text == name) {
                return hello.elements[i + 1].text;
            }
        }
        return {};
    };
    const std::string version(value_of("version").substr(0, max_quotation));
    const std::string_view mode = value_of("mode");
    is_in_cluster_ = mode == "cluster";
    if (version.empty()) {
        throw std::runtime_error("is not a Redis server: its HELLO has no version");
    }
    if (is_too_old(version)) {
        throw std::runtime_error("is Redis " + version + ", and 6.2 is needed");
    }
    if (mode == "sentinel") {
        throw std::runtime_error("is a Sentinel; name the Redis servers that it watches");
    }
    if (value_of("role") != "master") {
        throw std::runtime_error("is a read-only replica; name its master");
    }
}

/// @throws std::runtime_error if `answer` is an error.
void link::check(const reply& answer, const std::string& problem) const {
    if (!answer.is_error()) {
        return;
    }
    std::string text(answer.text); // which may repeat the greeting
    const std::string& password = options_.password;
    for (std::size_t at = 0; !password.empty() && (at = text.find(password)) != text.npos;) {
        text.erase(at, password.size());
    }
    throw std::runtime_error(problem + ": " + text.substr(0, max_quotation));
}

} // namespace detail
TRYST_REDIS_END
