// SPDX-License-Identifier: MIT
/// @file
/// The steps of the protocol, for tests and tracers. docs/probes.md lists their arguments.
/// `TRYST_TRACE(growth, ...)` expands to nothing, unless a test defines it. With `TRYST_USDT` it is
/// a probe `tryst:growth`: one nop, and a note about it in a section that is not loaded.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#if defined(TRYST_USDT) && !defined(TRYST_TRACE)
#if !defined(__ELF__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "tryst: TRYST_USDT needs ELF on x86-64 or AArch64; compile without it"
#endif

/* The note has the format of <sys/sdt.h>:
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
 * The macros of that header are not used, because the compiler takes each for a hundred
 * instructions, and then inlines less. Here `inline` tells it that there is only one. */
#define TRYST_USDT_NOTE(step, arguments)                                                           \
    "990: nop\n"                                                                                   \
    ".pushsection .note.stapsdt, \"?\", \"note\"\n"                                                \
    ".balign 4\n"                                                                                  \
    ".4byte 992f - 991f, 994f - 993f, 3\n"                                                         \
    "991: .asciz \"stapsdt\"\n"                                                                    \
    "992: .balign 4\n"                                                                             \
    "993: .8byte 990b\n"                                                                           \
    ".8byte _.stapsdt.base\n"                                                                      \
    ".8byte 0\n" /* no semaphore */                                                                \
    ".asciz \"tryst\"\n"                                                                           \
    ".asciz \"" step "\"\n"                                                                        \
    ".asciz \"" arguments "\"\n"                                                                   \
    "994: .balign 4\n"                                                                             \
    ".popsection\n"                                                                                \
    ".ifndef _.stapsdt.base\n"                                                                     \
    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                    \
    ".weak _.stapsdt.base\n"                                                                       \
    ".hidden _.stapsdt.base\n"                                                                     \
    "_.stapsdt.base: .space 1\n"                                                                   \
    ".size _.stapsdt.base, 1\n"                                                                    \
    ".popsection\n"                                                                                \
    ".endif\n"

// An argument is where the compiler has it anyway. If clang may choose memory, it always does.
#ifdef __clang__
#define TRYST_USDT_WORD(value) "nr"(::tryst::detail::probe_word(value))
#else
#define TRYST_USDT_WORD(value) "nor"(::tryst::detail::probe_word(value))
#endif

#define TRYST_USDT_0(step) asm inline volatile(TRYST_USDT_NOTE(#step, ""))
#define TRYST_USDT_1(step, a)                                                                      \
    asm inline volatile(TRYST_USDT_NOTE(#step, "8@%0")::TRYST_USDT_WORD(a))
#define TRYST_USDT_2(step, a, b)                                                                   \
    asm inline volatile(TRYST_USDT_NOTE(#step, "8@%0 8@%1")::TRYST_USDT_WORD(a), TRYST_USDT_WORD(b))
#define TRYST_USDT_3(step, a, b, c)                                                                \
    asm inline volatile(TRYST_USDT_NOTE(#step, "8@%0 8@%1 8@%2")::TRYST_USDT_WORD(a),              \
                        TRYST_USDT_WORD(b), TRYST_USDT_WORD(c))
#define TRYST_USDT_SELECT(step, a, b, c, probe, ...) probe
#define TRYST_TRACE(...)                                                                           \
    TRYST_USDT_SELECT(__VA_ARGS__, TRYST_USDT_3, TRYST_USDT_2, TRYST_USDT_1, TRYST_USDT_0, )       \
    (__VA_ARGS__)

namespace tryst::detail {

template <class T>
[[gnu::always_inline]] inline std::uintptr_t probe_word(T* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
}
[[gnu::always_inline]] constexpr std::uintptr_t probe_word(std::nullptr_t) noexcept {
    return 0;
}
template <std::integral T>
[[gnu::always_inline]] constexpr std::uintptr_t probe_word(T number) noexcept {
    return static_cast<std::uintptr_t>(number);
}

} // namespace tryst::detail
#endif

#ifndef TRYST_TRACE
#define TRYST_TRACE(...) static_cast<void>(0)
#endif

namespace tryst::detail {

enum class step : std::uint8_t {
    claim_in_wait_list, ///< A partner was claimed in slot 0.
    claim_in_arena, ///< A partner was claimed in another slot.
    completion_in_place, ///< A partner was completed on its own executor, by a plain store.
    offer_in_arena, ///< A bounded offer was made.
    another_turn, ///< The bounded offer of a lone party was prolonged by a turn.
    expiry, ///< A bounded offer expired without a partner.
    growth, ///< The bound went up.
    shrinkage, ///< The bound went down.
    stop, ///< A canceller withdrew a parked waiter.
    late_stop, ///< A canceller lost the race for the waiter.
    own_stop, ///< The owner found a stop when it was about to park.
    pinned, ///< A completion met a withdrawal that was under way.
    withdrawing, ///< A withdrawal has been announced, but not tried yet.
    completing, ///< A waiter is out of its slot, but not done yet.
    vacancy, ///< A partner found the position of a withdrawn waiter.
    refill, ///< An arrival of the same colour reused such a position.
    disowning, ///< An arrival of the other colour could not use such a position.
    ticket, ///< A ticket was taken, but its cell has not been visited yet.
    passing_over, ///< A party passed a cell whose other visitor had not reached it yet.
    recycling, ///< A segment was released, because all its cells were finished.
    sweeping, ///< A segment was released by a sweep.
    commit, ///< A completer decided for a waiter of a selection.
    stale_claim, ///< A claimed waiter belonged to a selection that was decided already.
    held_selection, ///< A completer waited for the registration of a selection.
    wait_start, ///< A party begins to wait: it is about to offer its waiter. With the exchanger's
    ///< name and the waiter.
    wait_end, ///< The party's wait is over. With the waiter and the `outcome`.
};

/// The steps of an adapter are numbered from here.
inline constexpr auto step_count = static_cast<std::uint8_t>(step::wait_end) + 1;

} // namespace tryst::detail
