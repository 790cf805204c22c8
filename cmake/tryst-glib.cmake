# The component `glib` of the package.
set(tryst_module "glib-2.0>=2.74")
set(tryst_debian libglib2.0-dev)
include(${CMAKE_CURRENT_LIST_DIR}/tryst-find-module.cmake)
