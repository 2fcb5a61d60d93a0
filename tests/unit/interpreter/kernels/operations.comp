// What GLSL compiles to, and what must come out. Operands come from memory, so that no compiler computes them. Each
// check writes the number of its line if it fails, else 0.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 8, local_size_y = 4) in;
layout(constant_id = 3) const uint THREE = 1u; // the test says 3
layout(constant_id = 4) const bool YES = false; // and true
layout(push_constant) uniform Push {
    int seven;
    float half_of_five;
};
layout(std430, set = 0, binding = 0) readonly buffer Floats { float count; vec2 pair; float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Failed { uint failed[]; };

const uint SIX = THREE * 2u, SIZE = YES ? SIX + 1u : 1u; // computed from specialization constants

struct Pair {
    float first;
    uvec3 second;
};
shared Pair pairs[SIZE];
shared float16_t some_halves[32];
uint next = 0u;

void expect(bool right, uint line) {
    if (gl_LocalInvocationIndex == 0u) failed[next] = right ? 0u : line;
    ++next;
}
#define EXPECT(condition) expect(condition, __LINE__)

int kind(int v) {
    switch (v) {
    case 7: return 1;
    case -7:
    case 8: return 2;
    default: return 3;
    }
}

void swap(inout float a, inout float b) {
    const float was = a;
    a = b;
    b = was;
}

void integers() {
    EXPECT(-seven / 2 == -3 && seven / -1 == -7);
    EXPECT(-seven % 4 == -3 || -seven % 4 == 1); // GLSL leaves open which
    EXPECT(uint(seven) / 2u == 3u && uint(seven) % 4u == 3u);
    EXPECT(-seven >> 1 == -4 && uint(-seven) >> 28u == 15u && seven << 2 == 28);
    EXPECT((~seven & 0xff) == 0xf8 && (seven | 8) == 15 && (seven ^ 2) == 5);
    EXPECT(bitCount(seven) == 3 && bitfieldExtract(0xf0 * seven, 4, 3) == -7 + 8);
    EXPECT(bitfieldExtract(-seven, 0, 4) == -7 && bitfieldExtract(uint(-seven), 0, 4) == 9u);
    EXPECT(abs(-seven) == 7 && sign(-seven) == -1 && min(seven, -8) == -8 && max(seven, -8) == 7);
    EXPECT(clamp(seven, -1, 3) == 3 && clamp(uint(seven), 8u, 9u) == 8u && min(uint(seven), 3u) == 3u);
    uint carry, low, high;
    EXPECT(uaddCarry(0xfffffff9u, uint(seven), carry) == 0u && carry == 1u);
    umulExtended(0x80000001u, uint(seven), high, low);
    EXPECT(high == 3u && low == 0x80000007u);
    EXPECT(kind(seven) == 1 && kind(-seven) == 2 && kind(seven + 1) == 2 && kind(0) == 3);
    EXPECT(SIX == 6u && SIZE == 7u && pairs.length() == 7);
}

void floats() {
    const float q = half_of_five; // 2.5
    EXPECT(round(q + 0.2) == 3.0 && roundEven(q) == 2.0 && trunc(-q) == -2.0 && floor(-q) == -3.0 && ceil(q) == 3.0);
    EXPECT(fract(q) == 0.5 && abs(-q) == q && sign(-q) == -1.0 && sign(q - q) == 0.0);
    EXPECT(min(q, 1.0) == 1.0 && max(q, 1.0) == q && clamp(q, 3.0, 4.0) == 3.0 && mix(q, 4.5, 0.5) == 3.5);
    EXPECT(sqrt(q * 2.5) == q && inversesqrt(q * 1.6) == 0.5 && pow(q, 2.0) == 6.25 && fma(q, 2.0, 1.0) == 6.0);
    EXPECT(exp2(q - 0.5) == 4.0 && log2(q + 5.5) == 3.0 && exp(q - 2.5) == 1.0 && log(q - 1.5) == 0.0);
    EXPECT(sin(q - 2.5) == 0.0 && cos(q - 2.5) == 1.0 && tanh(q - 2.5) == 0.0);
    EXPECT(int(-q) == -2 && uint(q) == 2u && float(seven) == 7.0 && float(uint(seven)) == 7.0);
    const float nan = (q - q) / (q - q), infinity = 1.0 / (q - q);
    EXPECT(isnan(nan) && !isnan(q) && isinf(infinity) && !isinf(nan));
    EXPECT(!(nan < q) && !(nan >= q) && nan != q && !(nan == nan));
    EXPECT(floatBitsToUint(q) == 0x40200000u && uintBitsToFloat(0x40200000u) == q);
    EXPECT(packHalf2x16(vec2(q, -1.0)) == 0xbc004100u && unpackHalf2x16(0xbc004100u) == vec2(q, -1.0));
}

// 11 bits, to the nearest, ties to even.
void halves() {
    const float16_t q = float16_t(half_of_five);
    EXPECT(q == 2.5hf && float(q) == 2.5 && float16_t(seven) == 7.0hf && int(-q) == -2 && abs(-q) == q);
    EXPECT(float(q / 3.0hf) == 0.83349609375 && float(float16_t(half_of_five / 3.0)) == 0.83349609375);
    EXPECT(float(float16_t(2046.5 + half_of_five)) == 2048.0 && float(float16_t(2048.5 + half_of_five)) == 2052.0);
    EXPECT(float(q + 2046.0hf) == 2048.0 && max(q, 3.0hf) == 3.0hf);
    EXPECT(isinf(float16_t(65517.5 + half_of_five)) && float(float16_t(65517.0 + half_of_five)) == 65504.0);
    EXPECT(packFloat2x16(f16vec2(q, -1.0hf)) == 0xbc004100u && unpackFloat2x16(0xbc004100u) == f16vec2(q, -1.0hf));
    some_halves[gl_LocalInvocationIndex] = q * 2.0hf;
    EXPECT(some_halves[gl_LocalInvocationIndex] == 5.0hf);
    const float16_t sum = subgroupAdd(gl_SubgroupInvocationID == 0u ? 2048.0hf : 1.0hf);
    EXPECT(unpackFloat2x16(packFloat2x16(f16vec2(sum))) == f16vec2(sum));
}

void composites() {
    vec4 v = vec4(pair, x[0], x[1]); // 10, 20, 30, 40
    EXPECT(v == vec4(10.0, 20.0, 30.0, 40.0) && v.wzyx == vec4(40.0, 30.0, 20.0, 10.0));
    EXPECT(dot(v, vec4(1.0)) == 100.0 && (v * half_of_five).y == 50.0 && any(greaterThan(v, vec4(35.0))));
    EXPECT(!all(lessThan(v, vec4(35.0))) && mix(v, vec4(0.0), bvec4(true, false, true, false)).xy == vec2(0.0, 20.0));
    v[uint(seven) - 5u] = 1.0;
    EXPECT(v[uint(count)] == 40.0 && v.z == 1.0); // count is 3
    EXPECT(x.length() == 2);
    Pair p = Pair(1.0, uvec3(2u, 3u, 4u));
    Pair several[3];
    several[0] = several[1] = several[2] = p;
    several[1].second.y = 9u;
    EXPECT(several[1].second == uvec3(2u, 9u, 4u) && several[2] == p && several[1] != p);
    float a = 1.0, b = 2.0;
    swap(a, several[0].first);
    swap(a, b);
    EXPECT(a == 2.0 && b == 1.0);
}

// Two variables that take each other's value in a loop, and conditions that are evaluated only if they matter.
void loops() {
    uint a = 1u, b = uint(count), rounds = 0u;
    while (rounds < 5u && (a != 7u || b != 7u)) {
        const uint was = a;
        a = b;
        b = was;
        ++rounds;
    }
    EXPECT(a == 3u && b == 1u && rounds == 5u);
    uint n = 0u;
    do {
        if (n == 2u) continue;
        if (n == 4u) break;
    } while (++n < 10u && n != 2u);
    EXPECT(n == 2u);
}

void with_others() {
    const uint i = gl_LocalInvocationIndex; // 32 invocations in subgroups of 8
    EXPECT(gl_SubgroupSize == 8u && gl_NumSubgroups == 4u && gl_SubgroupID == i / 8u && gl_SubgroupInvocationID == i % 8u);
    EXPECT(i == gl_LocalInvocationID.y * 8u + gl_LocalInvocationID.x && gl_WorkGroupSize == uvec3(8u, 4u, 1u));
    const uint lane = gl_SubgroupInvocationID;
    EXPECT(subgroupAdd(lane) == 28u && subgroupAdd(float(lane)) == 28.0);
    EXPECT(subgroupMin(float(lane)) == 0.0 && subgroupMax(float(lane)) == 7.0);
    EXPECT(subgroupAny(lane == 7u) && !subgroupAll(lane == 7u) && subgroupBallot(lane > 5u) == uvec4(0xc0u, 0u, 0u, 0u));
    EXPECT(subgroupBroadcast(lane, 5u) == 5u && subgroupBroadcastFirst(lane) == 0u);
    EXPECT(subgroupShuffle(lane, (lane + 1u) % 8u) == (lane + 1u) % 8u && subgroupShuffleXor(lane, 3u) == (lane ^ 3u));
    uint elected = 0u;
    if (subgroupElect()) elected = 1u;
    EXPECT(subgroupAdd(elected) == 1u);
    if (i < 7u) pairs[i] = Pair(float(i), uvec3(i));
    barrier();
    EXPECT(pairs[6u - i % 7u].second == uvec3(6u - i % 7u));
}

void main() {
    integers();
    floats();
    halves();
    composites();
    loops();
    with_others();
    expect(next == 50u, __LINE__); // nothing was left out
}
