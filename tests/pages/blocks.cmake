# A program of tests/pages contains a block of a page by `#include "docs/tasks.md/3"`: the third ```cpp block of
# docs/tasks.md.

# Sets block_count, and for each ```cpp block of the page block_<number> and block_line_<number>: its lines, a newline
# before each, and the number of its first line.
function(tryst_read_blocks page)
    file(READ ${page} rest)
    string(REGEX REPLACE "\n +```" "\n```" rest "\n${rest}")
    set(count 0)
    set(line 1)
    string(FIND "${rest}" "\n```cpp\n" begin)
    while(NOT begin EQUAL -1)
        math(EXPR count "${count} + 1")
        math(EXPR begin "${begin} + 7") # up to the end of the opening line
        string(SUBSTRING "${rest}" 0 ${begin} before)
        string(SUBSTRING "${rest}" ${begin} -1 rest)
        string(FIND "${rest}" "\n```" end)
        string(SUBSTRING "${rest}" 0 ${end} block)
        string(SUBSTRING "${rest}" ${end} -1 rest)
        string(FIND "${rest}" "\n```cpp\n" begin)
        string(REGEX MATCHALL "\n" newlines "${before}")
        list(LENGTH newlines lines)
        math(EXPR line "${line} + ${lines}")
        set(block_${count} "${block}" PARENT_SCOPE)
        set(block_line_${count} ${line} PARENT_SCOPE)
        string(REGEX MATCHALL "\n" newlines "${block}")
        list(LENGTH newlines lines)
        math(EXPR line "${line} + ${lines}")
    endwhile()
    set(block_count ${count} PARENT_SCOPE)
endfunction()

# Sets included to the blocks that the program includes: docs/tasks.md/3 and so on.
function(tryst_read_includes program)
    file(STRINGS ${program} included REGEX "^#include \"docs/")
    list(TRANSFORM included REPLACE "^#include \"(.*)\".*" "\\1")
    set(included "${included}" PARENT_SCOPE)
endfunction()

# Sets block and block_line to those of the page's block with this number.
function(tryst_read_block top page number)
    tryst_read_blocks(${top}/${page})
    if(NOT number MATCHES "^[1-9][0-9]*$" OR number GREATER block_count)
        message(FATAL_ERROR
            "a program of tests/pages includes \"${page}/${number}\", but ${page} has ${block_count} ```cpp blocks")
    endif()
    set(block "${block_${number}}" PARENT_SCOPE)
    set(block_line ${block_line_${number}} PARENT_SCOPE)
endfunction()

# Writes the blocks that the program includes. The compiler reports errors in the lines of the page.
function(tryst_write_blocks program)
    tryst_read_includes(${program})
    foreach(include IN LISTS included)
        cmake_path(GET include PARENT_PATH page)
        cmake_path(GET include FILENAME number)
        tryst_read_block(${PROJECT_SOURCE_DIR} ${page} ${number})
        set(text "#line ${block_line} \"${PROJECT_SOURCE_DIR}/${page}\"${block}\n")
        set(file ${CMAKE_CURRENT_BINARY_DIR}/${include})
        set(written "")
        if(EXISTS ${file})
            file(READ ${file} written)
        endif()
        if(NOT "${text}" STREQUAL "${written}") # or the program would be compiled again
            file(WRITE ${file} "${text}")
        endif()
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${page})
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${program})
endfunction()
