// Reads weights in groups, for kernels whose invocations read each weight once: a group has all the loads of an
// invocation on their way together. It is 32 values in blocks, else a step. Include it after STEP, the type of a step,
// STEP_SIZE, STEP_OF(name), which reads one, and TILE_ROWS, which the kernel computes at a time, are defined.
//
// GROUPS(name), for a weight declared by WEIGHT_OR_BLOCKS(name, ...), declares
//     Group name_group(uint g)                          reads the g-th group
// and for a weight of any dtype there are
//     STEP group_step(dtype, group, g, upper, i)         step i of GROUP_STEPS of half `upper` (0 or 1), not yet scaled
//     vec2 group_scale(dtype, group, g, upper, i)        scale and minimum there: scale * step - minimum
//     bool ends_run(dtype, upper, i)                     whether the next step has others
//     bool has_minimum(dtype)                           whether minimums may be other than 0
//     uint group_place(dtype, k, upper, i)               where in a row this step of its k-th group is, in steps
// They take no time where `upper` is known when the kernel is compiled, and little where it is not; `i` has to be.

#ifndef LAMINA_GROUPS_GLSL
#define LAMINA_GROUPS_GLSL

#ifdef BLOCKS

const bool IN_BLOCKS = true;
const uint GROUP_SIZE = 32u, GROUP_HALVES = 2u, GROUP_STEPS = 4u;

// Of blocks whose size is not a multiple of 4 bytes every second one begins in the middle of a word. Here no part does.
struct Group {
    uvec4 head; // scales; the fifth bits of q5_0 and q5_1 in y
    uvec4 low;  // the lower four bits; of q8_0 the first 16 values
    uvec4 high; // the bits above them; of q8_0 the other 16 values
};

bool in_k_blocks(uint dtype) { return dtype == Q4_K || dtype == Q5_K; }
bool has_minimum(uint dtype) { return in_k_blocks(dtype) || dtype == Q4_1 || dtype == Q5_1 || dtype == Q2_K; }
// Two bits of each value are in words of their own, and 16 values share a scale.
bool in_pairs_of_bits(uint dtype) { return dtype == Q6_K || dtype == Q2_K || dtype == Q3_K; }

// In K blocks a word's lower bits and its upper ones are values that are 32 apart. So a group has several short runs of
// a row, and its neighbours have what is between them.
uint group_run(uint dtype) { return in_pairs_of_bits(dtype) ? 2u : in_k_blocks(dtype) ? 4u : 8u; }
bool ends_run(uint dtype, uint upper, uint i) {
    return i % 2u == 1u && in_pairs_of_bits(dtype) ||
           i == 3u && (upper == 1u || in_k_blocks(dtype) || dtype == I8_K || dtype == I4_K);
}
uint group_place(uint dtype, uint k, uint upper, uint i) {
    const uint run = group_run(dtype), groups = 8u / run, s = upper * 4u + i;
    return (k / groups * groups + s / run) * 8u + k % groups * run + s % run;
}

// The word that begins in the middle of a.
uint straddling(uint a, uint b) { return a >> 16 | b << 16; }
uvec4 straddling(uvec4 a, uvec4 b) { return a >> 16 | b << 16; }

// Four integers of up to 8 bits, less `zero`. The lower bits of a float between 2^23 and 2^24 are an integer; on many
// GPUs this takes less time than to convert one.
vec4 bytes_less(uint word, float zero) {
    return uintBitsToFloat(uvec4(word, word >> 8, word >> 16, word >> 24) & 255u | 0x4b000000u) - (8388608.0 + zero);
}

// The part of a K block, of 32 values, that half a group of q4_k or q5_k is in.
uint k_part(uint g, uint upper) { return g % 8u / 2u * 2u + upper; }
// Which of half a block's eight parts, of 16 values, two steps of q6_k, q2_k or q3_k are in, and which pair of bits.
uint sixteen(uint g, uint upper, uint i) { return g % 4u / 2u + upper * 4u + i / 2u * 2u; }
uint pair_of_bits(uint word, uint upper, uint i) { return word >> upper * 4u + i / 2u * 2u & 0x03030303u; }

