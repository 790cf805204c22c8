# tryst::uring, the loop over io_uring. No public header shows liburing.
file(GLOB uring_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} src/uring/*.cpp)
tryst_add_adapter(uring "io_uring"
    FIND "include(\${CMAKE_CURRENT_LIST_DIR}/tryst-find-liburing.cmake)" LIBRARY liburing::liburing
    NOT_FOUND "liburing is not found; install version 2.3 (Debian: liburing-dev)"
    MODULE liburing
    SOURCES ${uring_sources})
install(FILES cmake/tryst-find-liburing.cmake DESTINATION ${tryst_share})
