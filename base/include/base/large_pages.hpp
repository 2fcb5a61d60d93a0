// Memory in large pages.
#pragma once

#include <cstddef>
#include <span>

namespace lamina {

// Asks the system to back memory that nothing has touched yet with large pages, because it takes long to find many
// small ones. It may decline.
void prefer_large_pages(std::span<std::byte> memory);

} // namespace lamina