vec4 group_step(uint dtype, Group w, uint g, uint upper, uint i) {
    if (dtype == Q8_0 || dtype == I8_K) return bytes_less((upper == 0u ? w.low[i] : w.high[i]) ^ 0x80808080u, 128.0);
    if (dtype == Q2_K) return bytes_less(pair_of_bits(w.low[i % 2u], upper, i), 0.0);
    if (dtype == Q3_K) {
        const uint third = w.high[i % 2u] >> g / 4u % 2u * 4u + upper * 2u + i / 2u & 0x01010101u;
        return bytes_less(pair_of_bits(w.low[i % 2u], upper, i) | third << 2, 4.0);
    }
    const uint low = nibbles(w.low[i], upper == 1u), fifth = w.head.y >> upper * 16u + i * 4u;
    if (dtype == IQ4_NL || dtype == IQ4_XS) return iq4_numbers(low);
    if (dtype == I4_K) return i4_numbers(low, w.head.zw);
    if (dtype == Q4_0) return bytes_less(low, 8.0);
    if (dtype == Q5_0) return bytes_less(low | fifth_bits(fifth), 16.0);
    if (dtype == Q5_1) return bytes_less(low | fifth_bits(fifth), 0.0);
    if (dtype == Q5_K) return bytes_less(low | (w.high[i] >> k_part(g, upper) & 0x01010101u) << 4, 0.0);
    if (dtype == Q6_K)
        return bytes_less(low | pair_of_bits(w.high[i % 2u], upper, i) << 4, 32.0);
    return bytes_less(low, 0.0);
}

vec2 group_scale(uint dtype, Group w, uint g, uint upper, uint i) {
    const vec2 scale = unpackHalf2x16(w.head.x);
    if (in_k_blocks(dtype)) return scale * six_bits(w.head.yzw, k_part(g, upper));
    const uint part = sixteen(g, upper, i), steps = part < 4u ? w.head.y : w.head.z;
    if (dtype == Q6_K) return vec2(scale.x * float(bitfieldExtract(int(steps), int(part % 4u * 8u), 8)), 0.0);
    if (dtype == Q2_K) return scale * vec2(byte_of(steps, part) & 15u, byte_of(steps, part) >> 4);
    if (dtype == Q3_K) {
        const uint of_block = g / 4u % 2u * 8u + part;
        return vec2(scale.x * q3_k_steps(byte_of(steps, part), byte_of(w.head.w, part), of_block), 0.0);
    }
    if (dtype == IQ4_XS) return vec2(scale.x * iq4_xs_steps(w.head.x, w.head.y, g % 8u), 0.0);
    if (dtype == I4_K) return vec2(i4_scale(w.head.x, w.head.y, g % 8u * 2u + upper), 0.0);
    if (dtype == I8_K) {
        const int own = bitfieldExtract(int(w.head.y), int((g % 2u * 2u + upper) * 8u), 8);
        return vec2(uintBitsToFloat(w.head.x) * float(own), 0.0);
    }
    return vec2(scale.x, has_minimum(dtype) ? -scale.y : 0.0);
}

