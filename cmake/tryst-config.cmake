include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/tryst-targets.cmake)

# The components are the adapters. Each finds what it needs.
foreach(component IN LISTS tryst_FIND_COMPONENTS)
    include(${CMAKE_CURRENT_LIST_DIR}/tryst-${component}.cmake OPTIONAL)
    if(TARGET tryst::${component})
        set(tryst_${component}_FOUND TRUE)
    elseif(tryst_FIND_REQUIRED_${component})
        set(tryst_FOUND FALSE)
        set(tryst_NOT_FOUND_MESSAGE "tryst::${component} is not installed, or what it needs is not found")
    endif()
endforeach()
