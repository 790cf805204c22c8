# tryst::execution, the adapter for senders and receivers. A standard library with std::execution needs neither stdexec
# nor this target: tryst::tryst is enough.
set(TRYST_STDEXEC_DIR "" CACHE PATH "The folder that contains stdexec/execution.hpp; else the package stdexec is used")
tryst_add_adapter(execution "senders and receivers; add the include path of stdexec"
    FIND "include(\${CMAKE_CURRENT_LIST_DIR}/tryst-find-stdexec.cmake)" LIBRARY tryst::stdexec
    NOT_FOUND "stdexec is not found; set TRYST_STDEXEC_DIR to the folder that contains stdexec/execution.hpp")
install(FILES cmake/tryst-find-stdexec.cmake DESTINATION ${tryst_share})
