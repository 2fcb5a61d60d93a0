// Rows by their numbers.
#include "kernels.hpp"
#include "threads.hpp"

#include <algorithm>

namespace lamina::plugin::cpu_fallback {

void gather(const Call &call) {
    const Tensor x = call.in("x"), rows = call.in("rows"), y = call.out("y");
    in_ranges(y.rows(), part_values / (8 * x.cols()) + 1, [&](int64_t first, int64_t end) {
        for (int64_t r = first; r < end; ++r)
            std::ranges::copy(x.row(rows.i32()[static_cast<size_t>(r)]), y.row(r).begin());
    });
}

} // namespace lamina::plugin::cpu_fallback
