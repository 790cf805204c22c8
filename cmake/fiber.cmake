# tryst::fiber, the adapter for Boost.Fiber: headers, and an installed component that finds Boost itself.
find_package(Boost 1.81 REQUIRED COMPONENTS fiber)

add_library(tryst_fiber INTERFACE)
add_library(tryst::fiber ALIAS tryst_fiber)
set_target_properties(tryst_fiber PROPERTIES EXPORT_NAME fiber)
target_link_libraries(tryst_fiber INTERFACE tryst::tryst Boost::fiber)
target_sources(tryst_fiber INTERFACE FILE_SET HEADERS BASE_DIRS include FILES
    include/tryst/fiber.hpp
    include/tryst/fiber/wait.hpp
    include/tryst/fiber/detail/wait_strategy.hpp)

install(TARGETS tryst_fiber EXPORT tryst-fiber-targets FILE_SET HEADERS)
install(EXPORT tryst-fiber-targets NAMESPACE tryst:: DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
install(FILES cmake/tryst-fiber.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tryst)
tryst_install_pc(fiber "Boost.Fiber" ${CMAKE_INSTALL_DATADIR} LIBS "-lboost_fiber -lboost_context")
