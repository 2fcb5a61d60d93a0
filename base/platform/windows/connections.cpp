#include "base/connections.hpp"

#include <winsock2.h>

namespace lamina {

void listen_alone(Socket socket) {
    const BOOL yes = TRUE;
    setsockopt(static_cast<SOCKET>(socket), SOL_SOCKET, SO_EXCLUSIVEADDRUSE, reinterpret_cast<const char *>(&yes),
               sizeof yes);
}

void allow_connections(size_t) {} // Windows has no such limit

} // namespace lamina
