# Read by ctest, after a file that tryst_add_tests() has written: adds one test for each suite of `program`,
# which `emulator` runs, if there is one.
if(NOT EXISTS "${program}")
    add_test("${label}.${name}_NOT_BUILT" "${program}") # fails
    set_tests_properties("${label}.${name}_NOT_BUILT" PROPERTIES ${properties})
    return()
endif()
execute_process(COMMAND ${emulator} "${program}" --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[^ \n]+\\." suites "\n${listed}") # the lines of tests begin with spaces
foreach(suite IN LISTS suites)
    string(REGEX REPLACE "^\n(.*)\\.$" "\\1" suite "${suite}")
    add_test("${label}.${suite}" ${emulator} "${program}" "--gtest_filter=${suite}.*")
    set_tests_properties("${label}.${suite}" PROPERTIES ${properties})
endforeach()
