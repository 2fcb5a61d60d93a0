// product.glsl with shared memory, for GPUs.
//
// Dispatch: a workgroup of 256 computes 32 x 128, 64 x 64 or 128 x 128 sums, over a part of K. X and W go through
// shared memory, 16 values along K at a time, transposed so that four rows are adjacent. Of each k, an invocation reads
// R fours of rows and C fours of columns for 16 R C multiply-adds. The more sums it has, the fewer its reads: two floats
// for four multiply-adds with 4 x 4 sums, one with 8 x 8.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "product.glsl"

layout(local_size_x = 256) in;
layout(constant_id = LAMINA_OF_TILE_ROWS) const uint TILE_ROWS = LAMINA_TILED_ROWS; // 32, 64 or 128
const uint TILE_COLS = TILE_ROWS == 64u ? 64u : 128u;

const uint DEPTH = 16u;
const uint DOWN = TILE_ROWS < 64u ? TILE_ROWS / 4u : 16u, ACROSS = 256u / DOWN; // invocations
const uint R = TILE_ROWS / (4u * DOWN), C = TILE_COLS / (4u * ACROSS);
const uint X_LOADS = (TILE_ROWS + 63u) / 64u, W_LOADS = TILE_COLS / 64u; // of an invocation, 4 values along K each
const bool ALL_LOAD_X = TILE_ROWS >= 64u; // not a quarter or half of the invocations

// [k][row / 4] and [k][column / 4]. The one more spreads values over the memory banks when they are stored.
shared vec4 x_tile[DEPTH][TILE_ROWS / 4u + 1u];
shared vec4 w_tile[DEPTH][TILE_COLS / 4u + 1u];

vec4 x_next[X_LOADS], w_next[W_LOADS]; // on their way to shared memory

// Rows and columns beyond the edge repeat the last one; finish() drops their sums.
void load(Tile tile, uint first) {
    const uint row = gl_LocalInvocationID.x / 4u, k = first + gl_LocalInvocationID.x % 4u * 4u;
    [[unroll]] for (uint i = 0u; i < X_LOADS; ++i)
        if (ALL_LOAD_X || row < TILE_ROWS) x_next[i] = x_four(min(tile.row + i * 64u + row, rows - 1u), k);
    [[unroll]] for (uint i = 0u; i < W_LOADS; ++i) w_next[i] = w_four(min(tile.col + i * 64u + row, cols - 1u), k);
}

void store() {
    const uint row = gl_LocalInvocationID.x / 4u, k = gl_LocalInvocationID.x % 4u * 4u;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        [[unroll]] for (uint i = 0u; i < X_LOADS; ++i)
            if (ALL_LOAD_X || row < TILE_ROWS) x_tile[k + j][i * 16u + row / 4u][row % 4u] = x_next[i][j];
        [[unroll]] for (uint i = 0u; i < W_LOADS; ++i)
            w_tile[k + j][i * 16u + row / 4u][row % 4u] = w_next[i][j];
    }
}

void main() {
    Tile tile;
    if (!find_tile(TILE_ROWS, TILE_COLS, tile)) return; // the same for the whole workgroup

    const uint low = gl_LocalInvocationID.x % ACROSS, high = gl_LocalInvocationID.x / ACROSS;
    vec4 sum[4u * R * C]; // C adjacent ones are a row
    [[unroll]] for (uint i = 0u; i < 4u * R * C; ++i) sum[i] = vec4(0.0);
    for (uint next = tile.begin;; next += DEPTH) {
        if (next < tile.end) load(tile, next); // memory answers during the multiplications
        if (next != tile.begin)
            // Drivers would unroll all of it, and compile for long.
            [[dont_unroll]] for (uint first = 0u; first < DEPTH; first += 2u)
                [[unroll]] for (uint k = first; k < first + 2u; ++k) {
                    vec4 b[C];
                    [[unroll]] for (uint c = 0u; c < C; ++c) b[c] = w_tile[k][c * ACROSS + low];
                    [[unroll]] for (uint r = 0u; r < R; ++r) {
                        const vec4 a = x_tile[k][r * DOWN + high];
                        [[unroll]] for (uint i = 0u; i < 4u; ++i)
                            [[unroll]] for (uint c = 0u; c < C; ++c) sum[(r * 4u + i) * C + c] += a[i] * b[c];
                    }
                }
        if (next >= tile.end) break;
        barrier(); // the previous values are no longer needed
        store();
        barrier();
    }

    [[unroll]] for (uint c = 0u; c < C; ++c)
        for (uint j = 0u; j < 4u; ++j) {
            const uint col = tile.col + (c * ACROSS + low) * 4u + j;
            const float b = bias_of(col);
            [[unroll]] for (uint r = 0u; r < R; ++r)
                [[unroll]] for (uint i = 0u; i < 4u; ++i)
                    finish(tile.row + (r * DOWN + high) * 4u + i, col, sum[(r * 4u + i) * C + c][j] + b);
        }
}
