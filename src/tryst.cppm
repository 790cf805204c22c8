// SPDX-License-Identifier: MIT
// The module tryst: the public names of <tryst/tryst.hpp>. They belong to the global module, so a
// program may import them in one source and include the headers in another.
module;
#include <tryst/tryst.hpp>

export module tryst;

export namespace tryst {

using tryst::basic_run_loop;
using tryst::case_handle;
using tryst::case_if;
using tryst::case_set;
using tryst::case_set_result;
using tryst::channel;
using tryst::counted;
using tryst::counters;
using tryst::current_executor;
using tryst::exchange_case;
using tryst::exchange_category;
using tryst::exchange_errc;
using tryst::exchange_operation;
using tryst::exchange_result;
using tryst::exchanger;
using tryst::executor_node;
using tryst::executor_of;
using tryst::executor_ref;
using tryst::executor_scope;
using tryst::executor_vtable;
using tryst::future;
using tryst::has_executor;
using tryst::inplace_stop_callback;
using tryst::inplace_stop_source;
using tryst::inplace_stop_token;
using tryst::join_handle;
using tryst::loop_executor;
using tryst::loop_turns;
using tryst::loop_wake;
using tryst::make_error_code;
using tryst::operator==;
using tryst::next_operation;
using tryst::order;
using tryst::promise;
using tryst::receive_case;
using tryst::red_blue_exchanger;
using tryst::remaining_items;
using tryst::run_loop;
using tryst::run_loop_options;
using tryst::schedule_operation;
using tryst::select;
using tryst::select_biased;
using tryst::select_from;
using tryst::select_from_result;
using tryst::select_npos;
using tryst::select_operation;
using tryst::select_result;
using tryst::send_case;
using tryst::single_threaded;
using tryst::sleep_for;
using tryst::sleep_until;
using tryst::statistics;
using tryst::stoppable_token;
using tryst::stopped;
using tryst::sync_wait;
using tryst::synchronous_channel;
using tryst::task;
using tryst::task_scope;
using tryst::time_limit;
using tryst::timer_node;
using tryst::traced;
using tryst::try_select;
using tryst::unlimited;
using tryst::wait_limit;
using tryst::weighted;
using tryst::when_all;
using tryst::when_any;
using tryst::when_any_from;
using tryst::when_any_from_result;
using tryst::when_any_npos;
using tryst::when_any_result;

} // namespace tryst
