#include "base/connections.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include <dirent.h>
#include <netdb.h>
#include <sys/socket.h>

namespace lamina {
namespace {

std::optional<Peer> as_peer(const sockaddr_storage &from, socklen_t length) {
    char address[NI_MAXHOST], port[NI_MAXSERV];
    if (from.ss_family != AF_INET && from.ss_family != AF_INET6) return std::nullopt;
    if (::getnameinfo(reinterpret_cast<const sockaddr *>(&from), length, address, sizeof address, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return std::nullopt;
    return Peer{address, std::atoi(port)};
}

template <class Name> std::optional<Peer> named(Name name, int descriptor) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    if (name(descriptor, reinterpret_cast<sockaddr *>(&from), &length) != 0) return std::nullopt;
    return as_peer(from, length);
}

struct Close {
    void operator()(DIR *folder) const { ::closedir(folder); }
};

} // namespace

void for_each_connection(int port, const std::function<void(Socket socket, const Peer &client)> &use) {
    const std::unique_ptr<DIR, Close> open(::opendir("/proc/self/fd"));
    if (!open) return;
    while (const dirent *entry = ::readdir(open.get())) {
        const int descriptor = std::atoi(entry->d_name); // 0 for "." and ".."
        const std::optional<Peer> client = named(::getpeername, descriptor);
        if (!client) continue;
        if (const std::optional<Peer> us = named(::getsockname, descriptor); us && us->port == port)
            use(descriptor, *client);
    }
}

bool closed_by_client(Socket socket) {
    char next = 0;
    const ssize_t n = ::recv(static_cast<int>(socket), &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void stop_reading(Socket socket) { ::shutdown(static_cast<int>(socket), SHUT_RD); }

void listen_alone(Socket socket) {
    const int yes = 1;
    ::setsockopt(static_cast<int>(socket), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

} // namespace lamina
