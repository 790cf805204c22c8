// SPDX-License-Identifier: MIT
#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/redis_server.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using redis::options;

const redis_settings no_client_certificate{.arguments = {"--tls-auth-clients", "no"}, .tls = true};

options options_for(const redis_server& server) {
    options chosen = patient("rediss://" + server.host_and_port());
    chosen.tls.ca_file = server.certificate("server");
    return chosen;
}

/// Whether a client can call the script.
bool works(options chosen) {
    connected_client client(std::move(chosen));
    client.wait_until_ready();
    const std::string large(std::size_t{1} << 20, 'x');
    return client.call({}, {large}).get().text == "0 " + large + ' ';
}

void expect_error(options chosen, const std::string& part) {
    connected_client client(std::move(chosen));
    const std::string error = client.wait_until_down().error;
    EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(RedisTls, ChecksTheServersCertificate) {
    const redis_server server(no_client_certificate);
    EXPECT_TRUE(works(options_for(server)));
}

TEST(RedisTls, ChecksTheNameInTheCertificate) {
    const redis_server server(no_client_certificate);
    options chosen = options_for(server);
    chosen.tls.server_name = "localhost";
    EXPECT_TRUE(works(chosen));
    chosen.tls.server_name = "elsewhere";
    expect_error(chosen, server.host_and_port() + ": the TLS handshake failed: certificate");
}

TEST(RedisTls, RefusesAnUnknownCertificate) {
    const redis_server server(no_client_certificate);
    options chosen = options_for(server);
    chosen.tls.ca_file = server.certificate("client");
    expect_error(chosen, "the TLS handshake failed: certificate verify failed");
    chosen.tls.ca_file.clear();
    expect_error(chosen, "the TLS handshake failed: certificate verify failed");
    chosen.tls.verify = false;
    EXPECT_TRUE(works(chosen));
}

TEST(RedisTls, ShowsTheClientsCertificate) {
    const redis_server server({.tls = true});
    options chosen = options_for(server);
    expect_error(chosen, server.host_and_port() + ": ");
    chosen.tls.cert_file = server.certificate("client");
    chosen.tls.key_file = server.key("client");
    EXPECT_TRUE(works(chosen));
}

TEST(RedisTls, NamesTheFileThatCannotBeUsed) {
    const redis_server server(no_client_certificate);
    options chosen = options_for(server);
    chosen.tls.ca_file = server.certificate("none");
    expect_error(chosen, "cannot use the TLS certificate authorities in " + chosen.tls.ca_file);
    chosen = options_for(server);
    chosen.tls.cert_file = server.key("server");
    expect_error(chosen, "cannot use the TLS certificate in " + chosen.tls.cert_file);
    chosen = options_for(server);
    chosen.tls.key_file = server.certificate("server");
    expect_error(chosen, "cannot use the TLS key in " + chosen.tls.key_file);
}

TEST(RedisTls, NoticesAServerWithoutTls) {
    const redis_server server({.tcp = true});
    options chosen = options::from_url("rediss://" + server.host_and_port());
    chosen.connect_timeout = std::chrono::milliseconds(500); // Redis waits for the end of a line
    expect_error(chosen, "cannot agree on TLS; does the server expect it?");
}

TEST(RedisTls, NoticesThatItIsMissing) {
    const redis_server server(no_client_certificate);
    expect_error(patient("redis://" + server.host_and_port()),
                 "closed the connection before it replied; does it expect TLS (rediss://)?");
}

} // namespace
} // namespace tryst::test
