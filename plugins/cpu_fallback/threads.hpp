// Threads for work that OpenBLAS does not do. There are as many as OpenBLAS uses, and they live as long as the process.
#pragma once

#include <cstdint>
#include <functional>

namespace lamina::plugin::cpu_fallback {

// Calls part(0) to part(parts - 1) in any order, and returns when all have returned. They must not throw.
void in_parallel(int64_t parts, const std::function<void(int64_t)> &part);

} // namespace lamina::plugin::cpu_fallback
