// The dispatches of attention. Include it after the kernels of the layer, among which are those of shaders/attention.
#pragma once

#include "setting.hpp"

#include <lamina/plugin.hpp>
#include <lamina/plugin/matrix.hpp>

#include <algorithm>

namespace attention {

inline constexpr std::array variants{
    baseline("in registers, no shared memory; two query rows per invocation"),
    variant("tiled", "with shared memory; for few queries, a workgroup per query and head", 0),
    variant("wide", "as baseline, with four query rows per invocation; for software drivers", 0),
    variant("split", "for few queries and many keys: a workgroup per part of the keys, then merged", 0),
    variant("matrix", "for 8 query rows or more: cooperative matrices, each value as two halves", matrix_products),
    variant("half", "for 8 query rows or more: cooperative matrices, each value as one half", matrix_products,
            LAMINA_F16),
};
enum : uint32_t { tiled = 1, wide = 2, split = 3, matrix = 4, half = 5 };

inline constexpr std::array tolerances{tolerance(2e-5, 2e-6), tolerance(1e-2, 1e-3, LAMINA_F16)};

class Planner {
  public:
    Planner(const Call &call, Plan &plan) : call_(call), plan_(plan), s_(call) {}

    [[nodiscard]] const Setting &setting() const { return s_; }

