# tryst::uring, the loop over io_uring: a compiled library, and an installed component that finds liburing,
# which no public header shows.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_package(liburing REQUIRED)

add_library(tryst_uring
    src/uring/accept_stream.cpp
    src/uring/buffer_pool.cpp
    src/uring/context.cpp
    src/uring/reactor.cpp
    src/uring/recv_stream.cpp)
add_library(tryst::uring ALIAS tryst_uring)
set_target_properties(tryst_uring PROPERTIES EXPORT_NAME uring CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
target_link_libraries(tryst_uring
    PUBLIC tryst::tryst
    PRIVATE liburing::liburing $<BUILD_INTERFACE:tryst_flags>)
target_sources(tryst_uring PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/tryst/uring.hpp
    include/tryst/uring/accept_stream.hpp
    include/tryst/uring/buffer_pool.hpp
    include/tryst/uring/context.hpp
    include/tryst/uring/descriptor.hpp
    include/tryst/uring/detail/stream.hpp
    include/tryst/uring/limits.hpp
    include/tryst/uring/operation.hpp
    include/tryst/uring/recv_stream.hpp
    include/tryst/uring/result.hpp)

install(TARGETS tryst_uring EXPORT tryst-uring-targets FILE_SET HEADERS)
install(EXPORT tryst-uring-targets NAMESPACE tryst:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
install(FILES cmake/tryst-uring.cmake cmake/Findliburing.cmake
    DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
