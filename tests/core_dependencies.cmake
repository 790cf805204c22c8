# The core needs the standard library and nothing else, and what is compiled of tryst::uring keeps liburing to
# itself: looks at every file that an umbrella header pulls in, directly or not.

# The foreign headers among those that `source` includes; `include_dir` comes after our own.
function(find_foreign result source include_dir pattern)
    execute_process(
        COMMAND ${CXX} -std=c++20 -M -I${TOP}/include -I${include_dir} ${source}
        OUTPUT_VARIABLE files
        COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "${TOP}/" "" files "${files}") # the clone itself may live under any name
    if(NOT files MATCHES "include/tryst/executor\\.hpp")
        message(FATAL_ERROR "not the dependencies of an umbrella header:\n${files}")
    endif()
    string(REGEX MATCHALL "[^ \n]*(${pattern})[^ \n]*" foreign "${files}")
    set(${result} "${foreign}" PARENT_SCOPE)
endfunction()

# First, proof that the check can fail.
set(decoy ${CMAKE_CURRENT_LIST_DIR}/core_dependencies)
set(adapters "asio|boost|fiber|uring")
find_foreign(foreign ${decoy}/decoy.cpp ${decoy} ${adapters})
if(NOT foreign MATCHES "boost/decoy\\.hpp")
    message(FATAL_ERROR "the check is blind: it did not see boost/decoy.hpp")
endif()
find_foreign(foreign ${decoy}/uring.cpp ${decoy} ${adapters})
if(NOT foreign MATCHES "tryst/uring\\.hpp")
    message(FATAL_ERROR "the check is blind: it did not see tryst/uring.hpp")
endif()

find_foreign(foreign ${decoy}/umbrella.cpp ${decoy} ${adapters})
if(foreign)
    message(FATAL_ERROR "<tryst/tryst.hpp> depends on ${foreign}")
endif()
find_foreign(foreign ${decoy}/uring.cpp ${decoy} "asio|boost|liburing|io_uring|src/uring")
if(foreign)
    message(FATAL_ERROR "<tryst/uring.hpp> depends on ${foreign}")
endif()
