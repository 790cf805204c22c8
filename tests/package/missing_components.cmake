# All components that are missing are named at once, each with the reason. From a copy of PREFIX without the
# adapter for fibers, where nothing of the system's is found. FOLDER is for the copy and the build.
file(REMOVE_RECURSE ${FOLDER})
file(COPY ${PREFIX}/ DESTINATION ${FOLDER}/prefix)
file(REMOVE ${FOLDER}/prefix/share/cmake/tryst/tryst-fiber.cmake)
file(WRITE ${FOLDER}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
    project(consumer LANGUAGES CXX)
    find_package(tryst 0.1 REQUIRED COMPONENTS
        asio asio_spawn boost_asio boost_redis fiber glib libevent libuv qt redis systemd uring submarine)")
execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${FOLDER} -B ${FOLDER}/build -G ${GENERATOR}
        -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
        -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF
    RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_QUIET)
if(status EQUAL 0)
    message(FATAL_ERROR "components that are missing were found")
endif()
foreach(reason IN ITEMS
        "asio: asio.hpp is not found; install Asio"
        "asio_spawn: asio.hpp is not found; install Asio"
        "boost_asio: Boost is not found; install version"
        "boost_redis: Boost is not found; install version"
        "redis: asio.hpp is not found; install Asio"
        "fiber: not a part of this installation; configure tryst with -DTRYST_FIBER=ON"
        "glib: pkg-config does not find glib-2.0>=2.74; install it"
        "libevent: pkg-config does not find libevent_core>="
        "libuv: pkg-config does not find libuv>="
        "qt: Qt is not found; install version"
        "systemd: pkg-config does not find libsystemd>="
        "uring: liburing is not found; install version"
        "submarine: no such component; there are asio,")
    if(NOT output MATCHES "\n *${reason}")
        message(FATAL_ERROR "\"${reason}\" is not in:\n${output}")
    endif()
endforeach()
