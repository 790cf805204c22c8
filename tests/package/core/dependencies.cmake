# The core needs the standard library and nothing else, and what is compiled of tryst::uring keeps liburing to
# itself: looks at every file that an umbrella header pulls in, directly or not. FOLDER is for the proof that it looks.
set(decoy ${FOLDER}/boost/liburing.h)
file(WRITE ${decoy} "")

# expect_no_foreign(<header> <pattern of foreign headers>)
function(expect_no_foreign header pattern)
    execute_process(
        COMMAND ${CXX} -std=c++20 -M -I${TOP}/include -include ${header} -include ${decoy} -x c++ /dev/null
        OUTPUT_VARIABLE files
        COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "${TOP}/" "" files "${files}") # the clone itself may live under any name
    if(NOT files MATCHES "include/tryst/executor\\.hpp")
        message(FATAL_ERROR "not the dependencies of an umbrella header:\n${files}")
    endif()
    string(REGEX MATCHALL "[^ \n]*(${pattern})[^ \n]*" foreign "${files}")
    if(NOT foreign MATCHES "boost/liburing\\.h")
        message(FATAL_ERROR "the check is blind: it did not see ${decoy}")
    endif()
    list(FILTER foreign EXCLUDE REGEX "boost/liburing\\.h$")
    if(foreign)
        message(FATAL_ERROR "<${header}> depends on ${foreign}")
    endif()
endfunction()
expect_no_foreign(tryst/tryst.hpp "asio|boost|fiber|uring")
expect_no_foreign(tryst/uring.hpp "asio|boost|liburing|io_uring|src/uring")
