// A linear layer of each group of channels: the rows of a group are gathered for a product.
#include "kernels.hpp"
#include "product.hpp"

#include <algorithm>

namespace lamina::plugin::cpu_fallback {

template <int XDigits> void grouped_linear(const Call &call) {
    const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
    const int64_t rows = x.rows(), groups = weight.dim(0), cols = weight.dim(1), inner = weight.cols();
    const WeightRows all = weight_rows(call, "weight", XDigits);
    const Matrix in(rows, inner), out(rows, cols);
    static constexpr lamina_tensor no_bias{};
    for (int64_t g = 0; g < groups; ++g) {
        for (int64_t r = 0; r < rows; ++r) std::copy_n(x.row(r).data() + g * inner, inner, in.data() + r * inner);
        product(rows, in.data(), part_of(all, g * cols, (g + 1) * cols), Tensor(no_bias), out.data());
        for (int64_t r = 0; r < rows; ++r) std::copy_n(out.data() + r * cols, cols, y.row(r).data() + g * cols);
    }
}
template void grouped_linear<1>(const Call &call);
template void grouped_linear<2>(const Call &call);
template void grouped_linear<3>(const Call &call);

} // namespace lamina::plugin::cpu_fallback
