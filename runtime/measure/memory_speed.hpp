// How fast this machine's processors read and write memory.
#pragma once

namespace lamina::measure {

// Bytes a second, read and written together, of as many threads as there are processors, each of which copies a part
// of a buffer that no cache holds.
[[nodiscard]] double copy_bytes_per_second(double seconds);

} // namespace lamina::measure
