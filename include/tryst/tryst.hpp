// SPDX-License-Identifier: MIT
/// @file
/// The whole core: exchangers, channels, and everything needed to wait in them. No adapter, and not
/// <tryst/dump_waiters.hpp>, which needs streams.
/// Standard library only.
#pragma once

#include <tryst/case_set.hpp>
#include <tryst/case_set_result.hpp>
#include <tryst/channel.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/executor.hpp>
#include <tryst/future.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/join_handle.hpp>
#include <tryst/loop_executor.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/result.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/statistics.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>
#include <tryst/task_scope.hpp>
#include <tryst/when_all.hpp>
#include <tryst/when_any.hpp>
