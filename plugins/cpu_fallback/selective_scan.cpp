// Mamba-2's selective scan. Columns of a state do not depend on each other, so threads share them out.
#include "gates.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "scan.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t scan_columns = 64; // that are computed together: with 256 rows, they stay in the cache

struct Scan {
    Tensor x, y, position, lengths, state, skip;
    int64_t heads, groups, state_dim, value_dim, steps;

    explicit Scan(const Call &call)
        : x(call.in("x")), y(call.out("y")), position(call.in("position")), lengths(call.in("lengths")),
          state(call.state("state")), skip(call.weight("skip")), heads(call.integer("heads")),
          groups(call.integer("groups")), state_dim(call.integer("state_dim")), value_dim(y.cols() / heads),
          steps(y.dim(1)) {}

    // In a head, from the column `first` on.
    void columns(int64_t b, int64_t h, int64_t first, const float *lost, const float *moved) const;
};

// What states are multiplied by, minus 1, and values: (B, heads, T) of each.
void find_steps(const Call &call, const Scan &scan, float *lost, float *moved) {
    const Tensor step = call.in("step");
    const auto rate = call.weight("log_rate").f32(), offset = call.weight("offset").f32();
    const auto least = static_cast<float>(call.real("min_step")), limit = static_cast<float>(call.real("max_step"));
    const float most = limit == 0 ? std::numeric_limits<float>::max() : limit;
    in_ranges(step.rows(), part_values / 64 / scan.heads + 1, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
            for (int64_t h = 0; h < scan.heads; ++h) {
                const auto head = static_cast<size_t>(h);
                const int64_t at = (r / scan.steps * scan.heads + h) * scan.steps + r % scan.steps;
                moved[at] = std::clamp(softplus(step.row(r)[head] + offset[head]), least, most);
                lost[at] = std::expm1(-std::exp(rate[head]) * moved[at]);
            }
    });
}

void Scan::columns(int64_t b, int64_t h, int64_t first, const float *lost, const float *moved) const {
    const int64_t width = std::min(scan_columns, value_dim - first), gate = (b * heads + h) * steps;
    const int64_t keys = groups * state_dim, group = h / (heads / groups) * state_dim;
    const float *const row = x.f32().data() + b * steps * x.cols(), *const of_keys = row + heads * value_dim + group;
    const ScanTokens tokens{.value = row + h * value_dim + first,
                            .key = of_keys,
                            .query = of_keys + keys,
                            .lost = lost + gate,
                            .moved = moved + gate,
                            .y = y.f32().data() + b * steps * y.cols() + h * value_dim + first,
                            .skip = skip ? skip.f32()[static_cast<size_t>(h)] : 0,
                            .stride = x.cols(),
                            .y_stride = y.cols(),
                            .count = lengths ? lengths.i32()[static_cast<size_t>(b)] : steps,
                            .state_dim = state_dim};
    for (int64_t t = tokens.count; t < steps; ++t) std::fill_n(tokens.y + t * y.cols(), width, 0.0F);
    const Matrix own(state ? 0 : state_dim, scan_columns); // where nobody keeps a state
    std::ranges::fill(own.all(), 0.0F);
    if (!state) return selective_scan_columns(tokens, own.data(), scan_columns, width);
    float *const kept = state.f32().data() + (b * heads + h) * state_dim * value_dim + first;
    if (position.i32()[static_cast<size_t>(b)] == 0)
        for (int64_t i = 0; i < state_dim; ++i) std::fill_n(kept + i * value_dim, width, 0.0F);
    selective_scan_columns(tokens, kept, value_dim, width);
}

} // namespace

void selective_scan(const Call &call) {
    const Scan scan(call);
    const int64_t gates = scan.x.rows() * scan.heads, tiles = ceil_div(scan.value_dim, scan_columns);
    const Matrix found(2, gates);
    float *const lost = found.data(), *const moved = lost + gates;
    find_steps(call, scan, lost, moved);
    in_parallel(
        scan.y.dim(0) * scan.heads * tiles,
        [&](int64_t part) {
            scan.columns(part / tiles / scan.heads, part / tiles % scan.heads, part % tiles * scan_columns, lost,
                         moved);
        },
        2 * scan.steps * scan.state_dim * scan_columns);
}

} // namespace lamina::plugin::cpu_fallback
