# tryst::libuv, tryst::glib, tryst::qt, tryst::libevent and tryst::systemd, the adapters for event loops.

# tryst_add_event_loop(<component> <purpose> <pkg-config package> <version> <Debian package> [<more headers>...])
function(tryst_add_event_loop component purpose module version debian)
    string(TOUPPER TRYST_${component} option)
    if(${option})
        tryst_add_adapter(${component} "${purpose}" MODULE ${module}
            FIND "find_package(PkgConfig QUIET)
    pkg_check_modules(tryst_${component} QUIET IMPORTED_TARGET \${tryst_global} ${module}>=${version})"
            LIBRARY PkgConfig::tryst_${component}
            NOT_FOUND "pkg-config does not find ${module}>=${version}; install it (Debian: pkg-config and ${debian})"
            HEADERS ${ARGN})
    endif()
endfunction()
set(eventfd include/tryst/detail/run/eventfd.hpp)
tryst_add_event_loop(libuv "libuv" libuv 1.44 libuv1-dev)
tryst_add_event_loop(glib "GLib" glib-2.0 2.74 libglib2.0-dev)
tryst_add_event_loop(libevent "libevent" libevent_core 2.1 libevent-dev ${eventfd})
tryst_add_event_loop(systemd "sd-event" libsystemd 252 libsystemd-dev ${eventfd})
if(TRYST_QT)
    tryst_add_adapter(qt "Qt" MODULE Qt6Core
        FIND "find_package(Qt6 6.4 QUIET \${tryst_global} COMPONENTS Core)" LIBRARY Qt6::Core
        NOT_FOUND "Qt is not found; install version 6.4 (Debian: qt6-base-dev)")
endif()
