// SPDX-License-Identifier: MIT
/// @file
/// tryst over io_uring: a loop, its operations, and buffers to exchange between loops.
/// Standard library only; only the compiled part uses liburing.
#pragma once

#include <tryst/uring/accept_stream.hpp>
#include <tryst/uring/buffer_pool.hpp>
#include <tryst/uring/context.hpp>
#include <tryst/uring/descriptor.hpp>
#include <tryst/uring/limits.hpp>
#include <tryst/uring/operation.hpp>
#include <tryst/uring/recv_stream.hpp>
#include <tryst/uring/result.hpp>
