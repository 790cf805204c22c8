# tryst::uring, the loop over io_uring: a compiled library, and an installed component that finds liburing,
# which no public header shows.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_package(liburing REQUIRED)

add_library(tryst_uring
    src/uring/accept_stream.cpp
    src/uring/buffer_pool.cpp
    src/uring/buffer_table.cpp
    src/uring/completion.cpp
    src/uring/context.cpp
    src/uring/failure.cpp
    src/uring/fork_guard.cpp
    src/uring/opcodes.cpp
    src/uring/operation.cpp
    src/uring/reactor.cpp
    src/uring/recv_stream.cpp
    src/uring/ring.cpp
    src/uring/stream.cpp
    src/uring/submissions.cpp
    src/uring/wakeup.cpp)
add_library(tryst::uring ALIAS tryst_uring)
set_target_properties(tryst_uring PROPERTIES
    EXPORT_NAME uring
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET default # whatever a host prefers for its own: a shared library must show something
    VISIBILITY_INLINES_HIDDEN OFF
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # while the major version is 0
target_link_libraries(tryst_uring PUBLIC tryst::tryst PRIVATE liburing::liburing)
if(TARGET tryst_flags) # not when we are a guest
    target_link_libraries(tryst_uring PRIVATE $<BUILD_INTERFACE:tryst_flags>)
    tryst_compile_together(tryst_uring)
endif()
target_sources(tryst_uring PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/tryst/uring.hpp
    include/tryst/uring/accept_stream.hpp
    include/tryst/uring/buffer_pool.hpp
    include/tryst/uring/context.hpp
    include/tryst/uring/context_options.hpp
    include/tryst/uring/descriptor.hpp
    include/tryst/uring/detail/operation_base.hpp
    include/tryst/uring/detail/operation_state.hpp
    include/tryst/uring/detail/request.hpp
    include/tryst/uring/detail/stream.hpp
    include/tryst/uring/limits.hpp
    include/tryst/uring/operation.hpp
    include/tryst/uring/recv_stream.hpp
    include/tryst/uring/result.hpp)

# What depends on the architecture is a package of its own, in lib/ beside the library; in share/ is only who
# looks for it.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tryst-uring)
install(TARGETS tryst_uring EXPORT tryst-uring-config FILE_SET HEADERS)
install(EXPORT tryst-uring-config NAMESPACE tryst:: DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tryst-uring-config-version.cmake
    COMPATIBILITY ExactVersion)
install(FILES ${PROJECT_BINARY_DIR}/tryst-uring-config-version.cmake DESTINATION ${package_dir})
get_target_property(kind tryst_uring TYPE)
if(kind STREQUAL SHARED_LIBRARY)
    set(liburing REQUIRES_PRIVATE liburing)
else()
    set(liburing REQUIRES ", liburing")
endif()
tryst_install_pc(uring "io_uring" ${CMAKE_INSTALL_LIBDIR} LIBS "-L\${pcfiledir}/.. -ltryst_uring" ${liburing})
install(FILES cmake/tryst-uring.cmake cmake/Findliburing.cmake
    DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
