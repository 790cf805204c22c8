// SPDX-License-Identifier: MIT
#include "printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cwchar>
#include <cwctype>
#include <iterator>

namespace pairing {

namespace {

/// Whether this is a Unicode format character (category Cf). A terminal may hide it, or reorder the
/// characters around it. The list leaves out the soft hyphen and most characters of a single
/// script, because they are harmless. `wchar_t` holds the code point.
bool is_format_character(wchar_t character) noexcept {
    constexpr struct {
        wchar_t first, last;
    } ranges[] = {
        {0x061c, 0x061c}, // Arabic letter mark
        {0x200b, 0x200f}, // zero width, left-to-right and right-to-left marks
        {0x202a, 0x202e}, // embeddings and overrides of the direction
        {0x2060, 0x206f}, // invisible operators, isolates, deprecated
        {0xfeff, 0xfeff}, // zero width no-break space
        {0xfff9, 0xfffb}, // annotations
        {0xe0000, 0xe007f}, // tags
    };
    return std::any_of(std::begin(ranges), std::end(ranges), [character](const auto& range) {
        return range.first <= character && character <= range.last;
    });
}

/// Whether the character is shown unescaped.
bool is_shown(wchar_t character, line_ends ends) noexcept {
    if (ends == line_ends::keep && (character == L'\n' || character == L'\t')) {
        return true;
    }
    return std::iswprint(static_cast<std::wint_t>(character)) != 0 &&
           !is_format_character(character);
}

} // namespace

std::string printable(std::string_view text, line_ends ends) {
    std::string safe;
    while (!text.empty()) {
        std::mbstate_t state{};
        wchar_t character = L'\0';
        std::size_t size = std::mbrtowc(&character, text.data(), text.size(), &state);
        const bool complete = size != 0 && size <= text.size(); // otherwise NUL or an error
        size = complete ? size : 1;
        if (complete && is_shown(character, ends)) {
            safe += text.substr(0, size);
        } else {
            for (const char byte : text.substr(0, size)) {
                fmt::format_to(std::back_inserter(safe), "\\x{:02x}",
                               static_cast<unsigned char>(byte));
            }
        }
        text.remove_prefix(size);
    }
    return safe;
}

} // namespace pairing
