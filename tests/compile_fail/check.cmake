# SOURCE must compile with MISTAKE=0: then nothing else is wrong with it. A line announces each mistake and how
# it is refused: `#if MISTAKE == <1, 2, ...> // <regex>`, or `#elif`. With MISTAKE=1 the first error must be the
# first of these messages, and so on. `// clang: <regex>` is for clang, as COMPILER_ID says. OPTIONS are the
# compiler's. FOLDER has a precompiled header meanwhile: what SOURCE begins with, its comments and includes.
#
# A message helps only if it is seen: it must be the first error, begin in the first lines, and be one of at
# most LINES lines.
set(first_lines 16)
if(NOT LINES)
    set(LINES 25)
endif()
# For a deleted conversion, clang quotes the declaration, in the next lines.
string(CONCAT start
    "error: (static assertion failed[^\n]*|ignoring return[^\n]*|use of deleted function[^\n]*|"
    "conversion function [^\n]* invokes a deleted function.*)")

set(ENV{LC_ALL} C) # the compiler speaks the language of its user
separate_arguments(options UNIX_COMMAND "${OPTIONS}")
set(compile ${CXX} -std=c++20 -Werror=unused-result ${options} -I${TOP}/include)
cmake_path(GET SOURCE STEM name)
set(head ${FOLDER}/precompiled_${name}.hpp)
file(READ ${SOURCE} text)
string(REGEX MATCH "^((//|#include )[^\n]*\n|\n)+" text "${text}")
file(WRITE ${head} "${text}")
execute_process(COMMAND ${compile} -x c++-header ${head} -o ${head}.gch COMMAND_ERROR_IS_FATAL ANY)
list(APPEND compile -include ${head} -fsyntax-only ${SOURCE})
execute_process(COMMAND ${compile} -DMISTAKE=0 COMMAND_ERROR_IS_FATAL ANY)

set(mistake 0)
file(STRINGS ${SOURCE} announcements REGEX "MISTAKE ")
foreach(announcement IN LISTS announcements)
    math(EXPR mistake "${mistake} + 1")
    if(NOT announcement MATCHES "^#(if|elif) MISTAKE == ${mistake} +// (clang: )?(.+)$")
        message(FATAL_ERROR "${SOURCE} does not announce mistake ${mistake}, but: ${announcement}")
    endif()
    set(diagnostic "${CMAKE_MATCH_3}")
    if(CMAKE_MATCH_2 AND NOT COMPILER_ID STREQUAL "Clang")
        continue()
    endif()
    execute_process(COMMAND ${compile} -DMISTAKE=${mistake} RESULT_VARIABLE status ERROR_VARIABLE output)
    if(status EQUAL 0)
        message(FATAL_ERROR "mistake ${mistake} in ${SOURCE} was accepted")
    endif()
    string(STRIP "${output}" lines)
    string(REGEX REPLACE "[][;]" " " lines "${lines}") # which have a meaning in a list
    string(REGEX REPLACE "\n+" ";" lines "${lines}")
    list(FILTER lines EXCLUDE REGEX "/precompiled_${name}") # which users do not have
    list(LENGTH lines length)
    if(length GREATER LINES)
        message(FATAL_ERROR "mistake ${mistake} was refused in ${length} lines:\n${output}")
    endif()
    list(SUBLIST lines 0 ${first_lines} lines)
    list(JOIN lines "\n" lines)
    string(FIND "${lines}" "error: " first_error)
    if(NOT first_error EQUAL -1)
        string(SUBSTRING "${lines}" ${first_error} -1 lines)
    endif()
    if(NOT lines MATCHES "^${start}${diagnostic}")
        message(FATAL_ERROR "mistake ${mistake} was refused, but not at once with \"${diagnostic}\":\n${output}")
    endif()
endforeach()
if(mistake EQUAL 0)
    message(FATAL_ERROR "${SOURCE} announces no mistake")
endif()
file(REMOVE ${head}.gch) # large
