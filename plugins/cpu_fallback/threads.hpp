// Threads for work that OpenBLAS does not do. There are as many as OpenBLAS uses, and they live as long as the process.
#pragma once

#include <cstdint>
#include <functional>

namespace lamina::plugin::cpu_fallback {

// Work worth handing to another thread, in multiplications.
inline constexpr int64_t part_values = 1 << 15;

// Calls part(0) to part(parts - 1) in any order, and returns when all have returned. They must not throw.
void in_parallel(int64_t parts, const std::function<void(int64_t)> &part);

// Before a product by OpenBLAS, whose own threads need the processors: the threads here stop watching for work.
void let_helpers_sleep();

} // namespace lamina::plugin::cpu_fallback
