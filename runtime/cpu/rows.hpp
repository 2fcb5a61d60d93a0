// References that compute rows on several threads.
#pragma once

#include "abi/call.hpp"

#include <functional>
#include <span>

namespace lamina::cpu {

// As LayerCall::reference(), with the same bits, on so many threads where each can compute rows of its own: if the
// outputs are by_rows() and there are no states, which a reference always computes whole. `working` is called between
// pieces of the work, on this thread; it may throw.
void reference_on_threads(const abi::LayerCall &call, const abi::LayerCall::Data &data, std::span<const int64_t> rows,
                          size_t threads, const std::function<void()> &working);

} // namespace lamina::cpu
