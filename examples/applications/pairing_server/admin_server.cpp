// SPDX-License-Identifier: MIT
#include "admin_server.hpp"

#include <tryst/dump_waiters.hpp>

#include <fmt/format.h>

#include <chrono>
#include <sstream>
#include <stdexcept>

#include <sys/socket.h>

namespace pairing {

namespace {

void answer(httplib::Response& response, int status, const std::string& text) {
    response.status = status;
    response.set_header("Cache-Control", "no-store");
    response.set_content(text + '\n', "text/plain; version=0.0.4; charset=utf-8");
}

/// RFC 9112, 3.2: a request of HTTP/1.1 has exactly one Host.
bool has_wrong_host(const httplib::Request& request) {
    const auto hosts = request.get_header_value_count("Host");
    return hosts > 1 || (hosts == 0 && request.version == "HTTP/1.1");
}

} // namespace

admin_server::admin_server(const shared_state& shared, const std::string& address,
                           std::uint16_t port)
    : port_(port) {
    new_task_queue = [] { return new httplib::ThreadPool(threads); };
    set_keep_alive_max_count(1);
    set_keep_alive_timeout(1);
    set_read_timeout(1);
    set_write_timeout(1);
    set_payload_max_length(0);
    set_socket_options([](int socket) {
        const int yes = 1; // the library's own SO_REUSEPORT would let two servers share the port
        ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
        if (has_wrong_host(request)) {
            answer(response, 400, "the request must have one Host");
        } else if (request.method != "GET" && request.method != "HEAD") {
            response.set_header("Allow", "GET, HEAD");
            answer(response, 405, "only GET and HEAD are allowed");
        } else {
            return httplib::Server::HandlerResponse::Unhandled;
        }
        return httplib::Server::HandlerResponse::Handled;
    });
    Get("/livez",
        [](const httplib::Request&, httplib::Response& response) { answer(response, 200, "ok"); });
    Get("/readyz", [&shared](const httplib::Request&, httplib::Response& response) {
        const std::string reason = shared.unready_reason();
        answer(response, reason.empty() ? 200 : 503, reason.empty() ? "ok" : reason);
    });
    Get("/metrics", [&shared](const httplib::Request&, httplib::Response& response) {
        std::string text = fmt::format("pairing_ready {}", shared.unready_reason().empty() ? 1 : 0);
        for (const auto& [name, value] : shared.samples()) {
            text += fmt::format("\npairing_{} {}", name, value);
        }
        answer(response, 200, text);
    });
    Get("/waiters", [](const httplib::Request&, httplib::Response& response) {
        std::ostringstream text;
        tryst::dump_waiters(text);
        answer(response, 200, text.str());
    });

    if (!bind(address)) {
        throw std::runtime_error(fmt::format("cannot listen on {} port {}", address, port));
    }
    thread_ = std::jthread([this, address](const std::stop_token& stop) {
        // The library stops listening at errors of accept other than EMFILE.
        for (bool bound = true; !stop.stop_requested(); bound = bind(address)) {
            if (bound) {
                listen_after_bind();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ended_ = true;
    });
}

admin_server::~admin_server() {
    thread_.request_stop();
    while (!ended_) { // the thread may be about to listen
        stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

bool admin_server::bind(const std::string& address) {
    if (port_ == 0) {
        port_ = bind_to_any_port(address);
    } else if (!bind_to_port(address, port_)) {
        return false;
    }
    // The library's queue has room for five. Others would try again a second later.
    return ::listen(svr_sock_, SOMAXCONN) == 0;
}

} // namespace pairing
