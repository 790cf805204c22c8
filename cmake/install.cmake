# Headers, CMake package and pkg-config files. Nothing here depends on the architecture, hence
# share/ rather than lib/. All of it is relocatable: `cmake --install --prefix` may name any place.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(TARGETS tryst tryst_usdt EXPORT tryst-targets FILE_SET HEADERS)
install(EXPORT tryst-targets NAMESPACE tryst:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)

write_basic_package_version_file(${PROJECT_BINARY_DIR}/tryst-config-version.cmake
    COMPATIBILITY SameMinorVersion # while the major version is 0
    ARCH_INDEPENDENT)
install(FILES cmake/tryst-config.cmake ${PROJECT_BINARY_DIR}/tryst-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)

# docs/compilers.md. A pkg-config file cannot ask which compiler it is for; clang accepts the option, too.
set(loop_option "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    set(loop_option " -fno-tree-slp-vectorize")
endif()
set(system_library "")
if(WIN32)
    set(system_library " -lsynchronization")
endif()
set(probes_option "")
if(TRYST_USDT)
    set(probes_option " -DTRYST_USDT")
endif()
configure_file(cmake/tryst.pc.in ${PROJECT_BINARY_DIR}/tryst.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tryst.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

install(DIRECTORY src/bpftrace DESTINATION ${CMAKE_INSTALL_DATADIR}/tryst FILES_MATCHING PATTERN "*.bt"
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
