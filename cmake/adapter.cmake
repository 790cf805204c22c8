# tryst_add_adapter(<component> <what it is for> [OVER <component>] FIND <code> LIBRARY <target>... NOT_FOUND <message>
#     [SOURCES <file>...] [HEADERS <file>...] [CFLAGS <flags>] [LIBS <flags>] [MODULE <package>])
# tryst::<component> and what is installed of it: its headers, the component of the CMake package, and the pkg-config
# file, tryst-<component> with hyphens. The headers are <component>.hpp and those of the folder <component>, if there are
# any, both without the prefix boost_.
#   OVER       the adapter that it uses, already added
#   FIND       finds its LIBRARY, in this build and in each host of an installation. It says ${tryst_global}, which lets a
#              host of this build link from its own folder.
#   NOT_FOUND  what is then missing
#   SOURCES    makes it a compiled library, which keeps its LIBRARY to itself
#   HEADERS    more headers
#   MODULE     the pkg-config package of its LIBRARY; without one, LIBS
set(tryst_share ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
function(tryst_add_adapter component purpose)
    cmake_parse_arguments(PARSE_ARGV 2 arg
        "" "OVER;FIND;NOT_FOUND;CFLAGS;LIBS;MODULE" "LIBRARY;SOURCES;HEADERS")
    set(tryst_global GLOBAL)
    cmake_language(EVAL CODE "${arg_FIND}")
    list(GET arg_LIBRARY 0 library)
    if(NOT TARGET ${library})
        message(FATAL_ERROR "tryst::${component}: ${arg_NOT_FOUND}")
    endif()

    set(target tryst_${component})
    set(package tryst-${component})
    string(REPLACE _ - pc_package ${package})
    set(core tryst)
    set(requires "")
    if(arg_OVER)
        set(core ${arg_OVER})
        string(REPLACE _ - requires ", tryst-${arg_OVER}")
    endif()
    string(REPLACE boost_ "" name ${component})
    file(GLOB headers CONFIGURE_DEPENDS include/tryst/${name}.hpp)
    file(GLOB_RECURSE inner_headers CONFIGURE_DEPENDS include/tryst/${name}/*.hpp)
    list(APPEND headers ${inner_headers} ${arg_HEADERS})

    # What depends on the architecture is a package of its own, in lib/ beside the library; in share/ is only the
    # component that looks for it.
    set(compiled FALSE)
    if(arg_SOURCES)
        set(compiled TRUE)
        add_library(${target} ${arg_SOURCES})
        set_target_properties(${target} PROPERTIES
            CXX_EXTENSIONS OFF
            POSITION_INDEPENDENT_CODE ON
            CXX_VISIBILITY_PRESET default # whatever a host prefers for its own: a shared library must show something
            VISIBILITY_INLINES_HIDDEN OFF
            VERSION ${PROJECT_VERSION}
            SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # while the major version is 0
        target_link_libraries(${target} PUBLIC tryst::${core} PRIVATE ${arg_LIBRARY})
        if(TARGET tryst_flags) # not when we are a guest
            target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tryst_flags>)
            tryst_compile_together(${target})
        endif()
        target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
        set(export ${package}-config)
        set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${package})
        write_basic_package_version_file(${PROJECT_BINARY_DIR}/${package}-config-version.cmake
            COMPATIBILITY ExactVersion)
        install(FILES ${PROJECT_BINARY_DIR}/${package}-config-version.cmake DESTINATION ${folder})
        set(pc_folder ${CMAKE_INSTALL_LIBDIR})
        set(arg_LIBS "-L\${pcfiledir}/.. -l${target}")
    else()
        add_library(${target} INTERFACE)
        target_link_libraries(${target} INTERFACE tryst::${core} ${arg_LIBRARY})
        target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS include FILES ${headers})
        set(export ${package}-targets)
        set(folder ${tryst_share})
        set(pc_folder ${CMAKE_INSTALL_DATADIR})
    endif()
    add_library(tryst::${component} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
    install(TARGETS ${target} EXPORT ${export} FILE_SET HEADERS)
    install(EXPORT ${export} NAMESPACE tryst:: DESTINATION ${folder})

    string(TOUPPER TRYST_${name} option)
    configure_file(cmake/component.cmake.in ${PROJECT_BINARY_DIR}/${package}.cmake @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${package}.cmake DESTINATION ${tryst_share})

    set(requires_private "")
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL SHARED_LIBRARY)
        set(requires_private ${arg_MODULE})
    elseif(arg_MODULE)
        string(APPEND requires ", ${arg_MODULE}")
    endif()
    configure_file(cmake/adapter.pc.in ${PROJECT_BINARY_DIR}/${pc_package}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${pc_package}.pc DESTINATION ${pc_folder}/pkgconfig)
endfunction()
