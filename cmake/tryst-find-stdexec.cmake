# tryst::stdexec, which is where TRYST_STDEXEC_DIR says, or the package stdexec, or comes from FetchContent.
if(NOT TARGET tryst::stdexec)
    if(TRYST_STDEXEC_DIR) # and nowhere else
        if(EXISTS "${TRYST_STDEXEC_DIR}/stdexec/execution.hpp")
            add_library(tryst::stdexec INTERFACE IMPORTED ${tryst_global})
            target_include_directories(tryst::stdexec INTERFACE ${TRYST_STDEXEC_DIR})
        endif()
    else()
        if(NOT TARGET STDEXEC::stdexec)
            find_package(stdexec QUIET ${tryst_global})
        endif()
        if(TARGET STDEXEC::stdexec)
            add_library(tryst::stdexec INTERFACE IMPORTED ${tryst_global})
            target_link_libraries(tryst::stdexec INTERFACE STDEXEC::stdexec)
        endif()
    endif()
    # stdexec includes <execution>. That of libstdc++ uses TBB if its headers are installed, and without optimisation
    # its library, too.
    find_package(TBB QUIET ${tryst_global})
    if(TARGET tryst::stdexec AND TARGET TBB::tbb)
        target_link_libraries(tryst::stdexec INTERFACE TBB::tbb)
    endif()
endif()
