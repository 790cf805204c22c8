# Makes the single header with PYTHON in FOLDER. Compiles with it alone, warnings being errors: the README's program, and
# the program that uses all of the core, from two sources that both include it.
set(header ${FOLDER}/tryst/tryst.hpp)
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${PYTHON} -B ${TOP}/packaging/single_header.py ${header} COMMAND_ERROR_IS_FATAL ANY)
file(READ ${header} text)
if(text MATCHES "#include <tryst/|#include \"")
    message(FATAL_ERROR "${header} includes \"${CMAKE_MATCH_0}\"")
endif()
set(compile ${CXX} -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror -I${FOLDER} -pthread)
execute_process(COMMAND ${compile} ${TOP}/examples/hello.cpp -o ${FOLDER}/hello COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/hello OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output STREQUAL "got a\ngot b\n")
    message(FATAL_ERROR "hello says:\n${output}")
endif()
execute_process(
    COMMAND ${compile} ${TOP}/tests/package/core/program.cpp ${TOP}/tests/package/core/other.cpp -o ${FOLDER}/program
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
