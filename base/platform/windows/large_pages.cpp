#include "base/large_pages.hpp"

namespace lamina {

void prefer_large_pages(std::span<std::byte>) {} // they take a privilege that users do not have

} // namespace lamina
