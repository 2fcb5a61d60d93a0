#include "base/connections.hpp"

#include <algorithm>

#include <sys/resource.h>
#include <sys/socket.h>

namespace lamina {

void listen_alone(Socket socket) {
    const int yes = 1;
    ::setsockopt(static_cast<int>(socket), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

void allow_connections(size_t count) {
    constexpr rlim_t files = 512;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + files) return;
    limit.rlim_cur = std::min<rlim_t>(count + files, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace lamina
