# The component `qt` of the package.
find_package(Qt6 6.4 QUIET COMPONENTS Core)
if(TARGET Qt6::Core)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-qt-targets.cmake)
else()
    set(tryst_needed "Qt is not found; install version 6.4 (Debian: qt6-base-dev)")
endif()
