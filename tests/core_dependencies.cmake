# The core needs the standard library and nothing else: looks at every file that the umbrella
# header pulls in, directly or not, adapters included.

# The foreign headers among those that `source` includes; `include_dir` comes after our own.
function(find_foreign result source include_dir)
    execute_process(
        COMMAND ${CXX} -std=c++20 -M -I${TOP}/include -I${include_dir} ${source}
        OUTPUT_VARIABLE files
        COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "${TOP}/" "" files "${files}") # the clone itself may live under any name
    if(NOT files MATCHES "include/tryst/exchanger\\.hpp")
        message(FATAL_ERROR "not the dependencies of the umbrella header:\n${files}")
    endif()
    string(REGEX MATCHALL "[^ \n]*(asio|boost|liburing)[^ \n]*" foreign "${files}")
    set(${result} "${foreign}" PARENT_SCOPE)
endfunction()

# First, proof that the check can fail.
set(decoy ${CMAKE_CURRENT_LIST_DIR}/core_dependencies)
find_foreign(foreign ${decoy}/decoy.cpp ${decoy})
if(NOT foreign MATCHES "boost/decoy\\.hpp")
    message(FATAL_ERROR "the check is blind: it did not see boost/decoy.hpp")
endif()

find_foreign(foreign ${decoy}/umbrella.cpp ${decoy})
if(foreign)
    message(FATAL_ERROR "<tryst/tryst.hpp> depends on ${foreign}")
endif()
