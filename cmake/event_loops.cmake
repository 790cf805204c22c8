# tryst::libuv, tryst::glib, tryst::qt, tryst::libevent and tryst::systemd, the adapters for event loops: headers, and
# installed components that find the library themselves.

# tryst_add_event_loop(<component> <what it is for> <target of the library> <its pkg-config module> [<header>...])
function(tryst_add_event_loop component purpose library module)
    set(target tryst_${component})
    add_library(${target} INTERFACE)
    add_library(tryst::${component} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
    target_link_libraries(${target} INTERFACE tryst::tryst ${library})
    target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS include FILES
        include/tryst/${component}.hpp
        include/tryst/${component}/executor.hpp
        ${ARGN})

    install(TARGETS ${target} EXPORT tryst-${component}-targets FILE_SET HEADERS)
    install(EXPORT tryst-${component}-targets
        NAMESPACE tryst:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
    install(FILES cmake/tryst-${component}.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
    tryst_install_pc(${component} "${purpose}" ${CMAKE_INSTALL_DATADIR} REQUIRES ", ${module}")
endfunction()

# What pkg-config finds, tryst-find-module.cmake finds again for the installed component.
# GLOBAL, for a host that links the adapter from its own folder.
if(TRYST_LIBUV OR TRYST_GLIB OR TRYST_LIBEVENT OR TRYST_SYSTEMD)
    find_package(PkgConfig REQUIRED)
    install(FILES cmake/tryst-find-module.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
endif()
if(TRYST_LIBUV)
    pkg_check_modules(tryst_libuv REQUIRED IMPORTED_TARGET GLOBAL libuv>=1.44)
    tryst_add_event_loop(libuv "libuv" PkgConfig::tryst_libuv libuv)
endif()
if(TRYST_GLIB)
    pkg_check_modules(tryst_glib REQUIRED IMPORTED_TARGET GLOBAL glib-2.0>=2.74)
    tryst_add_event_loop(glib "GLib" PkgConfig::tryst_glib glib-2.0)
endif()
if(TRYST_LIBEVENT)
    pkg_check_modules(tryst_libevent REQUIRED IMPORTED_TARGET GLOBAL libevent_core>=2.1)
    tryst_add_event_loop(libevent "libevent" PkgConfig::tryst_libevent libevent_core
        include/tryst/detail/run/eventfd.hpp)
endif()
if(TRYST_SYSTEMD)
    pkg_check_modules(tryst_systemd REQUIRED IMPORTED_TARGET GLOBAL libsystemd>=252)
    tryst_add_event_loop(systemd "sd-event" PkgConfig::tryst_systemd libsystemd
        include/tryst/detail/run/eventfd.hpp)
endif()
if(TRYST_QT)
    find_package(Qt6 6.4 REQUIRED COMPONENTS Core)
    tryst_add_event_loop(qt "Qt" Qt6::Core Qt6Core)
endif()