    // Computes the heads of these queries over keys and values, which are in the caches if there are any.
    void attend(lamina_ref q, lamina_ref k, lamina_ref v) {
        const struct {
            uint32_t batch, queries, keys, key_rows, heads, kv_heads;
            uint32_t query_batch_stride, query_time_stride, key_batch_stride, key_time_stride;
            uint32_t mask_batch_stride, mask_query_stride, window, reach;
            float scale, softcap;
            uint32_t head_dim, options;
        } push{u32(s_.q.batch),
               u32(s_.q.length),
               u32(s_.k.length),
               u32(s_.key_rows),
               u32(s_.heads),
               u32(s_.kv_heads),
               u32(s_.q.batch_stride),
               u32(s_.q.time_stride),
               u32(s_.key_batch_stride()),
               u32(s_.key_time_stride()),
               u32(s_.mask_batch_stride()),
               u32(s_.mask_query_stride()),
               u32(std::min<int64_t>(s_.window, INT32_MAX)),
               u32(s_.reach()),
               static_cast<float>(s_.scale),
               static_cast<float>(s_.softcap),
               u32(s_.head_dim),
               options()};
        lamina_ref o = plan_.out("y");
        const lamina_ref position = in("position"), lengths = in("key_lengths"),
                         mask = in(s_.ahead           ? "ahead"
                                   : s_.first_keys    ? "first_keys"
                                   : s_.query_lengths ? "query_lengths"
                                   : s_.shared_mask   ? "key_mask"
                                                      : "keep_mask"),
                         bias =
                             s_.slopes ? plan_.weight("slopes") : in(s_.distance_bias ? "distance_bias" : "score_bias"),
                         sinks = s_.sinks ? plan_.weight("sinks") : in("q");
        const auto dispatch = [&](uint32_t kernel, int64_t groups, auto... tile) {
            plan_.dispatch(kernel, plan_.spread(groups), {q, k, v, position, lengths, mask, bias, o, sinks}, push,
                           {{0, key_dtype()},
                            {1, value_dtype()},
                            {2, static_cast<bool>(s_.mask)},
                            {3, has_bias()},
                            {4, static_cast<bool>(s_.distance_bias)},
                            {5, s_.softcap != 0},
                            {14, static_cast<bool>(s_.first_keys)},
                            {15, static_cast<bool>(s_.query_lengths)},
                            tile...});
        };
        const int64_t key_heads = s_.q.batch * s_.kv_heads;         // each dispatch covers them all
        const int64_t lines = s_.heads / s_.kv_heads * s_.q.length; // query rows that share a key head
        const int64_t rows = s_.q.batch * s_.q.length * s_.heads;
        const bool vec4 = s_.head_dim % 4 == 0;
        const int64_t steps = vec4 ? s_.head_dim / 4 : s_.head_dim;
        const uint32_t row_kernel = vec4 ? lamina_kernels::attention_row_vec4 : lamina_kernels::attention_row;
        const lamina_spec row_slices{6, u32(ceil_div(steps, 128))};
        if (plan_.variant == split) {
            const int64_t parts = parts_of();
            o = plan_.scratch(rows * parts * (s_.head_dim + 2) * 4);
            dispatch(row_kernel, rows * parts, row_slices, lamina_spec{7, part_keys});
            merge(o, parts);
        } else if (plan_.variant == matrix || plan_.variant == half) {
            if (lines < 8 || s_.head_dim > 256)
                throw Unsupported("it takes 8 or more query rows a key head, of up to 256 channels");
            if (call_.device().shared_bytes < 20 * 1024 || 128 % call_.device().subgroup != 0)
                throw Unsupported("it takes 20 KiB of shared memory, and subgroups that divide 128");
            const lamina_matrix_shape shape = matrix_shape(call_.device(), 32, 32, 32);
            plan_.dispatch(lamina_kernels::attention_matrix, plan_.spread(key_heads * ceil_div(lines, 32)),
                           {q, k, v, position, lengths, mask, bias, o, sinks, scales(q, k, v)}, push,
                           {{0, key_dtype()},
                            {1, value_dtype()},
                            {2, u32(ceil_div(s_.head_dim, 32))},
                            {3, shape.m},
                            {4, shape.n},
                            {5, shape.k},
                            {6, plan_.variant == half}});
        } else if (plan_.variant != tiled) {
            // Sums and scores of an invocation, up to 56 of a GPU and up to 288 of a software driver. Only GPUs have
            // long subgroups, and there whatever exceeds the registers goes to slow memory.
            const bool gpu = call_.device().subgroup > 8;
            if (plan_.variant == wide && gpu)
                throw Unsupported("it is for software drivers, with subgroups of up to 8, found " +
                                  std::to_string(call_.device().subgroup));
            const int64_t most_lines = plan_.variant == wide ? 4 : 2;
            const int64_t most_steps = plan_.variant == wide ? 16 : gpu ? 5 : 8;
            const int64_t slices = ceil_div(steps, most_steps);
            // Eight lines fill the SIMD lanes of a software driver if each has its own. That they run the same kernel
            // as one line, a decode step, saves compiling another.
            const int64_t own_lines = lines > 8 ? most_lines : 1, own_steps = ceil_div(steps, slices);
            // A round takes eight keys, and lavapipe ends loops that are longer together.
            const bool too_long = !gpu && ceil_div(s_.key_rows, 8) * (steps + own_steps) > 65'535;
            if (too_long && plan_.variant == wide)
                throw Unsupported("it takes fewer keys here, found " + std::to_string(s_.key_rows));
            if (too_long && s_.head_dim <= 1024) return dispatch(row_kernel, rows, row_slices);
            dispatch(vec4 ? lamina_kernels::attention_vec4 : lamina_kernels::attention,
                     key_heads * slices * ceil_div(lines, 32 * own_lines), lamina_spec{6, u32(own_steps)},
                     lamina_spec{7, u32(own_lines)});
        } else if (s_.head_dim > 1024) {
            throw Unsupported("it takes head dims up to 1024, found " + std::to_string(s_.head_dim));
        } else if (few_queries() || s_.head_dim > 256) {
            dispatch(row_kernel, rows, row_slices);
        } else {
            dispatch(lamina_kernels::attention_tiled, key_heads * ceil_div(lines, 32),
                     lamina_spec{6, u32(ceil_div(s_.head_dim, 32))});
        }
    }

    // The kernels of the heads bind all of these.
    void check_bindings() const {
        const int64_t queries = s_.q.batch * s_.q.length, pairs = queries * s_.k.length;
        const Tensor keys = s_.cached ? call_.state("key_cache") : call_.in("k");
        const int64_t most = std::max({queries * s_.heads * s_.head_dim * 4, keys.rows() * keys.row_bytes(),
                                       s_.mask ? pairs * 4 : 0, s_.score_bias ? pairs * s_.heads * 4 : 0});
        const auto limit = static_cast<int64_t>(call_.device().max_binding_bytes);
        if (most > limit)
            throw Unsupported("a tensor of " + std::to_string(most) + " bytes exceeds the device's binding limit of " +
                              std::to_string(limit) + ": use smaller batches or shorter sequences");
    }

