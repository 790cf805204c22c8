// SPDX-License-Identifier: MIT
#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/redis_server.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using redis::options;

/// Calls the script.
void expect_success(options chosen) {
    ready_client client(std::move(chosen));
    const std::string large(std::size_t{1} << 20, 'x');
    EXPECT_TRUE(client.call({}, {large}).get().text == "0 " + large + ' ');
}

void expect_error(options chosen, const std::string& part) {
    expect_part(error_of(std::move(chosen)), part);
}

class RedisTls : public testing::Test {
protected:
    options chosen() const {
        options all = patient("rediss://" + server.host_and_port());
        all.tls.ca_file = server.certificate("server");
        return all;
    }

    redis_server server{{}, redis_server::port_speaks::tls};
};

TEST_F(RedisTls, ChecksTheServersCertificate) {
    server.command({"CONFIG", "SET", "tls-auth-clients", "no"});
    options with = chosen();
    expect_success(with);
    with.tls.server_name = "localhost";
    expect_success(with);
    with.tls.server_name = "elsewhere";
    expect_error(with, server.host_and_port() + ": the TLS handshake failed: certificate");
    with = chosen();
    for (const std::string& wrong_file : {server.certificate("client"), std::string()}) {
        with.tls.ca_file = wrong_file;
        expect_error(with, "the TLS handshake failed: certificate verify failed");
    }
    with.tls.verify = false;
    expect_success(with);
    expect_error(patient(server.tcp_url()),
                 "closed the connection before it replied; does it expect TLS (rediss://)?");
}

TEST_F(RedisTls, ShowsTheClientsCertificate) {
    options with = chosen();
    expect_error(with, server.host_and_port() + ": ");
    with.tls.cert_file = server.certificate("client");
    with.tls.key_file = server.key("client");
    expect_success(with);
}

TEST_F(RedisTls, NamesTheFileThatCannotBeUsed) {
    options with = chosen();
    with.tls.ca_file = server.certificate("none");
    expect_error(with, "cannot use the TLS certificate authorities in " + with.tls.ca_file);
    with = chosen();
    with.tls.cert_file = server.key("server");
    expect_error(with, "cannot use the TLS certificate in " + with.tls.cert_file);
    with = chosen();
    with.tls.key_file = server.certificate("server");
    expect_error(with, "cannot use the TLS key in " + with.tls.key_file);
}

TEST(RedisClientWithTls, NoticesAServerWithoutTls) {
    const redis_server server;
    options chosen = patient("rediss://" + server.host_and_port());
    chosen.connect_timeout = std::chrono::milliseconds(500); // Redis waits for the end of a line
    expect_error(chosen, "cannot agree on TLS; does the server expect it?");
}

} // namespace
} // namespace tryst::test
