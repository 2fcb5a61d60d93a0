// Reads four adjacent columns of W for an invocation of product_packed.comp, 16 bytes of each at a time. Include it
// after product.glsl.
//
//     find_columns(col)    selects columns col to col + 3; those beyond the edge are arbitrary, and finish() drops them
//     read_group(i)        reads the i-th group of 16 bytes of each
//     column(j, q)         of column j, the q-th of the group's VECTORS vec4s along K

uvec4 groups[4]; // from read_group()

#ifdef BLOCKS // in tiles, whose layout product_pack.comp describes

const uint VECTORS = 4u; // half of a block
const uint HALF = LAMINA_PACKED_COLS, LANES = LAMINA_PACKED_COLS / 4u;
uint tile_at, tile_lane;
vec4 scales;

void find_columns(uint col) {
    const uint tile = min(col, cols - 1u) / LAMINA_PACKED_COLS;
    tile_at = tile * (inner / 32u) * LAMINA_PACKED_BLOCK_GROUPS, tile_lane = col / 4u % LANES;
}
void read_group(uint i) {
    const uint block_at = tile_at + i / 2u * LAMINA_PACKED_BLOCK_GROUPS;
    if (i % 2u == 0u) scales = halves(F16, weight_words2[(block_at + 2u * HALF) * 2u + tile_lane]);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) groups[j] = weight_words4[block_at + i % 2u * HALF + j * LANES + tile_lane];
}
vec4 column(uint j, uint q) { return scales[j] * signed_bytes(groups[j][q]); }

#else // in rows of whole groups

const uint VECTORS = weight_dtype == F32 ? 1u : 2u;
uvec4 row_at;

void find_columns(uint col) { row_at = min(col + uvec4(0u, 1u, 2u, 3u), uvec4(cols - 1u)) * (inner / (4u * VECTORS)); }
void read_group(uint i) {
    [[unroll]] for (uint j = 0u; j < 4u; ++j) groups[j] = weight_words4[row_at[j] + i];
}
vec4 column(uint j, uint q) {
    if (weight_dtype == F32) return uintBitsToFloat(groups[j]);
    return halves(weight_dtype, q == 0u ? groups[j].xy : groups[j].zw);
}

#endif
