# tryst::asio_headers, the standalone Asio.
find_file(TRYST_ASIO_HEADER asio.hpp)
if(TRYST_ASIO_HEADER AND NOT TARGET tryst::asio_headers)
    add_library(tryst::asio_headers INTERFACE IMPORTED ${tryst_global})
    cmake_path(GET TRYST_ASIO_HEADER PARENT_PATH tryst_folder)
    target_include_directories(tryst::asio_headers INTERFACE ${tryst_folder})
    unset(tryst_folder)
endif()
