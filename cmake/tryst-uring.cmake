# The component `uring` of the package. Its compiled part is in lib/ of the same prefix, in a package of its own,
# because that depends on the architecture.
set(tryst_outer_module_path "${CMAKE_MODULE_PATH}")
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_package(liburing QUIET)
set(CMAKE_MODULE_PATH "${tryst_outer_module_path}")
unset(tryst_outer_module_path)
if(liburing_FOUND)
    unset(tryst-uring_DIR CACHE) # of another prefix, perhaps
    find_package(tryst-uring ${tryst_VERSION} EXACT QUIET CONFIG
        HINTS ${CMAKE_CURRENT_LIST_DIR}/../../.. NO_DEFAULT_PATH)
    mark_as_advanced(tryst-uring_DIR)
    set(tryst_needed "its compiled library is not in this prefix; build tryst with -DTRYST_URING=ON and install it again")
else()
    set(tryst_needed "liburing is not found; install version 2.3 (Debian: liburing-dev)")
endif()
