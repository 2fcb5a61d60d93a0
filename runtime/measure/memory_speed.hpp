// How fast this machine's processors read memory.
#pragma once

namespace lamina::measure {

// Bytes a second of as many threads as there are processors, each of which reads a part of a buffer that no cache
// holds.
[[nodiscard]] double read_bytes_per_second(double seconds);

} // namespace lamina::measure
