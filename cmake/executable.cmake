# How tests, examples and benchmarks are compiled. Users of the library inherit none of this.
option(TRYST_WARNINGS_AS_ERRORS "Treat warnings in our own targets as errors" OFF)
set(TRYST_SANITIZE "" CACHE STRING "'address,undefined', 'thread', or nothing")

add_library(tryst_flags INTERFACE)
target_compile_options(tryst_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wextra-semi
    $<$<BOOL:${TRYST_WARNINGS_AS_ERRORS}>:-Werror>)
if(TRYST_SANITIZE)
    target_compile_options(tryst_flags INTERFACE
        -fsanitize=${TRYST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(tryst_flags INTERFACE -fsanitize=${TRYST_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # which is wrong about it in instrumented code, by its own manual
        target_compile_options(tryst_flags INTERFACE -Wno-maybe-uninitialized)
    endif()
endif()

# tryst_add_executable(<name> <source>...)
function(tryst_add_executable name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE tryst::tryst tryst_flags)
    set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# The preset `clang` shows that each source includes what it needs. The other builds save time.
set(with_quick_builds ON)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT TRYST_SANITIZE AND NOT TRYST_TESTS STREQUAL "platform")
    set(with_quick_builds OFF)
endif()

# tryst_precompile(<target> [HEADERS <header>...] [SHARED_WITH <target>...])
# What several sources include is parsed once; the targets must be compiled with the same options.
function(tryst_precompile name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SHARED_WITH")
    if(with_quick_builds)
        if(arg_HEADERS)
            target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
        endif()
        foreach(other IN LISTS arg_SHARED_WITH)
            target_precompile_headers(${other} REUSE_FROM ${name})
        endforeach()
    endif()
endfunction()

# tryst_compile_together(<target>): its sources as one, except those with SKIP_UNITY_BUILD_INCLUSION.
function(tryst_compile_together name)
    if(with_quick_builds)
        set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
endfunction()

# For programs that a test leaves no descriptor. A library's options come after the sanitizers', in the order
# of linking.
add_library(without_descriptors INTERFACE)
if(TRYST_SANITIZE MATCHES undefined)
    # This check asks a pipe whether memory can be read.
    target_compile_options(without_descriptors INTERFACE -fno-sanitize=vptr)
endif()
