// SPDX-License-Identifier: MIT
//
// Two stages swap full buffers for empty ones.
//
// This is the example in the documentation of java.util.concurrent.Exchanger, with a real file. One
// stage reads FILE into a buffer, and the other hashes a buffer. When both are ready, they swap.
// Each stage has its own thread. There are only two buffers, whatever the size of the file, and the
// faster stage waits for the slower one.

#include <tryst/tryst.hpp>

#include <openssl/evp.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// A block of the file that passes from one stage to the other. An empty one marks the end.
struct buffer {
    std::vector<char> bytes = std::vector<char>(256 * 1024);
    std::size_t size = 0;
};

class sha256 {
public:
    sha256() { check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr)); }

    void add(const buffer& block) {
        check(EVP_DigestUpdate(context_.get(), block.bytes.data(), block.size));
    }

    std::string hex() {
        std::vector<unsigned char> digest(EVP_MAX_MD_SIZE);
        unsigned size = 0;
        check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
        std::ostringstream text;
        for (unsigned i = 0; i != size; ++i) {
            text << std::hex << std::setfill('0') << std::setw(2) << unsigned{digest[i]};
        }
        return text.str();
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

/// Stage one.
tryst::task<> fill(tryst::exchanger<buffer>& swap, std::ifstream& file) {
    buffer mine;
    for (bool is_last = false; !is_last;) {
        file.read(mine.bytes.data(), static_cast<std::streamsize>(mine.bytes.size()));
        if (file.bad()) {
            throw std::runtime_error("cannot be read");
        }
        mine.size = static_cast<std::size_t>(file.gcount());
        is_last = mine.size == 0;
        auto got = co_await swap.exchange(std::move(mine)); // full for empty
        if (!got) {
            co_return; // stage two has failed
        }
        mine = *std::move(got);
    }
}

struct result {
    std::string digest;
    std::size_t bytes = 0;
    std::size_t exchanges = 0;
};

/// Stage two.
tryst::task<result> empty(tryst::exchanger<buffer>& swap) {
    result all;
    sha256 hash;
    buffer mine;
    while (auto got = co_await swap.exchange(std::move(mine))) { // empty for full
        mine = *std::move(got);
        ++all.exchanges;
        if (mine.size == 0) {
            break;
        }
        hash.add(mine);
        all.bytes += mine.size;
    }
    all.digest = hash.hex();
    co_return all;
}

/// If a stage fails, it closes the exchanger, so that the other ends, too.
template <class Stage>
auto run_or_close(tryst::exchanger<buffer>& swap, Stage stage) {
    try {
        return tryst::sync_wait(std::move(stage));
    } catch (...) {
        swap.close();
        throw;
    }
}

result hash_in_two_stages(std::ifstream& file) {
    tryst::exchanger<buffer> swap;
    std::exception_ptr failure;
    std::jthread filler([&] {
        try {
            run_or_close(swap, fill(swap, file));
        } catch (...) {
            failure = std::current_exception();
        }
    });
    result all = run_or_close(swap, empty(swap));
    filler.join();
    if (failure) {
        std::rethrow_exception(failure);
    }
    return all;
}

} // namespace

int main(int count, char** arguments) {
    const std::string path = count > 1 ? arguments[1] : TRYST_DEFAULT_FILE;
    try {
        std::ifstream file(path, std::ios::binary);
        if (!file) {
            throw std::runtime_error("cannot be opened");
        }
        const auto start = std::chrono::steady_clock::now();
        const auto [digest, bytes, exchanges] = hash_in_two_stages(file);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        std::cout << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / 1e6
                  << " MB in " << elapsed.count() << " s: " << exchanges
                  << " times full for empty, with two buffers\n"
                  << digest << "  " << path << '\n'; // as sha256sum prints it
    } catch (const std::exception& problem) {
        std::cerr << path << ": " << problem.what() << '\n';
        return 1;
    }
}
