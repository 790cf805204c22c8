// SPDX-License-Identifier: MIT
#include "tls.hpp"

#include <stdexcept>
#include <string>
#include <tuple>

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

std::shared_ptr<net::ssl::context> make_tls_context(const tls_options& chosen) {
    auto made = std::make_shared<net::ssl::context>(net::ssl::context::tls_client);
    made->set_options(net::ssl::context::default_workarounds | net::ssl::context::no_tlsv1 |
                      net::ssl::context::no_tlsv1_1);
    error_code error;
    if (!chosen.verify) {
        made->set_verify_mode(net::ssl::verify_none);
    } else {
        made->set_verify_mode(net::ssl::verify_peer);
        if (chosen.ca_file.empty()) {
            std::ignore = made->set_default_verify_paths(error);
            check(error, "certificate authorities", "of the system");
        } else {
            std::ignore = made->load_verify_file(chosen.ca_file, error);
            check(error, "certificate authorities in", chosen.ca_file);
        }
    }
    if (!chosen.cert_file.empty()) {
        std::ignore = made->use_certificate_chain_file(chosen.cert_file, error);
        check(error, "certificate in", chosen.cert_file);
    }
    if (!chosen.key_file.empty()) {
        std::ignore = made->use_private_key_file(chosen.key_file, net::ssl::context::pem, error);
        check(error, "key in", chosen.key_file);
    }
    return made;
}

} // namespace detail
TRYST_REDIS_END
