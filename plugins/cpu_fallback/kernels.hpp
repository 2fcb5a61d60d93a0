// The CPU kernels, a file each. What they compute is said by the plugins whose names they bear.
#pragma once

#include <lamina/plugin/executor.hpp>

namespace lamina::plugin::cpu_fallback {

void attention(const Call &call);
void feed_forward(const Call &call);
void linear(const Call &call);

} // namespace lamina::plugin::cpu_fallback
