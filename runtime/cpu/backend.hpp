// Runs programs in host memory. A layer runs by the executor's CPU kernel if there is one, else by its reference.
#pragma once

#include "abi/library.hpp"
#include "model/weights.hpp"
#include "plan/program.hpp"

#include <memory>

namespace lamina::cpu {

// executor null: only references, which everything else is compared with.
[[nodiscard]] std::unique_ptr<plan::Backend> make_backend(std::shared_ptr<const abi::Registry> plugins,
                                                          model::Weights weights, const abi::Executor *executor);

} // namespace lamina::cpu
