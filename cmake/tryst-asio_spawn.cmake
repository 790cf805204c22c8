# The component `asio_spawn` of the package.
include(${CMAKE_CURRENT_LIST_DIR}/tryst-asio.cmake)
find_package(Boost 1.81 QUIET COMPONENTS coroutine context)
if(TARGET tryst::asio AND TARGET Boost::coroutine)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-asio_spawn-targets.cmake)
elseif(TARGET tryst::asio)
    set(tryst_needed "Boost.Coroutine is not found; install version 1.81 (Debian: libboost-coroutine1.81-dev)")
endif()
