# Compiles program.cpp with OPTIONS, warnings being errors, and runs it.
separate_arguments(OPTIONS UNIX_COMMAND "${OPTIONS}")
set(program ${CMAKE_CURRENT_LIST_DIR}/program.cpp)
execute_process(
    COMMAND ${CXX} -std=c++20 -Werror ${OPTIONS} -I${TOP}/include ${program} -o ${BINARY} -pthread
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