#define GROUPS(name)                                                                                                   \
    uvec4 name##_four_words(uint at) {                                                                                 \
        return uvec4(name##_words[at], name##_words[at + 1u], name##_words[at + 2u], name##_words[at + 3u]);           \
    }                                                                                                                  \
    uvec2 name##_two_words(uint byte) {                                                                                \
        const uint at = byte / 4u;                                                                                     \
        const uvec3 w = uvec3(name##_words[at], name##_words[at + 1u], name##_words[at + 2u]);                         \
        return byte % 4u == 0u ? w.xy : uvec2(straddling(w.x, w.y), straddling(w.y, w.z));                             \
    }                                                                                                                  \
    Group name##_group_of_k(uint g) {                                                                                  \
        const bool five = name##_dtype == Q5_K;                                                                        \
        const uint block = g / 8u * (five ? 11u : 9u), low = block + (five ? 3u : 1u) + g % 8u;                        \
        return Group(name##_words4[block], name##_words4[low],                                                         \
                     five ? name##_words4[block + 1u + g % 2u] : uvec4(0u));                                           \
    }                                                                                                                  \
    Group name##_group_of_q6_k(uint g) {                                                                               \
        const uint block = g / 8u * 210u, upper_half = g / 4u % 2u, first = g % 4u * 8u;                               \
        const uint low = block + upper_half * 64u + first, scale = block + 208u;                                       \
        return Group(uvec4(name##_words[scale / 4u] >> scale % 4u * 8u,                                                \
                           name##_two_words(block + 192u + upper_half * 8u), 0u),                                      \
                     uvec4(name##_two_words(low), name##_two_words(low + 32u)),                                        \
                     uvec4(name##_two_words(block + 128u + upper_half * 32u + first), uvec2(0u)));                     \
    }                                                                                                                  \
    Group name##_group_of_q2_k(uint g) {                                                                               \
        const uint block = g / 8u * 21u, upper_half = g / 4u % 2u, low = block + 4u + upper_half * 8u + g % 4u * 2u;   \
        const uint steps = block + upper_half * 2u;                                                                    \
        return Group(uvec4(name##_words[block + 20u], name##_words[steps], name##_words[steps + 1u], 0u),              \
                     uvec4(name##_words[low], name##_words[low + 1u], 0u, 0u), uvec4(0u));                             \
    }                                                                                                                  \
    Group name##_group_of_q3_k(uint g) {                                                                               \
        const uint block = g / 8u * 110u, first = g % 4u * 8u, scale = block + 108u;                                   \
        return Group(uvec4(name##_words[scale / 4u] >> scale % 4u * 8u, name##_two_words(block + 96u),                 \
                           name##_at(block + 104u)),                                                                   \
                     uvec4(name##_two_words(block + 32u + g / 4u % 2u * 32u + first), uvec2(0u)),                      \
                     uvec4(name##_two_words(block + first), uvec2(0u)));                                               \
    }                                                                                                                  \
    Group name##_group_of_iq4_xs(uint g) {                                                                             \
        const uint block = g / 8u * 34u;                                                                               \
        return Group(uvec4(name##_words[block], name##_words[block + 1u], 0u, 0u),                                     \
                     name##_four_words(block + 2u + g % 8u * 4u), uvec4(0u));                                          \
    }                                                                                                                  \
    Group name##_group_of_i8_k(uint g) {                                                                               \
        const uint block = g / 8u * 69u, low = block + 5u + g % 8u * 8u;                                               \
        return Group(uvec4(name##_words[block], name##_words[block + 1u + g % 8u / 2u], 0u, 0u),                       \
                     name##_four_words(low), name##_four_words(low + 4u));                                             \
    }                                                                                                                  \
    Group name##_group_of_i4_k(uint g) {                                                                               \
        const uint block = g / 8u * 35u, head = name##_words[block];                                                   \
        return Group(uvec4(head, name##_words[block + 1u + g % 8u / 4u], i4_book(head)),                               \
                     name##_four_words(block + 3u + g % 8u * 4u), uvec4(0u));                                          \
    }                                                                                                                  \
    Group name##_group(uint g) {                                                                                       \
        if (in_k_blocks(name##_dtype)) return name##_group_of_k(g);                                                    \
        if (name##_dtype == Q6_K) return name##_group_of_q6_k(g);                                                      \
        if (name##_dtype == Q2_K) return name##_group_of_q2_k(g);                                                      \
        if (name##_dtype == Q3_K) return name##_group_of_q3_k(g);                                                      \
        if (name##_dtype == IQ4_XS) return name##_group_of_iq4_xs(g);                                                  \
        if (name##_dtype == I8_K) return name##_group_of_i8_k(g);                                                      \
        if (name##_dtype == I4_K) return name##_group_of_i4_k(g);                                                      \
        const bool five = name##_dtype == Q5_0 || name##_dtype == Q5_1;                                                \
        if (has_minimum(name##_dtype)) {                                                                               \
            const uint at = g * (five ? 6u : 5u);                                                                      \
            return Group(uvec4(name##_words[at], five ? name##_words[at + 1u] : 0u, 0u, 0u),                           \
                         name##_four_words(at + (five ? 2u : 1u)), uvec4(0u));                                         \
        }                                                                                                              \
        const uint byte = g * (name##_dtype == Q8_0 ? 34u : five ? 22u : 18u), at = byte / 4u;                         \
        const bool middle = byte % 4u == 2u; /* what follows the scale begins with a word */                           \
        const uint first = name##_words[at], second = five ? name##_words[at + 1u] : first;                            \
        const uvec4 low = name##_four_words(at + (five ? 2u : 1u));                                                    \
        Group w = Group(uvec4(middle ? first >> 16 : first, middle ? second : straddling(first, second), 0u, 0u),      \
                        middle ? low : straddling(uvec4(second, low.xyz), low), uvec4(0u));                            \
        if (name##_dtype == Q8_0) {                                                                                    \
            const uvec4 high = name##_four_words(at + 5u);                                                             \
            w.high = middle ? high : straddling(uvec4(low.w, high.xyz), high);                                         \
        }                                                                                                              \
        return w;                                                                                                      \
    }

#else

const bool IN_BLOCKS = false; // without scales
const uint GROUP_SIZE = STEP_SIZE, GROUP_HALVES = 1u, GROUP_STEPS = 1u;

struct Group {
    STEP values;
};

bool has_minimum(uint dtype) { return false; }
bool ends_run(uint dtype, uint upper, uint i) { return true; }
uint group_place(uint dtype, uint k, uint upper, uint i) { return k; }
STEP group_step(uint dtype, Group w, uint g, uint upper, uint i) { return w.values; }
vec2 group_scale(uint dtype, Group w, uint g, uint upper, uint i) { return vec2(1.0, 0.0); }
#define GROUPS(name) \
    Group name##_group(uint g) { return Group(STEP_OF(name)(g)); }

#endif

// Of four columns.
struct Scales {
    vec4 scale, minimum;
};

// For one or two rows, sums are scaled, and the steps of a group follow each other without a loop. For more, that would
// take more registers than GPUs have: weights are scaled when they are read, and a loop goes through the halves.
const bool SCALES_WEIGHTS = IN_BLOCKS && TILE_ROWS > 2u, SCALES_SUMS = IN_BLOCKS && TILE_ROWS <= 2u;

#endif
