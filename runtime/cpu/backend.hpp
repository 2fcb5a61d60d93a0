// Runs programs in host memory. A layer runs with the executor's CPU kernel if there is one, or else its reference.
#pragma once

#include "abi/library.hpp"
#include "model/weights.hpp"
#include "plan/program.hpp"

#include <memory>

namespace lamina::cpu {

// executor null: only references.
[[nodiscard]] std::unique_ptr<plan::Backend> make_backend(std::shared_ptr<const abi::Registry> plugins,
                                                          model::Weights weights, const abi::Executor *executor);

} // namespace lamina::cpu
