# tryst::asio and tryst::boost_asio, the adapters for the two Asios: the same headers.
set(sockets "")
if(WIN32)
    set(sockets "-lws2_32 -lmswsock")
endif()
if(TRYST_ASIO)
    # A pkg-config file does not know the compiler; to g++ the last two say what it says itself.
    tryst_add_adapter(asio "Asio"
        FIND "include(\${CMAKE_CURRENT_LIST_DIR}/tryst-find-asio.cmake)" LIBRARY tryst::asio_headers
        NOT_FOUND "asio.hpp is not found; install Asio 1.22 (Debian: libasio-dev)"
        CFLAGS "-DASIO_STANDALONE -DASIO_HAS_CO_AWAIT -DASIO_HAS_STD_COROUTINE" LIBS "${sockets}")
    install(FILES cmake/tryst-find-asio.cmake DESTINATION ${tryst_share})
    # Asio 1.22 does not know that clang has coroutines.
    target_compile_definitions(tryst_asio INTERFACE ASIO_STANDALONE
        $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT>
        $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_STD_COROUTINE>)
endif()
if(TRYST_ASIO AND TRYST_ASIO_SPAWN)
    # Of the standalone Asio, only asio::spawn needs Boost.
    tryst_add_adapter(asio_spawn "asio::spawn" OVER asio
        FIND "find_package(Boost 1.81 QUIET \${tryst_global} COMPONENTS coroutine context)"
        LIBRARY Boost::coroutine Boost::context
        NOT_FOUND "Boost.Coroutine is not found; install version 1.81 (Debian: libboost-coroutine1.81-dev)"
        LIBS "-lboost_coroutine -lboost_context")
endif()
if(TRYST_BOOST_ASIO)
    tryst_add_adapter(boost_asio "Boost.Asio"
        FIND "find_package(Boost 1.81 QUIET \${tryst_global})" LIBRARY Boost::headers
        NOT_FOUND "Boost is not found; install version 1.81 (Debian: libboost1.81-dev)"
        CFLAGS -DTRYST_BOOST_ASIO LIBS "${sockets}")
    target_compile_definitions(tryst_boost_asio INTERFACE TRYST_BOOST_ASIO)
endif()
foreach(target IN ITEMS tryst_asio tryst_boost_asio)
    if(TARGET ${target}) # which Windows may use, too
        target_link_libraries(${target} INTERFACE $<$<PLATFORM_ID:Windows>:ws2_32> $<$<PLATFORM_ID:Windows>:mswsock>)
    endif()
endforeach()
