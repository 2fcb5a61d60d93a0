// Runs programs in host memory. A layer runs with the executor's CPU kernel if there is one, or else its reference.
#pragma once

#include "abi/call.hpp"
#include "abi/library.hpp"
#include "model/weights.hpp"
#include "plan/program.hpp"

#include <cstdint>
#include <memory>

namespace lamina::cpu {

// What copies of weights in F32 take: now, and at most so far.
struct WidenedBytes {
    uint64_t now = 0, most = 0;
};

// Why a variant of the executor's does not compute this call; empty if it does. References compute all.
[[nodiscard]] std::string why_not(const abi::LayerCall &call, const std::string &variant,
                                  const abi::Executor *executor);

// executor null: only references. `widened`, if given, is kept up to date; it must outlive the backend.
[[nodiscard]] std::unique_ptr<plan::Backend> make_backend(std::shared_ptr<const abi::Registry> plugins,
                                                          model::Weights weights, const abi::Executor *executor,
                                                          WidenedBytes *widened = nullptr);

} // namespace lamina::cpu
