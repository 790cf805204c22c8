// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include <stdexcept>

#ifdef __linux__
#include <linux/sockios.h>
#include <sys/ioctl.h>
#endif

TRYST_REDIS_BEGIN
namespace detail {

namespace {

void check(const error_code& error, const char* what, const std::string& file) {
    if (error) {
        throw std::runtime_error(std::string("cannot use the TLS ") + what + ' ' + file + ": " +
                                 error.message());
    }
}

} // namespace

void stream::set_no_delay() {
    error_code ignored; // a Unix socket has no such option
    std::ignore = socket_.set_option(net::ip::tcp::no_delay(true), ignored);
}

void stream::use_tls(const tls_options& chosen, const std::string& name) {
    net::ssl::context& made = tls_context_.emplace(net::ssl::context::tls_client);
    made.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_tlsv1 |
                     net::ssl::context::no_tlsv1_1);
    error_code error;
    made.set_verify_mode(chosen.verify ? net::ssl::verify_peer : net::ssl::verify_none);
    if (chosen.verify && chosen.ca_file.empty()) {
        std::ignore = made.set_default_verify_paths(error);
        check(error, "certificate authorities", "of the system");
    } else if (chosen.verify) {
        std::ignore = made.load_verify_file(chosen.ca_file, error);
        check(error, "certificate authorities in", chosen.ca_file);
    }
    if (!chosen.cert_file.empty()) {
        std::ignore = made.use_certificate_chain_file(chosen.cert_file, error);
        check(error, "certificate in", chosen.cert_file);
    }
    if (!chosen.key_file.empty()) {
        std::ignore = made.use_private_key_file(chosen.key_file, net::ssl::context::pem, error);
        check(error, "key in", chosen.key_file);
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

int stream::undelivered() {
    int count = 0;
#ifdef __linux__
    if (::ioctl(socket_.native_handle(), SIOCOUTQ, &count) == -1) {
        return 0;
    }
#endif
    return count;
}

void stream::close() {
    error_code ignored;
    std::ignore = socket_.close(ignored);
}

} // namespace detail
TRYST_REDIS_END
