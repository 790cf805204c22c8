# liburing::liburing, which has no CMake package of its own.
find_path(liburing_INCLUDE_DIR liburing.h)
find_library(liburing_LIBRARY uring)
mark_as_advanced(liburing_INCLUDE_DIR liburing_LIBRARY)
if(liburing_INCLUDE_DIR AND liburing_LIBRARY AND NOT TARGET liburing::liburing)
    add_library(liburing::liburing UNKNOWN IMPORTED ${tryst_global})
    set_target_properties(liburing::liburing PROPERTIES
        IMPORTED_LOCATION "${liburing_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${liburing_INCLUDE_DIR}")
endif()
