# SOURCE must compile with MISTAKE=0: then nothing else is wrong with it. It announces one diagnostic for each
# mistake: `// diagnostic: <regex>`. With MISTAKE=1 it must be refused with the first of them, with MISTAKE=2
# with the second, and so on. ERROR is their kind: a static_assertion, a warning that is an error, the use of a
# deleted function, or a deleted conversion. OPTIONS are the compiler's.
#
# A message helps only if it is seen: it must be the first error, begin in the first lines, and be one of at
# most LINES lines.
set(first_lines 16)
if(NOT LINES)
    set(LINES 24)
endif()

file(STRINGS ${SOURCE} diagnostics REGEX "^// diagnostic: .+")
list(TRANSFORM diagnostics REPLACE "^// diagnostic: " "")
if(NOT diagnostics)
    message(FATAL_ERROR "${SOURCE} announces no diagnostic")
endif()

set(start "error: static assertion failed[^\n]*")
if(ERROR STREQUAL warning)
    set(start "error: [^\n]*")
elseif(ERROR STREQUAL deleted)
    set(start "error: (use of|call to) deleted function[^\n]*")
elseif(ERROR STREQUAL conversion) # clang quotes the declaration, in the next lines
    set(start "error: (use of deleted function[^\n]*|conversion function [^\n]* invokes a deleted function.*)")
endif()
set(ENV{LC_ALL} C) # the compiler speaks the language of its user
separate_arguments(options UNIX_COMMAND "${OPTIONS}")
set(compile ${CXX} -std=c++20 -Werror=unused-result ${options} -I${TOP}/include -fsyntax-only ${SOURCE})
execute_process(COMMAND ${compile} -DMISTAKE=0 COMMAND_ERROR_IS_FATAL ANY)

set(mistake 0)
foreach(diagnostic IN LISTS diagnostics)
    math(EXPR mistake "${mistake} + 1")
    execute_process(COMMAND ${compile} -DMISTAKE=${mistake} RESULT_VARIABLE status ERROR_VARIABLE output)
    if(status EQUAL 0)
        message(FATAL_ERROR "mistake ${mistake} in ${SOURCE} was accepted")
    endif()
    string(STRIP "${output}" lines)
    string(REGEX REPLACE "[][;]" " " lines "${lines}") # which have a meaning in a list
    string(REGEX REPLACE "\n+" ";" lines "${lines}")
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
