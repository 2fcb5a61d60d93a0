// Norms of rows.
#include "arrays.hpp"
#include "kernels.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::plugin::cpu_fallback {
namespace {

const float *values_of(const Tensor &tensor, int64_t at = 0) { return tensor ? tensor.f32().data() + at : nullptr; }

// Calls f(row) for all rows, on all threads.
template <class F> void for_rows(const Tensor &x, F &&f) {
    in_ranges(x.rows(), part_values / std::max<int64_t>(x.cols(), 1) + 1, [&](int64_t first, int64_t end) {
        for (int64_t row = first; row < end; ++row) f(row);
    });
}

} // namespace

void layer_norm(const Call &call) {
    const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y");
    const float *const weight = values_of(call.weight("weight")), *const bias = values_of(call.weight("bias"));
    const double eps = call.real("eps");
    for_rows(x, [&](int64_t row) {
        const int64_t at = row * x.cols();
        layer_norm_row(x.f32().data() + at, x.cols(), eps,
                       {weight, bias, values_of(residual, at), 0, y.f32().data() + at});
    });
}

void rms_norm(const Call &call) {
    const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y");
    const Tensor weight = call.weight("weight");
    const double eps = call.real("eps");
    const auto offset = static_cast<float>(call.real("weight_offset"));
    const int64_t groups = call.integer("groups"), cols = x.cols() / groups,
                  weight_groups = call.integer("weight_groups");
    for_rows(x, [&](int64_t row) {
        for (int64_t g = 0; g < groups; ++g) {
            const int64_t at = row * x.cols() + g * cols;
            rms_norm_row(x.f32().data() + at, cols, eps,
                         {values_of(weight, g % weight_groups * cols), nullptr, values_of(residual, at), offset,
                          y.f32().data() + at});
        }
    });
}

void softmax(const Call &call) {
    const Tensor x = call.in("x"), y = call.out("y");
    for_rows(x, [&](int64_t row) {
        const auto in = x.row(row), out = y.row(row);
        std::ranges::copy(in, out.begin());
        const double total = exponentials(out.data(), x.cols(), greatest(in.data(), x.cols()));
        scale(out.data(), x.cols(), static_cast<float>(total == 0 ? 0 : 1 / total));
    });
}

void log_softmax(const Call &call) {
    const Tensor x = call.in("x"), y = call.out("y");
    for_rows(x, [&](int64_t row) {
        const auto in = x.row(row), out = y.row(row);
        const float most = greatest(in.data(), x.cols());
        std::ranges::copy(in, out.begin());
        const double total = exponentials(out.data(), x.cols(), most);
        const double log = total == 0 ? 0 : std::log(total); // 0: the whole row is -infinity and stays so
        std::ranges::transform(in, out.begin(), [=](double v) { return static_cast<float>(v - most - log); });
    });
}

} // namespace lamina::plugin::cpu_fallback
