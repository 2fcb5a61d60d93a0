#include "base/connections.hpp"

#include <cstdlib>
#include <optional>

#include <winsock2.h>
#include <ws2tcpip.h>

#include <windows.h>

namespace lamina {
namespace {

std::optional<Peer> as_peer(const sockaddr_storage &from, int length) {
    char address[NI_MAXHOST], port[NI_MAXSERV];
    if (from.ss_family != AF_INET && from.ss_family != AF_INET6) return std::nullopt;
    if (getnameinfo(reinterpret_cast<const sockaddr *>(&from), length, address, sizeof address, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return std::nullopt;
    return Peer{address, std::atoi(port)};
}

template <class Name> std::optional<Peer> named(Name name, SOCKET socket) {
    sockaddr_storage from{};
    int length = sizeof from;
    if (name(socket, reinterpret_cast<sockaddr *>(&from), &length) != 0) return std::nullopt;
    return as_peer(from, length);
}

} // namespace

// Handles are small multiples of 4; the system says how many there are.
void for_each_connection(int port, const std::function<void(Socket socket, const Peer &client)> &use) {
    DWORD handles = 0;
    if (GetProcessHandleCount(GetCurrentProcess(), &handles) == 0) return;
    constexpr intptr_t largest = 1 << 24;
    for (intptr_t handle = 4; handles > 0 && handle < largest; handle += 4) {
        DWORD flags = 0;
        if (GetHandleInformation(reinterpret_cast<HANDLE>(handle), &flags) == 0) continue;
        --handles;
        const auto socket = static_cast<SOCKET>(handle);
        const std::optional<Peer> client = named(getpeername, socket);
        if (!client) continue;
        if (const std::optional<Peer> us = named(getsockname, socket); us && us->port == port) use(handle, *client);
    }
}

bool closed_by_client(Socket socket) {
    WSAPOLLFD state{static_cast<SOCKET>(socket), POLLRDNORM, 0};
    if (WSAPoll(&state, 1, 0) <= 0) return false;
    char next = 0;
    return (state.revents & (POLLHUP | POLLERR)) != 0 || recv(state.fd, &next, 1, MSG_PEEK) <= 0;
}

void stop_reading(Socket socket) { shutdown(static_cast<SOCKET>(socket), SD_RECEIVE); }

void listen_alone(Socket socket) {
    const BOOL yes = TRUE;
    setsockopt(static_cast<SOCKET>(socket), SOL_SOCKET, SO_EXCLUSIVEADDRUSE, reinterpret_cast<const char *>(&yes),
               sizeof yes);
}

} // namespace lamina
