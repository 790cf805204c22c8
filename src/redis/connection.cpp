// SPDX-License-Identifier: MIT
#include <tryst/redis/connection.hpp>

#include "hub.hpp"
#include "room.hpp"

#include <stdexcept>
#include <utility>

TRYST_REDIS_BEGIN

namespace {

constexpr std::size_t longest_name = 512;

task<remote_result<void, void>> wait_until_ready(std::shared_ptr<detail::hub> whose) {
    const auto mine = std::make_shared<detail::hub::ready_party>();
    mine->bring({});
    mine->decode({});
    whose->report_to(mine);
    auto completion = mine->completion();
    [[maybe_unused]] const auto ended = co_await completion;
    co_return mine->take();
}

} // namespace

connection::connection(const net::any_io_executor& executor, options chosen)
    : hub_(std::make_shared<detail::hub>(executor, std::move(chosen))) {
    hub_->start();
}

connection::~connection() {
    close();
}

task<remote_result<void, void>> connection::connected() const {
    return wait_until_ready(hub_);
}

bool connection::is_connected() const noexcept {
    return hub_->is_connected();
}

std::string connection::last_error() const {
    return hub_->last_error();
}

void connection::close() noexcept {
    hub_->close();
}

std::shared_ptr<detail::room>
detail::connection_access::open_room(connection& through, room_kind kind, std::string_view name,
                                     std::shared_ptr<local_place> place) {
    if (name.empty() || name.size() > longest_name) {
        throw std::invalid_argument("tryst::redis: the name of a room has " +
                                    std::to_string(name.size()) + " bytes; it must have 1 to " +
                                    std::to_string(longest_name));
    }
    auto opened = std::make_shared<remote_room>(through.hub_, kind, name, std::move(place));
    through.hub_->add(opened);
    return opened;
}

TRYST_REDIS_END
