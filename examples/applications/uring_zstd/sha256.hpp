// SPDX-License-Identifier: MIT
/// @file
/// SHA-256, piece by piece. OpenSSL.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include <openssl/evp.h>

namespace uring_zstd {

class sha256 {
public:
    sha256() {
        if (!context_) {
            throw std::bad_alloc();
        }
        check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
    }

    void add(std::span<const std::byte> bytes) {
        check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
    }

    /// Ends the computation. @returns the digest in hexadecimal.
    std::string finish() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned size = 0;
        check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
        std::string text;
        for (const unsigned char each : std::span(digest).first(size)) {
            text += fmt::format("{:02x}", each);
        }
        return text;
    }

private:
    static void check(int status) {
        if (status != 1) {
            throw std::runtime_error("libcrypto cannot compute SHA-256");
        }
    }

    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free};
};

} // namespace uring_zstd
