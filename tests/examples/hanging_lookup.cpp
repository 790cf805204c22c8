// SPDX-License-Identifier: MIT
// To be preloaded: a look-up of a host that never ends, as of a name server that does not answer.
#include <netdb.h>
#include <unistd.h>

extern "C" int getaddrinfo(const char* /*node*/, const char* /*service*/, const addrinfo* /*hints*/,
                           addrinfo** /*result*/) {
    while (true) {
        ::pause();
    }
}
