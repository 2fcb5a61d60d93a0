// The threads that share the work of a layer: one for each processor that the process may use. They live as long as it.
#pragma once

#include <cstdint>
#include <functional>

namespace lamina::plugin::cpu_fallback {

// Work worth handing to another thread, in multiplications.
inline constexpr int64_t part_values = 1 << 15;

// How many threads there are, the caller's among them.
int thread_count();

// Calls part(0) to part(parts - 1) in any order, and returns when all have returned. Of what they throw,
// the first is thrown again.
void in_parallel(int64_t parts, const std::function<void(int64_t)> &part);

// The same for ranges [first, end) that together are [0, size). One of the size `least` takes longer than waking a
// thread, some ten microseconds.
void in_ranges(int64_t size, int64_t least, const std::function<void(int64_t first, int64_t end)> &range);

} // namespace lamina::plugin::cpu_fallback
