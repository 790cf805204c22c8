# tryst::gdb, a source that tells gdb which script to load with a program, and the scripts (docs/hangs.md).
add_library(tryst_gdb INTERFACE)
add_library(tryst::gdb ALIAS tryst_gdb)
set_target_properties(tryst_gdb PROPERTIES EXPORT_NAME gdb)
set(gdb_folder ${CMAKE_INSTALL_DATADIR}/tryst/gdb)
target_sources(tryst_gdb INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/gdb/auto_load.cpp>
    $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${gdb_folder}/auto_load.cpp>)
target_compile_definitions(tryst_gdb INTERFACE
    $<BUILD_INTERFACE:TRYST_GDB_SCRIPT="${PROJECT_SOURCE_DIR}/src/gdb/tryst.py">
    $<INSTALL_INTERFACE:TRYST_GDB_SCRIPT="$<INSTALL_PREFIX>/${gdb_folder}/tryst.py">)

install(TARGETS tryst_gdb EXPORT tryst-targets)
install(FILES src/gdb/tryst.py src/gdb/auto_load.cpp DESTINATION ${gdb_folder})
install(DIRECTORY src/gdb/tryst_gdb DESTINATION ${gdb_folder} FILES_MATCHING PATTERN *.py PATTERN __pycache__ EXCLUDE)
