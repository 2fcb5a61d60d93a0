// For product_packed.comp: rearranges a weight in blocks of q8_0 into groups of 16 bytes, so that the invocations of a
// workgroup read adjacent groups.
//
// W (cols, blocks), 34 bytes per block, becomes tiles of 32 columns; those beyond the edge are zeros. For each block, a
// tile has the first 16 bytes of each column's values, then the other 16, then the 32 scales: 68 groups. Columns 0, 4,
// ..., 28 come first, then 1, 5, ..., because each of the 8 invocations of a tile has 4 adjacent columns.
// Dispatch: one invocation per group that is written.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/workgroup.glsl"
#include "lamina/plugin/product_numbers.h"
#include "units.glsl"

layout(local_size_x = 64) in;

const uint BLOCK_UNITS = 17u, HALF = LAMINA_PACKED_COLS, LANES = LAMINA_PACKED_COLS / 4u;

// Unit i of group g of a block.
uint packed_unit(uint tile_col, uint block, uint g, uint i) {
    if (g >= 2u * HALF) return unit(tile_col + (g - 2u * HALF) * 8u + i, block * BLOCK_UNITS); // scales
    const uint col = tile_col + g % LANES * 4u + g / LANES % 4u;
    return unit(col, block * BLOCK_UNITS + 1u + g / HALF * 8u + i);
}

void main() {
    const uint at = workgroup_number() * 64u + gl_LocalInvocationID.x;
    const uint tile_col = first + at / groups * LAMINA_PACKED_COLS;
    const uint block = at % groups / LAMINA_PACKED_BLOCK_GROUPS, g = at % groups % LAMINA_PACKED_BLOCK_GROUPS;
    if (tile_col >= end) return;
    uvec4 group;
    for (uint w = 0u; w < 4u; ++w)
        group[w] = packed_unit(tile_col, block, g, 2u * w) | packed_unit(tile_col, block, g, 2u * w + 1u) << 16;
    to_groups[at] = group;
}
