# tryst::fiber, the adapter for Boost.Fiber.
tryst_add_adapter(fiber "Boost.Fiber"
    FIND "find_package(Boost 1.81 QUIET \${tryst_global} COMPONENTS fiber)" LIBRARY Boost::fiber
    NOT_FOUND "Boost.Fiber is not found; install version 1.81 (Debian: libboost-fiber1.81-dev)"
    LIBS "-lboost_fiber -lboost_context")
