// Rows of sequences put together and taken apart.
#include "kernels.hpp"
#include "threads.hpp"

#include <algorithm>

namespace lamina::plugin::cpu_fallback {
namespace {

// Copies `count` rows of each sequence, from row `from` of x's to row `to` of y's.
void copy_rows(const Tensor &x, int64_t from, const Tensor &y, int64_t to, int64_t count) {
    const int64_t of_x = x.dim(1), of_y = y.dim(1);
    in_ranges(x.dim(0) * count, part_values / (8 * x.cols()) + 1, [&](int64_t first, int64_t end) {
        for (int64_t r = first; r < end; ++r) {
            const int64_t b = r / count, t = r % count;
            std::ranges::copy(x.row(b * of_x + from + t), y.row(b * of_y + to + t).begin());
        }
    });
}

} // namespace

void append(const Call &call) {
    const Tensor x = call.in("x"), other = call.in("other"), y = call.out("y");
    copy_rows(x, 0, y, 0, x.dim(1));
    copy_rows(other, 0, y, x.dim(1), other.dim(1));
}

void cut(const Call &call) {
    const Tensor x = call.in("x"), first = call.out("first"), last = call.out("last");
    copy_rows(x, 0, first, 0, first.dim(1));
    copy_rows(x, first.dim(1), last, 0, last.dim(1));
}

} // namespace lamina::plugin::cpu_fallback
