// Embedding: widens only the rows that are used. The reference needs the whole table widened, which may be as large as
// all other weights together.
#include "kernels.hpp"

#include <algorithm>
#include <functional>

namespace lamina::plugin::cpu_fallback {

void embedding(const Call &call) {
    const Tensor ids = call.in("ids"), residual = call.in("residual"), table = call.weight("table"), y = call.out("y");
    const StorageType &type = storage_type(table.dtype());
    const auto scale = static_cast<float>(call.real("scale"));
    for (int64_t i = 0; i < ids.size(); ++i) {
        const auto row = y.row(i);
        const std::byte *stored = table.stored_row(ids.i32()[static_cast<size_t>(i)]);
        type.widen(stored, table.cols() / type.block_values, row.data());
        std::ranges::transform(row, row.begin(), [=](float v) { return v * scale; });
        if (residual) std::ranges::transform(row, residual.row(i), row.begin(), std::plus<>());
    }
}

} // namespace lamina::plugin::cpu_fallback
