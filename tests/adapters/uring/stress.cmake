# The compiled part of tryst::uring is compiled again, into this program: everything of tryst in it counts
# its steps.
file(GLOB uring_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/uring/*.cpp)
tryst_add_tests(uring_stress
    LABEL stress
    TIMEOUT 300
    RUN_SERIAL ON
    SOURCES
        uring_stress.cpp
        ../../support/history.cpp
        ${uring_sources})
target_compile_options(uring_stress PRIVATE
    -include ${PROJECT_SOURCE_DIR}/tests/stress/step_counts.hpp)
target_include_directories(uring_stress PRIVATE ${PROJECT_SOURCE_DIR}/src) # "uring/trace.hpp"
target_link_libraries(uring_stress PRIVATE liburing::liburing)
if(TRYST_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The checks hide from g++ that stop sources are initialised.
    target_compile_options(uring_stress PRIVATE -Wno-maybe-uninitialized)
endif()
