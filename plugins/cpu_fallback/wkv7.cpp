// RWKV-7's memories. What tokens write is worked out first; then columns of memories, which do not depend on each
// other, are shared out; then what they give is normalized and gated.
#include "arrays.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "threads.hpp"
#include "wkv7_columns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t tile_columns = 64; // that are computed together: with 128 rows, they stay in the cache

struct Wkv7 {
    Tensor query, fading, key, value, rate, gate, first_value, first_share, position, lengths, y, memory;
    int64_t heads, key_dim, value_dim, steps;
    float eps, key_eps;
    Matrix faded_query, fade, old, replaced, written; // (B T, heads * key_dim)
    Matrix values;                                    // (B T, heads * value_dim): those of the first layer mixed in
    Matrix by_replaced, by_key, bonus;                // (B T, heads)

    explicit Wkv7(const Call &call)
        : query(call.in("query")), fading(call.in("fading")), key(call.in("key")), value(call.in("value")),
          rate(call.in("rate")), gate(call.in("gate")), first_value(call.in("first_value")),
          first_share(call.in("first_share")), position(call.in("position")), lengths(call.in("lengths")),
          y(call.out("y")), memory(call.state("memory")), heads(call.integer("heads")), key_dim(key.cols() / heads),
          value_dim(y.cols() / heads), steps(y.dim(1)), eps(static_cast<float>(call.real("eps"))),
          key_eps(static_cast<float>(call.real("key_eps"))), faded_query(y.rows(), key.cols()),
          fade(y.rows(), key.cols()), old(y.rows(), key.cols()), replaced(y.rows(), key.cols()),
          written(y.rows(), key.cols()), values(y.rows(), y.cols()), by_replaced(y.rows(), heads),
          by_key(y.rows(), heads), bonus(y.rows(), heads) {}

    [[nodiscard]] int64_t count(int64_t b) const { return lengths ? lengths.i32()[static_cast<size_t>(b)] : steps; }
    void find(const Call &call, int64_t part);
    void follow(int64_t b, int64_t h, int64_t first);
    void finish(const Call &call, int64_t part) const;
};

// What a token writes in one head; `part` is row * heads + head.
void Wkv7::find(const Call &call, int64_t part) {
    const int64_t at = part * key_dim, weight = part % heads * key_dim;
    const float *const q = query.f32().data() + at, *const k = key.f32().data() + at,
                       *const f = fading.f32().data() + at, *const a = rate.f32().data() + at,
                       *const of_old = call.weight("old_key").f32().data() + weight,
                       *const of_rate = call.weight("key_rate").f32().data() + weight,
                       *const of_bonus = call.weight("bonus").f32().data() + weight;
    float *const kept = fade.data() + at, *const share = replaced.data() + at;
    std::copy_n(f, key_dim, kept);
    activate(LAMINA_SIGMOID, kept, key_dim);
    scale(kept, key_dim, -0.60653065971263342F); // exp(-1/2)
    (void)exponentials(kept, key_dim, 0);
    std::copy_n(a, key_dim, share);
    activate(LAMINA_SIGMOID, share, key_dim);
    float square = key_eps, on_key = 0, on_replaced = 0, own = 0;
    for (int64_t i = 0; i < key_dim; ++i) square += k[i] * of_old[i] * k[i] * of_old[i];
    const float of_length = 1 / std::sqrt(square);
    for (int64_t i = 0; i < key_dim; ++i) {
        faded_query.data()[at + i] = q[i] * kept[i];
        old.data()[at + i] = k[i] * of_old[i] * of_length;
        written.data()[at + i] = k[i] * (1 + (share[i] - 1) * of_rate[i]);
        replaced.data()[at + i] = share[i] * old.data()[at + i];
        on_replaced += q[i] * replaced.data()[at + i];
        on_key += q[i] * written.data()[at + i];
        own += q[i] * written.data()[at + i] * of_bonus[i];
    }
    by_replaced.data()[part] = on_replaced, by_key.data()[part] = on_key, bonus.data()[part] = own;
    const int64_t of_values = part * value_dim;
    const float *const v = value.f32().data() + of_values;
    float *const mixed = values.data() + of_values;
    if (!first_value) return void(std::copy_n(v, value_dim, mixed));
    std::copy_n(first_share.f32().data() + of_values, value_dim, mixed);
    activate(LAMINA_SIGMOID, mixed, value_dim);
    const float *const first = first_value.f32().data() + of_values;
    for (int64_t j = 0; j < value_dim; ++j) mixed[j] = v[j] + (first[j] - v[j]) * mixed[j];
}

