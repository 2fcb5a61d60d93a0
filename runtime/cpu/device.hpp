// The CPU as a device: the executor's fast kernels, or the layers' references.
#pragma once

#include "plan/device.hpp"

#include <memory>

namespace lamina::cpu {

// executor: one of the plugins, or null for references alone. A layer without a kernel of the executor's has nothing to
// prove, because its reference runs.
[[nodiscard]] std::shared_ptr<plan::Device> make_device(std::shared_ptr<const abi::Registry> plugins,
                                                        const abi::Executor *executor);

} // namespace lamina::cpu