  private:
    // An input that the layer may not have.
    [[nodiscard]] lamina_ref in(const char *name) const {
        return plan_.in(has_input(call_, name) ? name : "q"); // any: it is bound and not read
    }

    [[nodiscard]] bool has_bias() const { return s_.score_bias || s_.distance_bias || s_.slopes; }

    // In the order of keys.glsl.
    [[nodiscard]] uint32_t options() const {
        const std::array all{static_cast<bool>(s_.mask),
                             has_bias(),
                             static_cast<bool>(s_.distance_bias),
                             s_.softcap != 0,
                             s_.causal,
                             s_.cached,
                             s_.positioned(),
                             static_cast<bool>(s_.key_lengths),
                             s_.two_sided,
                             static_cast<bool>(s_.slopes),
                             static_cast<bool>(s_.sinks),
                             static_cast<bool>(s_.ahead),
                             static_cast<bool>(s_.first_keys),
                             static_cast<bool>(s_.query_lengths)};
        uint32_t bits = 0;
        for (uint32_t i = 0; i < all.size(); ++i) bits |= static_cast<uint32_t>(all[i]) << i;
        return bits;
    }

    // The scales of the rows of Q, K and V, head by head, one after the other.
    lamina_ref scales(lamina_ref q, lamina_ref k, lamina_ref v) {
        const int64_t q_rows = s_.q.batch * s_.q.length * s_.heads, k_rows = s_.q.batch * s_.key_rows * s_.kv_heads;
        const lamina_ref scales = plan_.scratch((q_rows + 2 * k_rows) * 4);
        const auto dispatch = [&](lamina_ref matrix, uint32_t dtype, int64_t rows, int64_t first) {
            const struct { uint32_t rows, inner, first_row; } push{u32(rows), u32(s_.head_dim), u32(first)};
            plan_.dispatch(lamina_kernels::attention_scales, plan_.spread(rows), {matrix, scales}, push, {{0, dtype}});
        };
        dispatch(q, LAMINA_F32, q_rows, 0);
        dispatch(k, key_dtype(), k_rows, q_rows);
        dispatch(v, value_dtype(), k_rows, q_rows + k_rows);
        return scales;
    }
    [[nodiscard]] uint32_t key_dtype() const { return dtype_of(s_.cached ? call_.state("key_cache") : call_.in("k")); }
    [[nodiscard]] uint32_t value_dtype() const {
        if (s_.keys_are_values) return key_dtype();
        return dtype_of(s_.cached ? call_.state("value_cache") : call_.in("v"));
    }

    static constexpr uint32_t part_keys = 256; // two rounds of a workgroup

    // A workgroup per query and head, though heads that share their keys read them each for itself: in a decode step
    // there are too few queries to keep a GPU busy otherwise.
    [[nodiscard]] bool few_queries() const { return s_.q.length < 8; }
    [[nodiscard]] int64_t parts_of() const {
        const int64_t parts = ceil_div(s_.key_rows, part_keys);
        if (!few_queries() || s_.head_dim > 1024 || parts < 2)
            throw Unsupported("it takes fewer than 8 queries, of up to 1024 channels, over more than " +
                              std::to_string(part_keys) + " keys");
        return parts;
    }
    void merge(lamina_ref partial, int64_t parts) {
        const struct {
            uint32_t batch, queries, heads, depth, parts, batch_stride, time_stride;
        } push{u32(s_.q.batch), u32(s_.q.length),       u32(s_.heads),        u32(s_.head_dim),
               u32(parts),      u32(s_.q.batch_stride), u32(s_.q.time_stride)};
        plan_.dispatch(lamina_kernels::merge, plan_.spread(ceil_div(call_.out("y").size(), 64)),
                       {partial, plan_.out("y")}, push);
    }

    const Call &call_;
    Plan &plan_;
    const Setting s_;
};

} // namespace attention
