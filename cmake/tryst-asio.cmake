# The component `asio` of the package.
find_file(TRYST_ASIO_HEADER asio.hpp)
if(TRYST_ASIO_HEADER)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-asio-targets.cmake)
endif()
