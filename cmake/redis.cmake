# tryst::redis and tryst::boost_redis, the adapter for Redis with either Asio: two libraries of the same sources. No
# public header shows OpenSSL.
if(NOT TRYST_ASIO AND NOT TRYST_BOOST_ASIO)
    message(FATAL_ERROR "TRYST_REDIS needs TRYST_ASIO or TRYST_BOOST_ASIO")
endif()
file(GLOB redis_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} src/redis/*.cpp)
list(APPEND redis_sources ${PROJECT_BINARY_DIR}/redis/rendezvous_script.cpp)

# The script as a string. A new configuration follows each change of it.
set(script src/redis/rendezvous.lua)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
file(READ ${script} rendezvous_script)
configure_file(src/redis/rendezvous_script.cpp.in ${PROJECT_BINARY_DIR}/redis/rendezvous_script.cpp @ONLY)

# tryst_add_redis(<component> <component of its Asio>)
function(tryst_add_redis component asio)
    tryst_add_adapter(${component} "Redis" OVER ${asio}
        FIND "find_package(OpenSSL QUIET \${tryst_global})" LIBRARY OpenSSL::SSL OpenSSL::Crypto
        NOT_FOUND "OpenSSL is not found; install version 3 (Debian: libssl-dev)"
        MODULE openssl
        SOURCES ${redis_sources})
    target_include_directories(tryst_${component} PRIVATE ${PROJECT_SOURCE_DIR}/src/redis)
    if(TRYST_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Asio has fences beside its locks; g++ warns that ThreadSanitizer does not see them.
        target_compile_options(tryst_${component} PRIVATE -Wno-tsan)
    endif()
endfunction()
if(TRYST_ASIO)
    tryst_add_redis(redis asio)
endif()
if(TRYST_BOOST_ASIO)
    tryst_add_redis(boost_redis boost_asio)
endif()
