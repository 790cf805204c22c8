// SPDX-License-Identifier: MIT
#include "message.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace pairing {

message::message(std::string_view text) {
    while (!text.empty()) {
        const std::span<std::byte> room = space(text.size());
        std::memcpy(room.data(), text.data(), room.size());
        commit(room.size());
        text.remove_prefix(room.size());
    }
}

std::span<std::byte> message::space(std::size_t wanted) {
    if (wanted == 0) {
        return {};
    }
    if (blocks_.empty() || blocks_.back().used == blocks_.back().capacity) {
        const std::size_t capacity =
            std::min(wanted, std::clamp(size_, smallest_block, largest_block));
        blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(capacity), capacity, 0});
    }
    const block& last = blocks_.back();
    return {last.bytes.get() + last.used, std::min(wanted, last.capacity - last.used)};
}

void message::commit(std::size_t count) noexcept {
    if (count == 0) {
        return;
    }
    block& last = blocks_.back();
    assert(count <= last.capacity - last.used && "commit at most the bytes that space() returned");
    last.used += count;
    size_ += count;
}

std::size_t message::capacity() const noexcept {
    return blocks_.empty() ? 0 : size_ + blocks_.back().capacity - blocks_.back().used;
}

std::vector<std::span<const std::byte>> message::blocks() const {
    std::vector<std::span<const std::byte>> parts;
    parts.reserve(blocks_.size());
    for (const block& each : blocks_) {
        parts.emplace_back(each.bytes.get(), each.used);
    }
    return parts;
}

std::string message::text() const {
    std::string all;
    all.reserve(size_);
    for (const block& each : blocks_) {
        all.append(reinterpret_cast<const char*>(each.bytes.get()), each.used);
    }
    return all;
}

} // namespace pairing
