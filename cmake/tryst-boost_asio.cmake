# The component `boost_asio` of the package.
find_package(Boost 1.81 QUIET)
if(TARGET Boost::headers)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-boost_asio-targets.cmake)
else()
    set(tryst_needed "Boost is not found; install version 1.81 (Debian: libboost1.81-dev)")
endif()
