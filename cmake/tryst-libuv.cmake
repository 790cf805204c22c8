# The component `libuv` of the package.
set(tryst_module "libuv>=1.44")
set(tryst_debian libuv1-dev)
include(${CMAKE_CURRENT_LIST_DIR}/tryst-find-module.cmake)
