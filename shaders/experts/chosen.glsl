// product.glsl where each row has a matrix W of its own: that of the expert that was chosen for it.
//
// W is a stack of matrices (E, cols, inner), of which a window is bound: `count` from expert `first` on. A pair is a
// token and one of its K experts; there are `rows` pairs, numbered token by token. They are computed in the order of
// their experts, so that a tile of rows has one matrix:
//
//     order[position]     the pair
//     tiles[tile]         expert, its first position, and the end of its positions; end 0: no such tile
//
// With SORTED false there is no order: position and pair are the same, a tile is a pair, and order[] are the experts.
// With per_token K, X has a row for each token and Y one for each position. With 0, X has a row for each position and Y
// one for each pair.

layout(constant_id = 4) const bool SORTED = true;
layout(std430, set = 0, binding = 5) readonly buffer Order { uint order[]; };
layout(std430, set = 0, binding = 6) readonly buffer Tiles { uvec4 tiles[]; };

uint expert;   // of the tile
uint rows_end; // of the positions of the expert

#define ROWS_END rows_end
#define FINISHED(sum) finished(sum)

// False if there is no such tile, or its matrix is not in the window.
bool find_rows(uint tile, out uint first_row) {
    first_row = tile;
    if (tile >= tile_count) return false;
    if (SORTED) {
        const uvec4 found = tiles[tile];
        expert = found.x, first_row = found.y, rows_end = found.z;
    } else {
        expert = order[tile], rows_end = tile + 1u;
    }
    return rows_end != 0u && expert >= first && expert < first + count;
}

uint pair_of(uint position) { return SORTED ? order[position] : position; }

uint x_row(uint row) { // rows beyond the edge repeat the last one
    const uint position = min(row, rows_end - 1u);
    return per_token != 0u ? pair_of(position) / per_token : position;
}
uint w_row(uint col) { return (expert - first) * cols + min(col, cols - 1u); }
uint y_row(uint row) { return per_token != 0u ? row : pair_of(row); }
uint z_row(uint row) { return row; }
float bias_at(uint n) { return bias(expert * cols + n); }

// With a limit, a gate is at most that, and what it is multiplied with is within it.
float finished(float sum) {
    if (limit > 0.0) sum = combine == LAMINA_MULTIPLY ? clamp(sum, -limit, limit) : min(sum, limit);
    return activate(ACTIVATION, sum * alpha) / alpha + offset;
}
