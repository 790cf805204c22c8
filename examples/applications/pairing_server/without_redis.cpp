// SPDX-License-Identifier: MIT
// In place of redis_room.cpp, in a build without tryst::redis.
#include "room.hpp"

#include <stdexcept>

namespace pairing {

std::unique_ptr<meeting_place> make_redis_place(const options& /*chosen*/) {
    throw std::logic_error(problem_of_redis_url({}));
}

std::string problem_of_redis_url(const std::string& /*url*/) {
    return "this program was built without Redis; configure it with -D TRYST_REDIS=ON";
}

} // namespace pairing
