# The component `fiber` of the package.
find_package(Boost 1.81 QUIET COMPONENTS fiber)
if(TARGET Boost::fiber)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-fiber-targets.cmake)
else()
    set(tryst_needed "Boost.Fiber is not found; install version 1.81 (Debian: libboost-fiber1.81-dev)")
endif()
