// Shared by the packing kernels: moves rows of 16-bit units into whole groups of 16 bytes.
//
// A unit is a half, one half of an f32, the scale of a q8_0 block, or two of its bytes. The source has `end` rows of
// `row_units` units each; rows from `first` on are moved.

layout(push_constant) uniform Push {
    uint end;
    uint row_units;
    uint groups; // written per row, or per tile
    uint first;
};
layout(std430, set = 0, binding = 0) readonly buffer From { uint from_words[]; };
layout(std430, set = 0, binding = 1) writeonly buffer To { uvec4 to_groups[]; };

// Zero beyond the end of a row, and beyond the last row.
uint unit(uint row, uint i) {
    if (row >= end || i >= row_units) return 0u;
    const uint at = row * row_units + i;
    return from_words[at / 2u] >> 16u * (at % 2u) & 0xffffu;
}
