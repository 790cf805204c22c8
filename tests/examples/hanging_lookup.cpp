// SPDX-License-Identifier: MIT
// A library to preload: a host look-up that never ends, as if the name server did not answer.
#include <netdb.h>
#include <unistd.h>

extern "C" int getaddrinfo(const char* /*node*/, const char* /*service*/, const addrinfo* /*hints*/,
                           addrinfo** /*result*/) {
    while (true) {
        ::pause();
    }
}
