// product.glsl with shared memory, for GPUs.
//
// Dispatch: a workgroup of 256 computes a tile of 64 x 64 or 32 x 128 sums, over a part of K; with LARGE defined, 128 x
// 128. X and W go through shared memory, 16 values along K at a time, transposed so that four rows are adjacent. Of
// each k, an invocation reads four rows and four columns, as one vec4 each, for 16 multiply-adds; or, with LARGE, twice
// as many for 64. LARGE is not a specialization constant, because SwiftShader runs both sides of a branch.

#include "product/product.glsl"

layout(local_size_x = 256) in;
#ifdef LARGE
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_LARGE_ROWS; // no other value is supported
const uint SOME = 2u; // of DEPTH, whose multiplications follow each other without a loop
#else
const uint SOME = 4u;
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_TILED_ROWS; // or 32
#endif
const uint TILE_COLS = TILE_ROWS == 64u ? 64u : 128u;

const uint DEPTH = 16u;
const uint DOWN = TILE_ROWS == 32u ? 8u : 16u, ACROSS = 256u / DOWN;             // invocations
const uint X_LOADS = (TILE_ROWS + 63u) / 64u, W_LOADS = (TILE_COLS + 63u) / 64u; // of an invocation, 4 values each

// Lines of a k: [row / 4] and [column / 4]. The one more spreads values over the memory banks when they are stored. They
// are no arrays of arrays, of which compilers would leave out what is not used.
const uint X_LINE = TILE_ROWS / 4u + 1u, W_LINE = TILE_COLS / 4u + 1u;
shared vec4 x_tile[DEPTH * X_LINE];
shared vec4 w_tile[DEPTH * W_LINE];

vec4 x_next[X_LOADS], w_next[W_LOADS]; // on their way to shared memory

// Rows and columns beyond the edge repeat the last one; finish() drops their sums.
void load(Tile tile, uint first) {
    const uint at = gl_LocalInvocationID.x / 4u, k = first + gl_LocalInvocationID.x % 4u * 4u;
    if (TILE_ROWS >= 64u || at < TILE_ROWS)
        [[unroll]] for (uint i = 0u; i < X_LOADS; ++i) x_next[i] = x_four(x_row(tile.row + at + i * 64u), k);
    [[unroll]] for (uint i = 0u; i < W_LOADS; ++i) w_next[i] = w_four(w_row(tile.col + at + i * 64u), k);
}

void store() {
    const uint at = gl_LocalInvocationID.x / 4u, k = gl_LocalInvocationID.x % 4u * 4u;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        if (TILE_ROWS >= 64u || at < TILE_ROWS)
            [[unroll]] for (uint i = 0u; i < X_LOADS; ++i) x_tile[(k + j) * X_LINE + i * 16u + at / 4u][at % 4u] = x_next[i][j];
        [[unroll]] for (uint i = 0u; i < W_LOADS; ++i) w_tile[(k + j) * W_LINE + i * 16u + at / 4u][at % 4u] = w_next[i][j];
    }
}

// Of four rows and four columns. Not an array, which a driver that does not unroll loops would keep in slow memory.
struct Sums {
    vec4 row0, row1, row2, row3;
};

void add(inout Sums s, vec4 rows_at_k, vec4 cols_at_k) {
    s.row0 += rows_at_k.x * cols_at_k;
    s.row1 += rows_at_k.y * cols_at_k;
    s.row2 += rows_at_k.z * cols_at_k;
    s.row3 += rows_at_k.w * cols_at_k;
}

// The sums move down row by row, so that the code that finishes one is there once, and compilers are done sooner.
void finish_all(Sums s, uint row, uint first_col_of_four) {
    const vec4 b = biases_of(first_col_of_four);
    [[dont_unroll]] for (uint r = 0u; r < 4u; ++r) {
        finish_four(row + r, first_col_of_four, s.row0 + b);
        s.row0 = s.row1, s.row1 = s.row2, s.row2 = s.row3;
    }
}

void main() {
    Tile tile;
    if (!find_tile(TILE_ROWS, TILE_COLS, tile)) return; // the same for the whole workgroup

    const uint low = gl_LocalInvocationID.x % ACROSS, high = gl_LocalInvocationID.x / ACROSS;
    const Sums none = Sums(vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
    Sums sums = none;
#ifdef LARGE
    Sums right = none, below = none, across = none; // 64 columns, 64 rows, and both further on
#endif
    for (uint next = tile.begin;; next += DEPTH) {
        if (next < tile.end) load(tile, next); // memory answers during the multiplications
        if (next != tile.begin)
            // Drivers would unroll all of it, and compile for long.
            [[dont_unroll]] for (uint first = 0u; first < DEPTH; first += SOME) {
                const uint x_at = first * X_LINE + high, w_at = first * W_LINE + low;
                [[unroll]] for (uint i = 0u; i < SOME; ++i) { // from 0: drivers unroll no others
                    const vec4 a = x_tile[x_at + i * X_LINE], b = w_tile[w_at + i * W_LINE];
                    add(sums, a, b);
#ifdef LARGE
                    const vec4 a64 = x_tile[x_at + i * X_LINE + 16u], b64 = w_tile[w_at + i * W_LINE + 16u];
                    add(right, a, b64);
                    add(below, a64, b);
                    add(across, a64, b64);
#endif
                }
            }
        if (next >= tile.end) break;
        barrier(); // the previous values are no longer needed
        store();
        barrier();
    }

    const uint row = tile.row + high * 4u, col = tile.col + low * 4u;
    finish_all(sums, row, col);
#ifdef LARGE
    finish_all(right, row, col + 64u);
    finish_all(below, row + 64u, col);
    finish_all(across, row + 64u, col + 64u);
#endif
}
