# The components `redis` and `boost_redis` of the package, named by tryst_redis_component, over the component
# tryst_redis_asio, which is found already or not. The compiled part is in lib/ of the same prefix, in a package of
# its own, because that depends on the architecture.
if(TARGET tryst::${tryst_redis_asio})
    find_package(OpenSSL QUIET)
    if(NOT TARGET OpenSSL::SSL)
        set(tryst_needed "OpenSSL is not found; install version 3 (Debian: libssl-dev)")
    else()
        unset(tryst-${tryst_redis_component}_DIR CACHE) # of another prefix, perhaps
        find_package(tryst-${tryst_redis_component} ${tryst_VERSION} EXACT QUIET CONFIG
            HINTS ${CMAKE_CURRENT_LIST_DIR}/../../.. NO_DEFAULT_PATH)
        mark_as_advanced(tryst-${tryst_redis_component}_DIR)
        set(tryst_needed
            "its compiled library is not in this prefix; build tryst with -DTRYST_REDIS=ON and install it again")
    endif()
endif()
