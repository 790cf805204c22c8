# tryst::module, for `import tryst;`. It belongs to the build that uses it: compiled modules suit one compiler with one set
# of options, so it is not installed.
if(CMAKE_VERSION VERSION_LESS 3.28)
    message(FATAL_ERROR "TRYST_MODULE needs CMake 3.28; this is ${CMAKE_VERSION}")
endif()
add_library(tryst_module)
add_library(tryst::module ALIAS tryst_module)
set_target_properties(tryst_module PROPERTIES CXX_EXTENSIONS OFF CXX_SCAN_FOR_MODULES ON)
target_link_libraries(tryst_module PUBLIC tryst::tryst)
target_sources(tryst_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS src FILES src/tryst.cppm)
