// For softmax and log_softmax: the maximum m of a row, and the sum of exp(x - m). A workgroup of 64 calls these
// functions, and all invocations get the same result. Declare a buffer x[] before you include this file.
//
// Drivers differ in how comparisons and exp() treat NaN and infinity. So NaN is recognized by its bits, and exp() is
// used only from -87 (where floats end) to 0.

#include "common/workgroup_sum.glsl"

bool is_nan(float v) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u; }

// exp(v) for v <= 0 and -infinity; NaN stays NaN.
float shifted_exp(float v) {
    if (is_nan(v)) return v;
    return v > -87.0 ? exp(v) : 0.0;
}

// Skips NaN, which reaches the result through the sum. It is finite even if the whole row is -infinity, so that
// x - maximum is then -infinity and not NaN.
float row_maximum(uint base, uint cols) {
    const uint lane = gl_LocalInvocationID.x;
    float maximum = -3.402823466e38;
    for (uint c = lane; c < cols; c += 64u) {
        const float v = x[base + c];
        if (v > maximum) maximum = v;
    }
    return workgroup_maximum(maximum, 0u);
}

// At least 1, except: 0 if the whole row is -infinity; NaN if it contains NaN or +infinity.
float row_sum(uint base, uint cols, float maximum) {
    const uint lane = gl_LocalInvocationID.x;
    float sum = 0.0;
    for (uint c = lane; c < cols; c += 64u) sum += shifted_exp(x[base + c] - maximum);
    return workgroup_sum(sum, 1u);
}
