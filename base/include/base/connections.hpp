// Connections of a server, as far as operating systems differ.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamina {

using Socket = std::intptr_t;

// A server may listen on its port again at once, but not beside another one.
void listen_alone(Socket socket);
// Lets this process have `count` connections beside its files, as far as the system does.
void allow_connections(size_t count);

} // namespace lamina
