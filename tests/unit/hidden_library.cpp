// SPDX-License-Identifier: MIT
#include "hidden_library.hpp"

namespace tryst::test {

std::error_code error_from_library(exchanger<int>& ex) {
    return ex.try_exchange(1).error();
}

} // namespace tryst::test
