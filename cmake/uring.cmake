# tryst::uring, the loop over io_uring. No public header shows liburing.
tryst_add_adapter(uring "io_uring"
    FIND "include(\${CMAKE_CURRENT_LIST_DIR}/tryst-find-liburing.cmake)" LIBRARY liburing::liburing
    NOT_FOUND "liburing is not found; install version 2.3 (Debian: liburing-dev)"
    MODULE liburing
    SOURCES
        src/uring/buffer_pool.cpp
        src/uring/buffer_table.cpp
        src/uring/completion.cpp
        src/uring/context.cpp
        src/uring/failure.cpp
        src/uring/operation.cpp
        src/uring/reactor.cpp
        src/uring/ring.cpp
        src/uring/stream.cpp
        src/uring/submissions.cpp
        src/uring/wakeup.cpp
    HEADERS
        uring.hpp
        uring/accept_stream.hpp
        uring/buffer_pool.hpp
        uring/context.hpp
        uring/context_options.hpp
        uring/descriptor.hpp
        uring/detail/operation_base.hpp
        uring/detail/request.hpp
        uring/detail/stream.hpp
        uring/limits.hpp
        uring/operation.hpp
        uring/recv_stream.hpp
        uring/result.hpp)
install(FILES cmake/tryst-find-liburing.cmake DESTINATION ${tryst_share})
