# An overlay port: it builds the repository that contains it.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

# Each feature is an option of tryst's build: asio-spawn is TRYST_ASIO_SPAWN.
set(options -DTRYST_BUILD_TESTS=OFF -DTRYST_BUILD_EXAMPLES=OFF -DTRYST_BUILD_BENCH=OFF)
foreach(feature IN LISTS FEATURES)
    if(NOT feature STREQUAL "core")
        string(TOUPPER "${feature}" option)
        string(REPLACE - _ option "${option}")
        list(APPEND options -DTRYST_${option}=ON)
    endif()
endforeach()
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${options})
vcpkg_cmake_install()
vcpkg_fixup_pkgconfig()

# Each compiled adapter has a CMake package of its own, which the package in share/cmake/tryst finds in this prefix.
file(GLOB compiled RELATIVE "${CURRENT_PACKAGES_DIR}/lib/cmake" "${CURRENT_PACKAGES_DIR}/lib/cmake/*")
foreach(package IN LISTS compiled)
    vcpkg_cmake_config_fixup(
        PACKAGE_NAME ${package} CONFIG_PATH lib/cmake/${package} DO_NOT_DELETE_PARENT_CONFIG_PATH)
endforeach()
file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/lib/cmake"
    "${CURRENT_PACKAGES_DIR}/debug/lib/cmake"
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share")
if(NOT compiled) # headers only
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/lib")
endif()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
