// Weights as product_packed.comp reads them: 16 bytes of a row at a time, whatever their dtype.
#pragma once

#include <lamina/plugin/plan.hpp>
#include <lamina/plugin/product_numbers.h>

namespace lamina::plugin::detail {

// How many values a row has with the zeros that fill up its last 16 bytes.
inline int64_t packed_inner(const Tensor &weight) {
    const StorageType &type = storage_type(weight.dtype());
    const int64_t whole = std::max(type.block_values, 16 / type.block_bytes); // values
    return ceil_div(weight.cols(), whole) * whole;
}

// The rows of a matrix, from `first` to `end`, each with zeros behind it; or, of blocks, tiles of rows. For
// shaders/product/units.glsl.
struct Packing {
    uint32_t end, row_units, groups, first;

    [[nodiscard]] int64_t invocations(int64_t rows_a_tile) const { return ceil_div(end - first, rows_a_tile) * groups; }
};

// The rows of W in parts that fit into a binding: where they lie if they can be read as they are; else as they are
// packed, which is done once a session and takes as much memory, rounded up to 16 bytes a row, or to 32 rows of blocks.
inline std::vector<Window> packed_windows(const Call &call, Plan &plan, std::string_view name, uint32_t pad,
                                          uint32_t pack) {
    const Tensor weight = call.weight(name);
    const bool blocks = weight.in_blocks();
    if (blocks && weight.dtype() != LAMINA_Q8_0) throw Unsupported("of weights in blocks it takes q8_0 alone");
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

// Which invocations of a subgroup load X for each other.
inline uint32_t packed_share(const lamina_device &device) {
    for (const uint32_t share : {LAMINA_PACKED_SHARE, LAMINA_PACKED_SHARE / 2})
        if (share <= device.subgroup) return share;
    throw Unsupported("subgroups of fewer than " + std::to_string(LAMINA_PACKED_SHARE / 2));
}

} // namespace lamina::plugin::detail
