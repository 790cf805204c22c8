# The component `asio` of the package.
find_file(TRYST_ASIO_HEADER asio.hpp)
if(TRYST_ASIO_HEADER)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-asio-targets.cmake)
else()
    set(tryst_needed "asio.hpp is not found; install Asio 1.22 (Debian: libasio-dev)")
endif()
