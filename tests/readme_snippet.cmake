# The README's first ```cpp block is examples/hello.cpp, byte for byte.
file(READ ${TOP}/README.md readme)
file(READ ${TOP}/examples/hello.cpp hello)

string(FIND "${readme}" "```cpp\n" begin)
if(begin EQUAL -1)
    message(FATAL_ERROR "README.md has no ```cpp block")
endif()
math(EXPR begin "${begin} + 7") # past the opening line
string(SUBSTRING "${readme}" ${begin} -1 snippet)
string(FIND "${snippet}" "```" end)
string(SUBSTRING "${snippet}" 0 ${end} snippet)

if(NOT snippet STREQUAL hello)
    message(FATAL_ERROR "README.md shows:\n${snippet}\nexamples/hello.cpp is:\n${hello}")
endif()
