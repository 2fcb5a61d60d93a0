// The gated delta rule. Columns of a memory do not depend on each other, so threads share them out.
#include "arrays.hpp"
#include "delta.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace lamina::plugin::cpu_fallback {
namespace {

struct Delta {
    Tensor x, y, position, lengths, memory;
    int64_t heads, key_heads, key_dim, value_dim, steps;
    bool tiled;
    float eps;

    explicit Delta(const Call &call)
        : x(call.in("x")), y(call.out("y")), position(call.in("position")), lengths(call.in("lengths")),
          memory(call.state("memory")), heads(call.integer("heads")), key_heads(call.integer("key_heads")),
          key_dim(call.integer("key_dim")), value_dim(y.cols() / heads), steps(y.dim(1)), tiled(call.flag("tiled")),
          eps(static_cast<float>(call.real("eps"))) {}

    [[nodiscard]] int64_t count(int64_t b) const { return lengths ? lengths.i32()[static_cast<size_t>(b)] : steps; }
    [[nodiscard]] bool begun(int64_t b) const { return memory && position.i32()[static_cast<size_t>(b)] > 0; }
    // The memory of a head, from a column on; null: it has none.
    [[nodiscard]] float *memory_of(int64_t b, int64_t h, int64_t first) const {
        return memory ? memory.f32().data() + (b * heads + h) * key_dim * value_dim + first : nullptr;
    }
    void columns(int64_t b, int64_t h, int64_t first, const float *gates) const;
};

// What memories are multiplied by, and the shares that are written: (B, heads, T) of each.
void find_gates(const Call &call, const Delta &delta, float *fade, float *share) {
    const Tensor fading = call.in("fading"), writing = call.in("writing");
    const auto rate = call.weight("log_rate").f32(), offset = call.weight("offset").f32();
    in_ranges(fading.rows(), part_values / 64 / delta.heads + 1, [&](int64_t begin, int64_t end) {
        const Matrix row(1, delta.heads);
        for (int64_t r = begin; r < end; ++r) {
            std::ranges::transform(fading.row(r), offset, row.data(), std::plus{});
            softplus(row.data(), delta.heads);
            for (int64_t h = 0; h < delta.heads; ++h) {
                const auto head = static_cast<size_t>(h);
                const int64_t at = (r / delta.steps * delta.heads + h) * delta.steps + r % delta.steps;
                fade[at] = std::exp(-std::exp(rate[head]) * row.data()[h]);
                share[at] = 1 / (1 + std::exp(-writing.row(r)[head]));
            }
        }
    });
}

void Delta::columns(int64_t b, int64_t h, int64_t first, const float *gates) const {
    const int64_t width = std::min(delta_columns, value_dim - first), tokens = count(b);
    const int64_t key_head = tiled ? h % key_heads : h / (heads / key_heads);
    const float *const row = x.f32().data() + b * steps * x.cols();
    const int64_t of_values = 2 * key_heads * key_dim + h * value_dim + first;
    float *const out = y.f32().data() + b * steps * y.cols() + h * value_dim + first;
    float *const kept = memory_of(b, h, first);
    const int64_t gate = (b * heads + h) * steps;
    DeltaTokens of{.query = row + key_head * key_dim,
                   .key = row + (key_heads + key_head) * key_dim,
                   .value = row + of_values,
                   .fade = gates + gate,
                   .share = gates + x.rows() * heads + gate,
                   .y = out,
                   .stride = x.cols(),
                   .y_stride = y.cols(),
                   .count = tokens,
                   .key_dim = key_dim,
                   .eps = eps};
    for (int64_t t = tokens; t < steps; ++t) std::fill_n(out + t * y.cols(), width, 0.0F);
    if (kept != nullptr && width == delta_columns) {
        if (!begun(b))
            for (int64_t i = 0; i < key_dim; ++i) std::fill_n(kept + i * value_dim, width, 0.0F);
        return delta_rule(of, kept, value_dim);
    }
    // The last columns, and a memory that nobody keeps, are computed in memory of their own, token by token, because
    // values and results of others are beside theirs.
    const Matrix own(key_dim + 2, delta_columns);
    std::ranges::fill(own.all(), 0.0F);
    float *const values = own.data() + key_dim * delta_columns, *const results = values + delta_columns;
    for (int64_t i = 0; i < key_dim && begun(b); ++i)
        std::copy_n(kept + i * value_dim, width, own.data() + i * delta_columns);
    of.value = values, of.y = results, of.count = 1;
    for (int64_t t = 0; t < tokens; ++t) {
        std::copy_n(row + t * x.cols() + of_values, width, values);
        delta_rule(of, own.data(), delta_columns);
        std::copy_n(results, width, out + t * y.cols());
        of.query += of.stride, of.key += of.stride, ++of.fade, ++of.share;
    }
    for (int64_t i = 0; i < key_dim && kept != nullptr; ++i)
        std::copy_n(own.data() + i * delta_columns, width, kept + i * value_dim);
}

} // namespace

void gated_delta_rule(const Call &call) {
    const Delta delta(call);
    const int64_t gates = delta.x.rows() * delta.heads, tiles = ceil_div(delta.value_dim, delta_columns);
    const Matrix found(2, gates);
    find_gates(call, delta, found.data(), found.data() + gates);
    in_parallel(
        delta.y.dim(0) * delta.heads * tiles,
        [&](int64_t part) {
            delta.columns(part / tiles / delta.heads, part / tiles % delta.heads, part % tiles * delta_columns,
                          found.data());
        },
        3 * delta.steps * delta.key_dim * delta_columns);
}

} // namespace lamina::plugin::cpu_fallback
