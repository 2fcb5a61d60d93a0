// The network connections of this process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace lamina {

using Socket = std::intptr_t;

struct Peer {
    std::string address;
    int port = 0;
    bool operator==(const Peer &) const = default;
};

// Calls `use` with every connection of this process to its port `port`.
void for_each_connection(int port, const std::function<void(Socket socket, const Peer &client)> &use);
[[nodiscard]] bool closed_by_client(Socket socket);
void stop_reading(Socket socket); // what is being sent is not affected
// A server may listen on its port again at once, but not beside another one.
void listen_alone(Socket socket);

} // namespace lamina
