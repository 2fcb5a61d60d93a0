// The scores of top_k, and how they are compared. Drivers differ in how comparisons and exp() treat NaN and infinity,
// so these are recognized by their bits.

layout(constant_id = 0) const bool HAS_BIAS = false;

layout(push_constant) uniform Push {
    uint rows;
    uint size; // V
    uint sets;
    uint k;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Bias { float bias[]; };

float score(uint row, uint i) {
    precise float v = x[row * size + i]; // the same wherever it is computed
    if (HAS_BIAS) v = v + bias[i];
    return v;
}

float lowest() { return uintBitsToFloat(0xff800000u); } // -infinity
bool is_nan(float v) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u; }
// Neither NaN nor +infinity.
bool is_number(float v) { return !is_nan(v) && floatBitsToUint(v) != 0x7f800000u; }

// exp(v - greatest) for v <= greatest; 0 for -infinity.
float exponential(float v, float greatest) {
    if (floatBitsToUint(v) == 0xff800000u) return 0.0;
    const float below = v - greatest;
    return below > -87.0 ? exp(below) : 0.0;
}

// Whether a score comes before another: a total order.
bool is_better(float v, uint i, float than, uint than_i) { return v > than || (v == than && i < than_i); }
