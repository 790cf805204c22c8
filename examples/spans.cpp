// SPDX-License-Identifier: MIT
// Writes a span for each wait, as a line of JSON with the names of OpenTelemetry's fields. A span
// of another tracing library is made in the same way.
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstdio>
#include <system_error>

namespace {

using namespace std::chrono_literals;

/// A wait in an exchanger. It begins and ends where the waiting party runs.
class json_span {
public:
    explicit json_span(const char* name) noexcept : name_(name) {}

    /// @param error  why nothing was exchanged, or zero.
    void end(std::error_code error) noexcept {
        std::printf(R"({"name":"%s","startTimeUnixNano":"%lld","endTimeUnixNano":"%lld",)"
                    R"("status":{"code":%d,"message":"%s"}})"
                    "\n",
                    name_, nanoseconds(start_), nanoseconds(clock::now()), error ? 2 : 1,
                    error ? error.message().c_str() : "");
    }

private:
    using clock = std::chrono::system_clock;

    static long long nanoseconds(clock::time_point at) {
        return std::chrono::nanoseconds(at.time_since_epoch()).count();
    }

    const char* name_; // a name without quotes; it outlives the exchanger
    clock::time_point start_ = clock::now();
};

using swaps = tryst::exchanger<int, tryst::traced<json_span>>;

tryst::task<> wait(swaps& ex, std::chrono::milliseconds patience) {
    const auto got = co_await ex.exchange(1, patience);
    (void)got;
}

tryst::task<> meet(swaps& ex) {
    co_await tryst::current_executor().schedule(); // after the other has begun to wait
    const auto got = co_await ex.exchange(2); // finds its partner at once: no wait, no span
    (void)got;
}

} // namespace

int main() {
    swaps lobby;
    swaps office;
    lobby.set_name("lobby");
    office.set_name("office");
    (void)tryst::sync_wait(tryst::when_all(wait(lobby, 1h), meet(lobby)));
    (void)tryst::sync_wait(wait(office, 20ms));
}
