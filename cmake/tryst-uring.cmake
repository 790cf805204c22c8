# The component `uring` of the package.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_package(liburing QUIET)
if(liburing_FOUND)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-uring-targets.cmake)
endif()
