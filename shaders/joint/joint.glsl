// Up to three matrix products of the same rows in one dispatch, which fusions take. For each row x, or with NORM its root
// mean square normalization,
//     apart: y_a = A x + a, y_b = B x + b, y_c = C x + c
//     GATED: y_a = act(A x + a) * (B x + b)
// and with ADD, y_a + z.
//
// x (rows, inner), y_a and z (rows, cols_a) and so on, f32; A (cols_a, inner) and so on, any dtype for weights, all in blocks or
// none; biases and the norm's factors may be left out. A matrix of no columns is none. inner is a multiple of 4. Sums are
// fp32. The norm divides a row by one number, so sums are divided instead, when that number is known.
//
// This file declares the operands and finishes the sums; joint_registers.comp and joint_few_rows.comp compute them, as
// their namesakes in shaders/product do. Which matrix it is they say by a number that is written there, so that compilers
// have a loop for each matrix, and no choice inside of it.

#extension GL_EXT_control_flow_attributes : require
#include "common/activation.glsl"
#include "common/weight.glsl"
#include "common/workgroup.glsl"

layout(push_constant) uniform Push {
    uint rows, inner;
    uint cols_a, cols_b, cols_c;
    float eps, weight_offset; // of the norm
};

layout(std430, set = 0, binding = 0) readonly buffer X { vec4 x4[]; };
WEIGHT(factor, 1, 0) // of the norm
WEIGHT_OR_BLOCKS(weight_a, 2, 1)
WEIGHT_OR_BLOCKS(weight_b, 3, 2)
WEIGHT_OR_BLOCKS(weight_c, 4, 3)
WEIGHT(bias_a, 5, 4)
WEIGHT(bias_b, 6, 5)
WEIGHT(bias_c, 7, 6)
layout(std430, set = 0, binding = 8) writeonly buffer Ya { float y_a[]; };
layout(std430, set = 0, binding = 9) writeonly buffer Yb { float y_b[]; };
layout(std430, set = 0, binding = 10) writeonly buffer Yc { float y_c[]; };
layout(std430, set = 0, binding = 11) readonly buffer Z { float z[]; };
layout(constant_id = 7) const uint TILE_ROWS = 8;
layout(constant_id = 8) const bool NORM = false;
layout(constant_id = 9) const bool GATED = false;
layout(constant_id = 10) const uint ACTIVATION = LAMINA_NONE;
layout(constant_id = 11) const bool ADD = false;

uint columns(uint which) { return which == 0u ? cols_a : which == 1u ? cols_b : cols_c; }
float bias_at(uint which, uint i) { return which == 0u ? bias_a(i) : which == 1u ? bias_b(i) : bias_c(i); }

vec4 sum[TILE_ROWS];  // of four columns
vec4 squares[2];      // of row r: squares[r / 4][r % 4]; only with NORM, and for up to 8 rows

void clear_sums() {
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = vec4(0.0);
}

// Four adjacent columns of a matrix; those beyond the edge repeat the last one.
uvec4 columns_from(uint which, uint col) { return min(col + uvec4(0u, 1u, 2u, 3u), uvec4(columns(which) - 1u)); }

// Four values of the norm's factors, from value 4 i on.
vec4 factors_step(uint i) { return NORM && factor_dtype != 0u ? weight_offset + factor4(i) : vec4(1.0); }

float norm_scale(float square) { return NORM ? inversesqrt(square / float(inner) + eps) : 1.0; }

// A column's sum, finished.
float finished(uint which, uint col, float total, float scale) {
    return total * scale + bias_at(which, min(col, columns(which) - 1u));
}

void store(uint which, uint row, uint col, float value) {
    if (row >= rows || col >= columns(which)) return;
    const uint at = row * columns(which) + col;
    if (which == 0u) y_a[at] = ADD ? value + z[at] : value;
    else if (which == 1u) y_b[at] = value;
    else y_c[at] = value;
}
