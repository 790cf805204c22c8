// SPDX-License-Identifier: MIT
// Tells gdb which script to load with this program. The target tryst::gdb compiles it into each
// program that links it.
#if defined(__ELF__) && defined(__GNUC__) && defined(TRYST_GDB_SCRIPT)
// 1: the name of a Python script follows. The linker merges equal entries. `%` suits all
// assemblers.
asm(".pushsection \".debug_gdb_scripts\", \"MS\",%progbits,1\n"
    ".byte 1\n"
    ".asciz \"" TRYST_GDB_SCRIPT "\"\n"
    ".popsection\n");
#endif
