// Rows of 16-bit units moved into whole groups of 16 bytes: what packing kernels share.
//
// A unit is a half, half of an f32, the scale of a block of q8_0 or two of its bytes. `end` rows lie in the source, each of
// `row_units` units; those from `first` on are moved.

layout(push_constant) uniform Push {
    uint end;
    uint row_units;
    uint groups; // as long as what is written for one row, or one tile
    uint first;
};
layout(std430, set = 0, binding = 0) readonly buffer From { uint from_words[]; };
layout(std430, set = 0, binding = 1) writeonly buffer To { uvec4 to_groups[]; };

// Zero beyond the end of a row and beyond the last one.
uint unit(uint row, uint i) {
    if (row >= end || i >= row_units) return 0u;
    const uint at = row * row_units + i;
    return from_words[at / 2u] >> 16u * (at % 2u) & 0xffffu;
}
