// The CPU kernels, one file each. They compute the layers of the same names.
#pragma once

#include <lamina/plugin/executor.hpp>

namespace lamina::plugin::cpu_fallback {

void attention(const Call &call);
void conv1d(const Call &call);
void embedding(const Call &call);
void feed_forward(const Call &call);
void linear(const Call &call);

} // namespace lamina::plugin::cpu_fallback
