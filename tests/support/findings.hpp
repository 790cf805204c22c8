// SPDX-License-Identifier: MIT
/// @file
/// What is wrong with a history, in words.
#pragma once

#include "support/stamps.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

namespace tryst::test {

/// Sentences, one in each line. Each begins with the name of a rule.
class findings {
public:
    /// @param parts  texts, numbers, and what `in_words` describes.
    template <class... Parts>
    void report(std::string_view rule, const Parts&... parts) {
        if (++count_ <= most) {
            text_ += std::string(rule) + ": ";
            ((text_ += text_of(parts)), ...);
            text_ += '\n';
        }
    }

    /// A few of them, if there are very many.
    std::string text() const {
        return count_ <= most ? text_ : text_ + "and " + std::to_string(count_ - most) + " more\n";
    }

private:
    template <class Part>
    static std::string text_of(const Part& part) {
        if constexpr (std::is_arithmetic_v<Part>) {
            return std::to_string(part);
        } else if constexpr (requires { std::string(part); }) {
            return std::string(part);
        } else {
            return in_words(part);
        }
    }

    static constexpr std::size_t most = 20;
    std::string text_;
    std::size_t count_ = 0;
};

/// The rules that the sentences name, in the order of the alphabet, with spaces between them.
inline std::string rules_in(std::string_view sentences) {
    std::set<std::string_view> rules;
    while (!sentences.empty()) {
        rules.insert(sentences.substr(0, sentences.find(':')));
        sentences.remove_prefix(sentences.find('\n') + 1);
    }
    std::string all;
    for (const std::string_view each : rules) {
        all.append(all.empty() ? "" : " ").append(each);
    }
    return all;
}

inline std::string at(stamp when) {
    return when == never ? "the end" : std::to_string(when);
}

} // namespace tryst::test
