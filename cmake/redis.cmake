# tryst::redis and tryst::boost_redis, the adapter for Redis with either Asio: two libraries of the same sources. No
# public header shows OpenSSL.
if(NOT TRYST_ASIO AND NOT TRYST_BOOST_ASIO)
    message(FATAL_ERROR "TRYST_REDIS needs TRYST_ASIO or TRYST_BOOST_ASIO")
endif()
set(redis_sources
    ${PROJECT_BINARY_DIR}/redis/rendezvous_script.cpp
    src/redis/client.cpp
    src/redis/connection.cpp
    src/redis/hub.cpp
    src/redis/link.cpp
    src/redis/options.cpp
    src/redis/room.cpp
    src/redis/room_requests.cpp
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
    tryst_add_adapter(${component} "Redis" OVER ${asio}
        FIND "find_package(OpenSSL QUIET \${tryst_global})" LIBRARY OpenSSL::SSL OpenSSL::Crypto
        NOT_FOUND "OpenSSL is not found; install version 3 (Debian: libssl-dev)"
        MODULE openssl
        SOURCES ${redis_sources}
        HEADERS
            redis.hpp
            redis/codec.hpp
            redis/connection.hpp
            redis/options.hpp
            redis/remote_channel.hpp
            redis/remote_exchanger.hpp
            redis/remote_place.hpp
            redis/remote_red_blue_exchanger.hpp
            redis/remote_result.hpp
            redis/detail/arrivals.hpp
            redis/detail/local_place.hpp
            redis/detail/net.hpp
            redis/detail/party.hpp
            redis/detail/room.hpp)
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
