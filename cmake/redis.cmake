# tryst::redis and tryst::boost_redis, the adapter for Redis with either Asio: two libraries of the same sources,
# and installed components that find OpenSSL, which no public header shows.
if(NOT TRYST_ASIO AND NOT TRYST_BOOST_ASIO)
    message(FATAL_ERROR "TRYST_REDIS needs TRYST_ASIO or TRYST_BOOST_ASIO")
endif()
# GLOBAL, for a host that links a static library from its own folder.
find_package(OpenSSL REQUIRED GLOBAL)

set(redis_headers
    include/tryst/redis.hpp
    include/tryst/redis/codec.hpp
    include/tryst/redis/connection.hpp
    include/tryst/redis/options.hpp
    include/tryst/redis/remote_channel.hpp
    include/tryst/redis/remote_exchanger.hpp
    include/tryst/redis/remote_place.hpp
    include/tryst/redis/remote_red_blue_exchanger.hpp
    include/tryst/redis/remote_result.hpp
    include/tryst/redis/detail/arrivals.hpp
    include/tryst/redis/detail/local_place.hpp
    include/tryst/redis/detail/net.hpp
    include/tryst/redis/detail/party.hpp
    include/tryst/redis/detail/room.hpp)
set(redis_sources
    ${PROJECT_BINARY_DIR}/redis/rendezvous_script.cpp
    src/redis/client.cpp
    src/redis/hub.cpp
    src/redis/link.cpp
    src/redis/options.cpp
    src/redis/room.cpp
    src/redis/resp.cpp
    src/redis/slot.cpp
    src/redis/stream.cpp)

# The script as a string. A new configuration follows each change of it.
set(script src/redis/rendezvous.lua)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
file(READ ${script} rendezvous_script)
configure_file(src/redis/rendezvous_script.cpp.in ${PROJECT_BINARY_DIR}/redis/rendezvous_script.cpp @ONLY)

# tryst_add_redis(<component> <component of its Asio>)
function(tryst_add_redis component asio)
    set(target tryst_${component})
    add_library(${target} ${redis_sources})
    add_library(tryst::${component} ALIAS ${target})
    set_target_properties(${target} PROPERTIES
        EXPORT_NAME ${component}
        CXX_EXTENSIONS OFF
        POSITION_INDEPENDENT_CODE ON
        CXX_VISIBILITY_PRESET default # whatever a host prefers for its own: a shared library must show something
        VISIBILITY_INLINES_HIDDEN OFF
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # while the major version is 0
    target_link_libraries(${target}
        PUBLIC tryst::${asio}
        PRIVATE OpenSSL::SSL OpenSSL::Crypto)
    if(TARGET tryst_flags) # not when we are a guest
        target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tryst_flags>)
        tryst_compile_together(${target})
        if(TRYST_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            # Asio has fences beside its locks; g++ warns that ThreadSanitizer does not see them.
            target_compile_options(${target} PRIVATE -Wno-tsan)
        endif()
    endif()
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/redis)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${redis_headers})

    # What depends on the architecture is a package of its own, in lib/ beside the library; in share/ is only the
    # component that looks for it.
    set(package tryst-${component})
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${package})
    install(TARGETS ${target} EXPORT ${package}-config FILE_SET HEADERS)
    install(EXPORT ${package}-config NAMESPACE tryst:: DESTINATION ${package_dir})
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/${package}-config-version.cmake
        COMPATIBILITY ExactVersion)
    install(FILES ${PROJECT_BINARY_DIR}/${package}-config-version.cmake DESTINATION ${package_dir})
    install(FILES cmake/tryst-${component}.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)

    string(REPLACE _ - asio_package tryst-${asio})
    set(public ", ${asio_package}")
    set(private "openssl")
    get_target_property(kind ${target} TYPE)
    if(NOT kind STREQUAL SHARED_LIBRARY)
        string(APPEND public ", ${private}")
        set(private "")
    endif()
    tryst_install_pc(${component} "Redis" ${CMAKE_INSTALL_LIBDIR} LIBS "-L\${pcfiledir}/.. -l${target}"
        REQUIRES "${public}" REQUIRES_PRIVATE "${private}")
endfunction()

if(TRYST_ASIO)
    tryst_add_redis(redis asio)
endif()
if(TRYST_BOOST_ASIO)
    tryst_add_redis(boost_redis boost_asio)
endif()
install(FILES cmake/tryst-find-redis.cmake
    DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
