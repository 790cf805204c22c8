# The component `systemd` of the package.
set(tryst_module "libsystemd>=252")
set(tryst_debian libsystemd-dev)
include(${CMAKE_CURRENT_LIST_DIR}/tryst-find-module.cmake)
