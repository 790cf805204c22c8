// SPDX-License-Identifier: MIT
/// @file
/// All of tryst for senders and receivers (target `tryst::execution`).
#pragma once

#include <tryst/execution/as_awaitable.hpp> // IWYU pragma: export
#include <tryst/execution/as_sender.hpp> // IWYU pragma: export
#include <tryst/execution/scheduler.hpp> // IWYU pragma: export
#include <tryst/execution/task_sender.hpp> // IWYU pragma: export
