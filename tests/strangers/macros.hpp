// SPDX-License-Identifier: MIT
/// @file
/// Macros of headers that users include first. Most of them come from <windows.h>, others from X11,
/// Qt, <sys/sysmacros.h>, <complex.h> or a compiler.
#pragma GCC system_header // on Windows most are defined already; this gives no warning
// NOLINTBEGIN(cppcoreguidelines-macro-usage, readability-identifier-naming)
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#undef BOOL
#undef FALSE
#undef TRUE
#define BOOL int
#define FALSE 0
#define TRUE 1

// If a header used one of these names, it would not compile.
#define TRYST_TEST_MACRO not a name
#define ABSOLUTE TRYST_TEST_MACRO
#define Always TRYST_TEST_MACRO
#define Bool TRYST_TEST_MACRO
#define CALLBACK TRYST_TEST_MACRO
#define CONST TRYST_TEST_MACRO
#define CreateEvent TRYST_TEST_MACRO
#define DELETE TRYST_TEST_MACRO
#define DIFFERENCE TRYST_TEST_MACRO
#define ERROR TRYST_TEST_MACRO
#define False TRYST_TEST_MACRO
#define GetMessage TRYST_TEST_MACRO
#define IGNORE TRYST_TEST_MACRO
#define IN TRYST_TEST_MACRO
#define None TRYST_TEST_MACRO
#define NO_ERROR TRYST_TEST_MACRO
#define OPTIONAL TRYST_TEST_MACRO
#define OUT TRYST_TEST_MACRO
#define PASCAL TRYST_TEST_MACRO
#define RELATIVE TRYST_TEST_MACRO
#define STRICT TRYST_TEST_MACRO
#define SendMessage TRYST_TEST_MACRO
#define Status TRYST_TEST_MACRO
#define Success TRYST_TEST_MACRO
#define THIS TRYST_TEST_MACRO
#define TRANSPARENT TRYST_TEST_MACRO
#define True TRYST_TEST_MACRO
#define VOID TRYST_TEST_MACRO
#define Yield TRYST_TEST_MACRO
#define complex TRYST_TEST_MACRO
#define far TRYST_TEST_MACRO
#define foreach TRYST_TEST_MACRO
#define hyper TRYST_TEST_MACRO
#define imaginary TRYST_TEST_MACRO
#define interface TRYST_TEST_MACRO
#define linux TRYST_TEST_MACRO
#define major TRYST_TEST_MACRO
#define makedev TRYST_TEST_MACRO
#define minor TRYST_TEST_MACRO
#define near TRYST_TEST_MACRO
#define pascal TRYST_TEST_MACRO
#define signals TRYST_TEST_MACRO
#define slots TRYST_TEST_MACRO
#define small TRYST_TEST_MACRO
#define unix TRYST_TEST_MACRO
// NOLINTEND(cppcoreguidelines-macro-usage, readability-identifier-naming)
