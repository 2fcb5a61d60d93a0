// The selective scan of Mamba and Mamba-2. Columns of a state do not depend on each other, so threads share them out.
#include "arrays.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "scan.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t scan_columns = 64; // that are computed together: with 256 rows, they stay in the cache

struct Scan {
    Tensor x, y, position, lengths, state, skip;
    std::span<const float> log_rate;
    int64_t heads, groups, state_dim, rates, value_dim, steps;

    explicit Scan(const Call &call)
        : x(call.in("x")), y(call.out("y")), position(call.in("position")), lengths(call.in("lengths")),
          state(call.state("state")), skip(call.weight("skip")), log_rate(call.weight("log_rate").f32()),
          heads(call.integer("heads")), groups(call.integer("groups")), state_dim(call.integer("state_dim")),
          rates(call.integer("rates")), value_dim(y.cols() / heads), steps(y.dim(1)) {}

    // In a head, from the column `first` on.
    void columns(int64_t b, int64_t h, int64_t first, const float *lost, const float *moved) const;
};

// What states are multiplied by, minus 1, unless their rows have rates of their own, and values: (B, heads, T) of each.
void find_steps(const Call &call, const Scan &scan, float *lost, float *moved) {
    const Tensor step = call.in("step");
    const auto offset = call.weight("offset").f32();
    const auto least = static_cast<float>(call.real("min_step")), limit = static_cast<float>(call.real("max_step"));
    const float most = limit == 0 ? std::numeric_limits<float>::max() : limit;
    in_ranges(step.rows(), part_values / 64 / scan.heads + 1, [&](int64_t begin, int64_t end) {
        const Matrix row(1, scan.heads);
        for (int64_t r = begin; r < end; ++r) {
            std::ranges::transform(step.row(r), offset, row.data(), std::plus{});
            softplus(row.data(), scan.heads);
            for (int64_t h = 0; h < scan.heads; ++h) {
                const int64_t at = (r / scan.steps * scan.heads + h) * scan.steps + r % scan.steps;
                moved[at] = std::clamp(row.data()[h], least, most);
                if (scan.rates == 1)
                    lost[at] = std::expm1(-std::exp(scan.log_rate[static_cast<size_t>(h)]) * moved[at]);
            }
        }
    });
}

void Scan::columns(int64_t b, int64_t h, int64_t first, const float *lost, const float *moved) const {
    const int64_t width = std::min(scan_columns, value_dim - first), gate = (b * heads + h) * steps;
    const int64_t keys = groups * state_dim, group = h / (heads / groups) * state_dim;
    const float *const row = x.f32().data() + b * steps * x.cols(), *const of_keys = row + heads * value_dim + group;
    const ScanTokens tokens{
        .value = row + h * value_dim + first,
        .key = of_keys,
        .query = of_keys + keys,
        .lost = lost + gate,
        .moved = moved + gate,
        .y = y.f32().data() + b * steps * y.cols() + h * value_dim + first,
        .skip = skip ? skip.f32()[static_cast<size_t>(h)] : 0,
        .rate =
            rates == 1 ? std::min(std::exp(log_rate[static_cast<size_t>(h)]), std::numeric_limits<float>::max()) : 0,
        .stride = x.cols(),
        .y_stride = y.cols(),
        .count = lengths ? lengths.i32()[static_cast<size_t>(b)] : steps,
        .state_dim = state_dim};
    for (int64_t t = tokens.count; t < steps; ++t) std::fill_n(tokens.y + t * y.cols(), width, 0.0F);
    const Matrix own(state ? 0 : state_dim, scan_columns); // where nobody keeps a state
    std::ranges::fill(own.all(), 0.0F);
    const auto follow = [&](float *values, int64_t row_size) {
        if (rates == 1) return selective_scan_columns(tokens, values, row_size, width);
        selective_scan_rows(tokens, log_rate.data() + h * rates, values, row_size, width);
    };
    if (!state) return follow(own.data(), scan_columns);
    float *const kept = state.f32().data() + (b * heads + h) * state_dim * value_dim + first;
    if (position.i32()[static_cast<size_t>(b)] == 0)
        for (int64_t i = 0; i < state_dim; ++i) std::fill_n(kept + i * value_dim, width, 0.0F);
    follow(kept, value_dim);
}

} // namespace

void selective_scan(const Call &call) {
    const Scan scan(call);
    const int64_t gates = scan.x.rows() * scan.heads, tiles = ceil_div(scan.value_dim, scan_columns);
    const Matrix found(2, gates);
    float *const lost = found.data(), *const moved = lost + gates;
    find_steps(call, scan, lost, moved);
    const int64_t work = 2 * scan.steps * scan.state_dim * std::min(scan_columns, scan.value_dim);
    in_ranges(scan.y.dim(0) * scan.heads * tiles, part_values / std::max<int64_t>(work, 1) + 1,
              [&](int64_t begin, int64_t end) {
                  for (int64_t part = begin; part < end; ++part)
                      scan.columns(part / tiles / scan.heads, part / tiles % scan.heads, part % tiles * scan_columns,
                                   lost, moved);
              });
}

} // namespace lamina::plugin::cpu_fallback
