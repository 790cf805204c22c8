# Compiles program.cpp and other.cpp with OPTIONS, warnings being errors, and runs the program.
separate_arguments(OPTIONS UNIX_COMMAND "${OPTIONS}")
execute_process(
    COMMAND ${CXX} -std=c++20 -Werror ${OPTIONS} -I${TOP}/include program.cpp other.cpp -o ${BINARY} -pthread
    WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
