// SPDX-License-Identifier: MIT
// Preloaded into redis-server: its wall clock is the system's plus a number of seconds, an int64_t
// in the file that TRYST_CLOCK names. Whoever writes the file steps the clock. (libfaketime does
// not start in front of jemalloc.)
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

const volatile std::int64_t* step = nullptr;

[[gnu::constructor]] void open_clock() {
    const char* const path = std::getenv("TRYST_CLOCK");
    if (path == nullptr) {
        return;
    }
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    void* const shared = ::mmap(nullptr, sizeof *step, PROT_READ, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) {
        std::abort();
    }
    ::close(file);
    step = static_cast<const volatile std::int64_t*>(shared);
}

} // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
    if (result == 0 && step != nullptr &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += *step;
    }
    return result;
}

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
    timespec exact{};
    const int result = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return result;
}

extern "C" time_t time(time_t* copy) noexcept {
    timespec exact{};
    clock_gettime(CLOCK_REALTIME, &exact);
    if (copy != nullptr) {
        *copy = exact.tv_sec;
    }
    return exact.tv_sec;
}
