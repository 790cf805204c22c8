# SOURCE must compile with MISTAKE=0: then nothing else is wrong with it. With MISTAKE=1 it must be
# refused with the diagnostic that SOURCE announces: `// diagnostic: <regex>`. ERROR is its kind: a
# static_assertion, a warning that is an error, or the use of a deleted function.
file(STRINGS ${SOURCE} diagnostic REGEX "^// diagnostic: .+")
string(REGEX REPLACE "^// diagnostic: " "" diagnostic "${diagnostic}")
if(NOT diagnostic)
    message(FATAL_ERROR "${SOURCE} announces no diagnostic")
endif()

set(start "error: static assertion failed")
if(ERROR STREQUAL warning)
    set(start "error: ")
elseif(ERROR STREQUAL deleted)
    set(start "error: (use of|call to) deleted function")
endif()
set(ENV{LC_ALL} C) # the compiler speaks the language of its user
set(compile ${CXX} -std=c++20 -Werror=unused-result -I${TOP}/include -fsyntax-only ${SOURCE})
execute_process(COMMAND ${compile} -DMISTAKE=0 COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${compile} -DMISTAKE=1 RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0)
    message(FATAL_ERROR "the mistake in ${SOURCE} was accepted")
endif()
if(NOT output MATCHES "${start}[^\n]*${diagnostic}")
    message(FATAL_ERROR "refused, but without \"${diagnostic}\":\n${output}")
endif()
