// SPDX-License-Identifier: MIT
/// @file
/// Windows' waits for libstdc++. Include it before every other header, in all sources of a program.
///
/// Without futexes, libstdc++ 12 loses wake-ups: it reads the value, then locks a mutex and sleeps,
/// and does not read again in between. So `std::latch`, `std::barrier`, semaphores,
/// `std::atomic::wait` and the destructor of `std::stop_callback` may hang.
/// <bits/atomic_wait.h> uses these functions instead, which compare the value as they fall asleep.
#pragma once

#if defined(__MINGW32__) && !defined(_GLIBCXX_HAVE_PLATFORM_WAIT)

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#define _GLIBCXX_HAVE_PLATFORM_WAIT 1
#define _GLIBCXX_HAVE_PLATFORM_TIMED_WAIT 1

// As in <windows.h>.
extern "C" {
__declspec(dllimport) int __stdcall WaitOnAddress(volatile void* address, void* seen,
                                                  std::size_t size, unsigned long milliseconds);
__declspec(dllimport) void __stdcall WakeByAddressSingle(void* address);
__declspec(dllimport) void __stdcall WakeByAddressAll(void* address);
}

namespace std::__detail {

// Templates, because `__platform_wait` is also called with other types of eight bytes.

template <class T>
void __platform_wait(const T* address, std::uint64_t seen) noexcept {
    static_assert(sizeof(T) == sizeof seen);
    ::WaitOnAddress(const_cast<T*>(address), &seen, sizeof seen, ~0UL);
}

/// @returns whether the wait ended before `deadline`.
template <class Clock, class Duration>
bool __platform_wait_until(const std::uint64_t* address, std::uint64_t seen,
                           const std::chrono::time_point<Clock, Duration>& deadline) {
    using milliseconds = std::chrono::duration<long long, std::milli>;
    const long long left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    constexpr long long most = 24LL * 3600 * 1000; // then it wakes spuriously
    return (left > 0 && ::WaitOnAddress(const_cast<std::uint64_t*>(address), &seen, sizeof seen,
                                        static_cast<unsigned long>(std::min(left, most))) != 0) ||
           Clock::now() < deadline;
}

template <class T>
void __platform_notify(const T* address, bool all) noexcept {
    if (all) {
        ::WakeByAddressAll(const_cast<T*>(address));
    } else {
        ::WakeByAddressSingle(const_cast<T*>(address));
    }
}

} // namespace std::__detail

#endif
