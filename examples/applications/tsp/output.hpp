// SPDX-License-Identifier: MIT
/// @file
/// Writes result files, each of which is replaced as a whole or not at all. POSIX.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace tsp {

/// Tells whether two paths lead to the same file, also through links.
struct file_identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::string name; ///< Name of a file that does not exist yet; `inode` is that of its folder.

    bool operator==(const file_identity&) const noexcept = default;
};

/// @returns nullopt for a character device, because it may be used twice, or if the folder does not
/// exist.
std::optional<file_identity> identify(const std::string& path);

/// A regular file is written under a temporary name in its folder and then renamed, so that the old
/// file stays until the new one is complete. Symbolic links are followed. Devices, FIFOs and the
/// program's descriptors, such as /dev/stdout, are written directly.
class output {
public:
    /// Checks whether the file can be written, without changing it.
    /// @throws std::runtime_error if the file cannot be written.
    explicit output(std::string path);

    /// @throws std::runtime_error if writing fails; a regular file then keeps its old content.
    void write(std::string_view text) const;

private:
    void write_directly(std::string_view text) const;
    void replace(std::string_view text) const;

    std::string path_; // as given
    std::string target_; // where its symbolic links lead
    bool is_direct_ = false;
};

/// @throws std::runtime_error "FILE: cannot OPERATION: REASON", with the reason from `errno`.
[[noreturn]] void fail_by_errno(const std::string& file, const char* operation);

} // namespace tsp
