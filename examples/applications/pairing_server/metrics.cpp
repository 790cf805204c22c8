// SPDX-License-Identifier: MIT
#include "metrics.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <string_view>

namespace pairing {

namespace {

class prometheus_writer {
public:
    /// Begins a metric. Its samples follow.
    void begin(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                       type);
    }

    template <class Number>
    void sample(Number value) {
        fmt::format_to(std::back_inserter(text_), "{} {}\n", name_, value);
    }

    template <class Number>
    void sample(std::string_view label, std::string_view label_value, Number value) {
        fmt::format_to(std::back_inserter(text_), "{}{{{}=\"{}\"}} {}\n", name_, label, label_value,
                       value);
    }

    template <class Number>
    void counter(std::string_view name, std::string_view help, Number value) {
        begin(name, "counter", help);
        sample(value);
    }

    template <class Number>
    void gauge(std::string_view name, std::string_view help, Number value) {
        begin(name, "gauge", help);
        sample(value);
    }

    std::string take() && { return std::move(text_); }

private:
    std::string text_;
    std::string_view name_;
};

void write_exchanges(prometheus_writer& out, const tryst::statistics& now) {
    out.counter("tryst_arrivals_total", "Parties that arrived in a room.", now.arrivals);
    out.counter("tryst_exchanges_total", "Pairs that met.", now.exchanges);
    out.begin("tryst_ends_total", "counter", "Parties whose operation ended without an exchange.");
    out.sample("reason", "timed_out", now.timeouts);
    out.sample("reason", "cancelled", now.cancellations);
    out.sample("reason", "closed", now.closed);
    out.sample("reason", "no_partner", now.no_partner);
    out.sample("reason", "out_of_memory", now.out_of_memory);
    out.sample("reason", "not_selected", now.not_selected);
    out.gauge("tryst_waiting", "Parties that have arrived and whose operation has not ended.",
              now.waiting);
    out.gauge("tryst_longest_wait_seconds", "Longest of the waits that have ended.",
              std::chrono::duration<double>(now.longest_wait).count());
    out.counter("tryst_collisions_total", "Claims that failed because another party was faster.",
                now.collisions);
    out.counter("tryst_arena_expiries_total",
                "Offers in an arena that found no partner in their time.", now.expiries);
    out.counter("tryst_arena_growths_total", "How often an arena got another slot.", now.growths);
    out.counter("tryst_arena_shrinkages_total", "How often an arena lost a slot.", now.shrinkages);
}

} // namespace

std::string prometheus_text_of(const metrics& now) {
    prometheus_writer out;
    out.begin("pairing_build_info", "gauge", "The version; the value is always 1.");
    out.sample("version", TRYST_VERSION, 1);
    out.gauge("pairing_ready", "1 if the server accepts clients and can pair them, else 0.",
              now.ready ? 1 : 0);
    out.counter("pairing_connections_accepted_total", "Connections of clients.",
                now.counts.accepted);
    out.counter("pairing_connections_refused_total",
                "Connections that exceeded a limit or came during the shutdown.",
                now.counts.refused);
    out.gauge("pairing_connections_active", "Connections that are open.", now.counts.active);
    out.begin("pairing_sessions_total", "counter", "Connections that have ended.");
    for (std::size_t i = 0; i != outcome_count; ++i) {
        out.sample("outcome", name_of(static_cast<outcome>(i)), now.counts.finished[i]);
    }
    out.counter("pairing_accept_pauses_total",
                "Pauses of 50 ms without accepting clients, for lack of descriptors.",
                now.counts.pauses);
    out.gauge("pairing_clients_waiting", "Clients that wait for a partner.", now.occupancy.waiting);
    out.gauge("pairing_clients_asking", "Waiting clients that ask.", now.occupancy.asking);
    out.gauge("pairing_rooms", "Rooms in use.", now.occupancy.rooms);
    if (now.connected) {
        out.gauge("pairing_redis_connected", "1 if Redis can be reached, else 0.",
                  *now.connected ? 1 : 0);
    }
    if (now.exchanges) {
        write_exchanges(out, *now.exchanges);
    }
    return std::move(out).take();
}

} // namespace pairing
