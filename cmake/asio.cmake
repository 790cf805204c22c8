# tryst::asio and tryst::boost_asio, the adapters for the two Asios: the same headers, and installed
# components that find what they need themselves.
set(headers
    include/tryst/asio.hpp
    include/tryst/asio/async_wait.hpp
    include/tryst/asio/bind_stop_token.hpp
    include/tryst/asio/task_executor.hpp
    include/tryst/asio/wait.hpp
    include/tryst/asio/detail/context_timers.hpp
    include/tryst/asio/detail/exchange_executor.hpp
    include/tryst/asio/detail/handler_memory.hpp
    include/tryst/asio/detail/handler_traits.hpp
    include/tryst/asio/detail/net.hpp
    include/tryst/asio/detail/operation_state.hpp
    include/tryst/asio/detail/registry.hpp
    include/tryst/asio/detail/serial_executor.hpp
    include/tryst/asio/detail/slot_stop.hpp
    include/tryst/asio/detail/suspended_exchange.hpp
    include/tryst/asio/detail/taken_operation.hpp
    include/tryst/asio/detail/task_driver.hpp
    include/tryst/asio/detail/work_queue.hpp)

# tryst_add_asio(<component> <definition>)
function(tryst_add_asio component definition)
    set(target tryst_${component})
    add_library(${target} INTERFACE)
    add_library(tryst::${component} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
    target_link_libraries(${target} INTERFACE tryst::tryst ${ARGN})
    target_link_libraries(${target} INTERFACE $<$<PLATFORM_ID:Windows>:ws2_32> $<$<PLATFORM_ID:Windows>:mswsock>)
    target_compile_definitions(${target} INTERFACE ${definition})
    if(component STREQUAL asio)
        cmake_path(GET TRYST_ASIO_HEADER PARENT_PATH asio_include_dir)
        target_include_directories(${target} SYSTEM INTERFACE $<BUILD_INTERFACE:${asio_include_dir}>)
        # Asio 1.22 does not know that clang has coroutines.
        target_compile_definitions(${target} INTERFACE
            $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT>
            $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_STD_COROUTINE>)
    endif()
    target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS include FILES ${headers})

    install(TARGETS ${target} EXPORT tryst-${component}-targets FILE_SET HEADERS)
    install(EXPORT tryst-${component}-targets
        NAMESPACE tryst:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
    install(FILES cmake/tryst-${component}.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
endfunction()

set(sockets "")
if(WIN32)
    set(sockets "-lws2_32 -lmswsock")
endif()
if(TRYST_ASIO)
    find_file(TRYST_ASIO_HEADER asio.hpp REQUIRED)
    tryst_add_asio(asio ASIO_STANDALONE)
    # A pkg-config file does not know the compiler; to g++ the last two say what it says itself.
    tryst_install_pc(asio "Asio" ${CMAKE_INSTALL_DATADIR}
        CFLAGS "-DASIO_STANDALONE -DASIO_HAS_CO_AWAIT -DASIO_HAS_STD_COROUTINE" LIBS "${sockets}")
endif()
if(TRYST_ASIO AND TRYST_ASIO_SPAWN)
    # Of the standalone Asio, only asio::spawn needs Boost.
    find_package(Boost 1.81 REQUIRED COMPONENTS coroutine context)
    add_library(tryst_asio_spawn INTERFACE)
    add_library(tryst::asio_spawn ALIAS tryst_asio_spawn)
    set_target_properties(tryst_asio_spawn PROPERTIES EXPORT_NAME asio_spawn)
    target_link_libraries(tryst_asio_spawn INTERFACE tryst_asio Boost::coroutine Boost::context)

    install(TARGETS tryst_asio_spawn EXPORT tryst-asio_spawn-targets)
    install(EXPORT tryst-asio_spawn-targets
        NAMESPACE tryst:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
    install(FILES cmake/tryst-asio_spawn.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
    tryst_install_pc(asio_spawn "asio::spawn" ${CMAKE_INSTALL_DATADIR}
        REQUIRES ", tryst-asio" LIBS "-lboost_coroutine -lboost_context")
endif()
if(TRYST_BOOST_ASIO)
    find_package(Boost 1.81 REQUIRED)
    tryst_add_asio(boost_asio TRYST_BOOST_ASIO Boost::headers)
    tryst_install_pc(boost_asio "Boost.Asio" ${CMAKE_INSTALL_DATADIR} CFLAGS -DTRYST_BOOST_ASIO LIBS "${sockets}")
endif()
