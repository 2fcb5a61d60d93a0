// What layers with states compute their gates with.
#pragma once

#include <algorithm>
#include <cmath>

namespace lamina::plugin::cpu_fallback {

inline float softplus(float v) { return std::max(v, 0.0F) + std::log1p(std::exp(-std::abs(v))); }

} // namespace lamina::plugin::cpu_fallback
