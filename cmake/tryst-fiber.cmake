# The component `fiber` of the package.
find_package(Boost 1.81 QUIET COMPONENTS fiber)
if(TARGET Boost::fiber)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-fiber-targets.cmake)
endif()
