# The component `libevent` of the package.
set(tryst_module "libevent_core>=2.1")
set(tryst_debian libevent-dev)
include(${CMAKE_CURRENT_LIST_DIR}/tryst-find-module.cmake)
