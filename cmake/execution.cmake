# tryst::execution, the adapter for senders and receivers: headers, and an installed component that finds stdexec
# itself. A standard library with std::execution needs neither stdexec nor this target: tryst::tryst is enough.
set(TRYST_STDEXEC_DIR "" CACHE PATH "The folder that contains stdexec/execution.hpp; else the package stdexec is used")

add_library(tryst_execution INTERFACE)
add_library(tryst::execution ALIAS tryst_execution)
set_target_properties(tryst_execution PROPERTIES EXPORT_NAME execution)
target_link_libraries(tryst_execution INTERFACE tryst::tryst)
target_sources(tryst_execution INTERFACE FILE_SET HEADERS BASE_DIRS include FILES
    include/tryst/execution.hpp
    include/tryst/execution/as_awaitable.hpp
    include/tryst/execution/as_sender.hpp
    include/tryst/execution/scheduler.hpp
    include/tryst/execution/task_sender.hpp
    include/tryst/execution/detail/either_stop_token.hpp
    include/tryst/execution/detail/start_context.hpp
    include/tryst/execution/detail/std.hpp)

# What is installed does not know this machine's stdexec.
if(TRYST_STDEXEC_DIR)
    if(NOT EXISTS ${TRYST_STDEXEC_DIR}/stdexec/execution.hpp)
        message(FATAL_ERROR "TRYST_STDEXEC_DIR: ${TRYST_STDEXEC_DIR} contains no stdexec/execution.hpp")
    endif()
    target_include_directories(tryst_execution SYSTEM INTERFACE $<BUILD_INTERFACE:${TRYST_STDEXEC_DIR}>)
else()
    if(NOT TARGET STDEXEC::stdexec) # it may come from FetchContent
        find_package(stdexec REQUIRED)
    endif()
    target_link_libraries(tryst_execution INTERFACE $<BUILD_INTERFACE:STDEXEC::stdexec>)
endif()
# stdexec includes <execution>. That of libstdc++ uses TBB if its headers are installed, and without optimisation
# its library, too.
find_package(TBB QUIET)
if(TARGET TBB::tbb)
    target_link_libraries(tryst_execution INTERFACE $<BUILD_INTERFACE:TBB::tbb>)
endif()

install(TARGETS tryst_execution EXPORT tryst-execution-targets FILE_SET HEADERS)
install(EXPORT tryst-execution-targets NAMESPACE tryst:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
install(FILES cmake/tryst-execution.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
tryst_install_pc(execution "senders and receivers; add the include path of stdexec" ${CMAKE_INSTALL_DATADIR})
