// SPDX-License-Identifier: MIT
/// @file
/// tryst on Redis: meetings of parties in different processes.
/// Asio.
#pragma once

#include <tryst/redis/codec.hpp>
#include <tryst/redis/connection.hpp>
#include <tryst/redis/options.hpp>
#include <tryst/redis/remote_channel.hpp>
#include <tryst/redis/remote_exchanger.hpp>
#include <tryst/redis/remote_place.hpp>
#include <tryst/redis/remote_red_blue_exchanger.hpp>
#include <tryst/redis/remote_result.hpp>
