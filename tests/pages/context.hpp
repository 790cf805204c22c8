// SPDX-License-Identifier: MIT
// What the programs of the pages include. `#include "docs/tasks.md/3"` in a program stands for the
// third C++ block of that page.
#pragma once

#include <tryst/tryst.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
