# A build type that nobody has chosen is Release, but not for a generator of many configurations.
function(expect_build_type type)
    file(REMOVE_RECURSE ${FOLDER})
    unset(ENV{CMAKE_BUILD_TYPE})
    execute_process(
        COMMAND ${CMAKE_COMMAND} -S ${TOP} -B ${FOLDER} -DCMAKE_CXX_COMPILER=${CXX}
            -DTRYST_BUILD_TESTS=OFF -DTRYST_BUILD_EXAMPLES=OFF -DTRYST_BUILD_BENCH=OFF ${ARGN}
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(STRINGS ${FOLDER}/CMakeCache.txt found REGEX "^CMAKE_BUILD_TYPE:")
    string(REGEX REPLACE "^[^=]*=" "" found "${found}")
    if(NOT "${found}" STREQUAL type)
        message(FATAL_ERROR "with \"${ARGN}\" the build type is \"${found}\", not \"${type}\"")
    endif()
endfunction()
expect_build_type(Release -G Ninja)
expect_build_type(Debug -G Ninja -DCMAKE_BUILD_TYPE=Debug)
expect_build_type("" -G "Ninja Multi-Config")
