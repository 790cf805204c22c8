// SPDX-License-Identifier: MIT
#include "printable.hpp"

#include <fmt/format.h>

#include <cwchar>
#include <cwctype>
#include <iterator>

namespace pairing {

std::string printable(std::string_view text, line_ends ends) {
    std::string safe;
    while (!text.empty()) {
        std::mbstate_t state{};
        wchar_t character = L'\0';
        std::size_t size = std::mbrtowc(&character, text.data(), text.size(), &state);
        const bool complete = size != 0 && size <= text.size(); // else it is NUL or an error
        size = complete ? size : 1;
        const bool is_kept = ends == line_ends::keep && (character == L'\n' || character == L'\t');
        if (complete && (is_kept || std::iswprint(static_cast<std::wint_t>(character)) != 0)) {
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
