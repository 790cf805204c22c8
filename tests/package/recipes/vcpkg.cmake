# Runs the vcpkg port in FOLDER with all its features, without vcpkg: the functions that the port calls are substitutes,
# which do what vcpkg documents for them. CMake configures, builds and installs for real, with the system's libraries.
file(REMOVE_RECURSE ${FOLDER})
set(PORT tryst)
set(CURRENT_PORT_DIR ${TOP}/packaging/vcpkg/tryst)
set(CURRENT_PACKAGES_DIR ${FOLDER}/package)
file(READ ${CURRENT_PORT_DIR}/vcpkg.json manifest)
string(JSON count LENGTH "${manifest}" features)
math(EXPR last "${count} - 1")
set(FEATURES core)
foreach(i RANGE ${last})
    string(JSON feature MEMBER "${manifest}" features ${i})
    list(APPEND FEATURES ${feature})
endforeach()

function(run)
    execute_process(COMMAND ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    foreach(prefix IN ITEMS "" /debug)
        set(type Release)
        if(prefix)
            set(type Debug)
        endif()
        run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${FOLDER}/${type} -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
            -DCMAKE_BUILD_TYPE=${type} -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}${prefix}
            -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
    endforeach()
endfunction()

function(vcpkg_cmake_install)
    foreach(type IN ITEMS Debug Release)
        run(${CMAKE_COMMAND} --build ${FOLDER}/${type} --target install)
    endforeach()
endfunction()

# Moves the package to share/, two folders below the prefix, and adds the libraries of the debug build.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "DO_NOT_DELETE_PARENT_CONFIG_PATH" "PACKAGE_NAME;CONFIG_PATH" "")
    set(share ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
    file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
    file(GLOB debug_files ${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}/*-debug.cmake)
    file(COPY ${files} ${debug_files} DESTINATION ${share})
    file(GLOB files ${share}/*.cmake)
    foreach(file IN LISTS files)
        file(READ ${file} text)
        set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
        string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
        if(file MATCHES "-debug\\.cmake$")
            string(REPLACE "\${_IMPORT_PREFIX}/lib" "\${_IMPORT_PREFIX}/debug/lib" text "${text}")
        endif()
        file(WRITE ${file} "${text}")
    endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    configure_file(${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright COPYONLY)
endfunction()

include(${CURRENT_PORT_DIR}/portfile.cmake)

foreach(file IN ITEMS include/tryst/tryst.hpp share/tryst/copyright share/tryst/usage)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${file})
        message(FATAL_ERROR "the package lacks ${file}")
    endif()
endforeach()
# vcpkg refuses these.
file(GLOB refused ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share
    ${CURRENT_PACKAGES_DIR}/lib/cmake ${CURRENT_PACKAGES_DIR}/debug/lib/cmake)
if(refused)
    message(FATAL_ERROR "the package contains ${refused}")
endif()

list(REMOVE_ITEM FEATURES core)
string(REPLACE - _ components "${FEATURES}")
string(REPLACE ";" "\\;" components "${components}") # one argument
foreach(type IN ITEMS Debug Release)
    run(${CMAKE_COMMAND} -S ${TOP}/packaging/conan/test_package -B ${FOLDER}/program-${type} -G Ninja
        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${type} -DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR}
        "-DCOMPONENTS=${components}")
    run(${CMAKE_COMMAND} --build ${FOLDER}/program-${type})
    run(${FOLDER}/program-${type}/exchange)
endforeach()