// A sequence's tokens in the columns from `first` on of a memory. y is what they recall.
void Wkv7::follow(int64_t b, int64_t h, int64_t first) {
    const int64_t width = std::min(tile_columns, value_dim - first), row = b * steps;
    const int64_t keys = (row * heads + h) * key_dim, of_values = (row * heads + h) * value_dim + first;
    const Wkv7Tokens tokens{.faded_query = faded_query.data() + keys,
                            .fade = fade.data() + keys,
                            .old = old.data() + keys,
                            .replaced = replaced.data() + keys,
                            .key = written.data() + keys,
                            .value = values.data() + of_values,
                            .by_replaced = by_replaced.data() + row * heads + h,
                            .by_key = by_key.data() + row * heads + h,
                            .y = y.f32().data() + of_values,
                            .stride = key.cols(),
                            .y_stride = y.cols(),
                            .sum_stride = heads,
                            .count = count(b),
                            .key_dim = key_dim};
    if (!memory) { // that anybody keeps
        const Matrix own(key_dim, tile_columns);
        std::ranges::fill(own.all(), 0.0F);
        return wkv7_columns(tokens, own.data(), tile_columns, width);
    }
    float *const kept = memory.f32().data() + (b * heads + h) * key_dim * value_dim + first;
    if (position.i32()[static_cast<size_t>(b)] == 0)
        for (int64_t i = 0; i < key_dim; ++i) std::fill_n(kept + i * value_dim, width, 0.0F);
    wkv7_columns(tokens, kept, value_dim, width);
}

// (layer_norm(y) + bonus * value) * gate, of a head of a token.
void Wkv7::finish(const Call &call, int64_t part) const {
    const int64_t row = part / heads, at = part * value_dim;
    float *const out = y.f32().data() + at;
    if (row % steps >= count(row / steps)) return void(std::fill_n(out, value_dim, 0.0F));
    const float *const scale = call.weight("weight").f32().data() + part % heads * value_dim,
                       *const offset = call.weight("bias").f32().data() + part % heads * value_dim,
                       *const gates = gate.f32().data() + at, *const own = values.data() + at;
    const double size = static_cast<double>(value_dim), mean = std::accumulate(out, out + value_dim, 0.0) / size;
    double square = 0;
    for (int64_t j = 0; j < value_dim; ++j) square += (out[j] - mean) * (out[j] - mean);
    const double factor = 1 / std::sqrt(square / size + eps);
    for (int64_t j = 0; j < value_dim; ++j) {
        const auto normal = static_cast<float>((out[j] - mean) * factor);
        out[j] = (normal * scale[j] + offset[j] + bonus.data()[part] * own[j]) * gates[j];
    }
}

} // namespace

void wkv7(const Call &call) {
    Wkv7 of(call);
    const int64_t parts = of.y.rows() * of.heads, tiles = ceil_div(of.value_dim, tile_columns);
    in_parallel(
        parts, [&](int64_t part) { of.find(call, part); }, 64 * of.key_dim);
    in_parallel(
        of.y.dim(0) * of.heads * tiles,
        [&](int64_t part) { of.follow(part / tiles / of.heads, part / tiles % of.heads, part % tiles * tile_columns); },
        3 * of.steps * of.key_dim * tile_columns);
    in_parallel(
        parts, [&](int64_t part) { of.finish(call, part); }, 8 * of.value_dim);
}

} // namespace lamina::plugin::cpu_fallback
