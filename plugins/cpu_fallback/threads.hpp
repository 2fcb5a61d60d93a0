// Threads for what OpenBLAS does not compute: as many as OpenBLAS itself takes, and as long as the process lives.
#pragma once

#include <cstdint>
#include <functional>

namespace lamina::plugin::cpu_fallback {

// Calls part(0) to part(parts - 1), in any order, and returns when all have returned. They throw nothing.
void in_parallel(int64_t parts, const std::function<void(int64_t)> &part);

} // namespace lamina::plugin::cpu_fallback
