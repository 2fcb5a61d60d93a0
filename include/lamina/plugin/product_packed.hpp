// Weights in the layout of product_packed.comp, which reads 16 bytes of a row at a time, whatever the dtype.
#pragma once

#include <lamina/plugin/plan.hpp>
#include <lamina/plugin/product_numbers.h>

#include <algorithm>

namespace lamina::plugin::detail {

// The number of values in a row, including the zeros that pad it to a multiple of 16 bytes.
inline int64_t packed_inner(const Tensor &weight) {
    const StorageType &type = storage_type(weight.dtype());
    const int64_t whole = std::max(type.block_values, 16 / type.block_bytes); // values
    return ceil_div(weight.cols(), whole) * whole;
}

// Push constants of shaders/product/units.glsl: packs rows `first` to `end` of a matrix, each padded with zeros, or,
// for blocks, in tiles.
struct Packing {
    uint32_t end, row_units, groups, first;

    [[nodiscard]] int64_t invocations(int64_t rows_a_tile) const { return ceil_div(end - first, rows_a_tile) * groups; }
};

// The rows of W in windows that fit into a binding: in place if the kernel can read them, or else packed, once per
// session. The packed copy is as large as W, rounded up to 16 bytes per row, or to 32 rows for blocks.
inline std::vector<Window> packed_windows(const Call &call, Plan &plan, std::string_view name, uint32_t pad,
                                          uint32_t pack) {
    const Tensor weight = call.weight(name);
    const bool blocks = weight.in_blocks();
    if (blocks && weight.dtype() != LAMINA_Q8_0) throw Unsupported("of weights in blocks, only q8_0 can be packed");
    const std::vector<Window> windows = plan.windows(plan.weight(name), weight.rows(), weight.row_bytes());
    if (weight.row_bytes() % 16 == 0 && !blocks) return windows;

    const int64_t inner = packed_inner(weight), tile = blocks ? LAMINA_PACKED_COLS : 1; // rows
    const StorageType &type = storage_type(weight.dtype());
    const int64_t groups = blocks ? inner / type.block_values * LAMINA_PACKED_BLOCK_GROUPS : type.row_bytes(inner) / 16;
    const int64_t most = static_cast<int64_t>(call.device().max_binding_bytes) / (groups * 16) * tile;
    if (most == 0)
        throw Unsupported(std::to_string(tile) + " packed rows of " + std::to_string(inner) +
                          " values exceed the device's binding limit");
    std::vector<Window> out;
    for (const Window &w : windows)
        for (int64_t first = 0; first < w.count; first += most) {
            const int64_t end = std::min(first + most, w.count);
            const Packing push{u32(end), u32(weight.row_bytes() / 2), u32(groups), u32(first)};
            const lamina_ref memory = plan.prepared(push.invocations(tile) * 16);
            plan.prepare(blocks ? pack : pad, plan.spread(ceil_div(push.invocations(tile), 64)), {w.ref, memory}, push);
            out.push_back({w.first + first, end - first, memory});
        }
    return out;
}

// How many invocations of a subgroup share their loads of X.
inline uint32_t packed_share(const lamina_device &device) {
    for (const uint32_t share : {LAMINA_PACKED_SHARE, LAMINA_PACKED_SHARE / 2})
        if (share <= device.subgroup) return share;
    throw Unsupported("it takes subgroups of at least " + std::to_string(LAMINA_PACKED_SHARE / 2));
}

} // namespace lamina::plugin::detail
