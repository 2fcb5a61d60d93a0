// Functions to write contracts: they make the parameters, ports, variants and tolerances of plugin.h.
#pragma once

#include <lamina/plugin/dtype.hpp>

namespace lamina::plugin {

inline constexpr double unbounded = 9007199254740992.0; // 2^53

constexpr lamina_param integer(const char *name, const char *summary, double dflt, double min, double max = unbounded) {
    return {name, summary, nullptr, nullptr, dflt, min, max, LAMINA_INT, 0};
}
constexpr lamina_param real(const char *name, const char *summary, double dflt, double min, double max) {
    return {name, summary, nullptr, nullptr, dflt, min, max, LAMINA_REAL, 0};
}
constexpr lamina_param boolean(const char *name, const char *summary, bool dflt) {
    return {name, summary, nullptr, nullptr, dflt ? 1.0 : 0.0, 0, 1, LAMINA_BOOL, 0};
}
// choices: "relu|gelu"; the first is the default.
constexpr lamina_param choice(const char *name, const char *summary, const char *choices) {
    return {name, summary, choices, nullptr, 0, 0, unbounded, LAMINA_CHOICE, 0};
}
constexpr lamina_param required(lamina_param p) {
    p.flags |= LAMINA_REQUIRED;
    return p;
}
constexpr lamina_param follows(lamina_param p, const char *earlier) {
    p.follows = earlier;
    return p;
}
// For layers whose sequences may also be (T, B, C).
inline constexpr lamina_param batch_first = boolean("batch_first", "sequences are (B, T, C); false: (T, B, C)", true);

constexpr lamina_port input(const char *name, const char *dims, const char *summary) {
    return {name, summary, dims, nullptr, nullptr, nullptr, LAMINA_F32, 0};
}
constexpr lamina_port indices(const char *name, const char *dims, const char *values, const char *summary) {
    return {name, summary, dims, values, nullptr, nullptr, LAMINA_I32, 0};
}
constexpr lamina_port weight(const char *name, const char *dims, const char *summary) {
    return {name, summary, dims, nullptr, nullptr, nullptr, value_dtypes, 0};
}
constexpr lamina_port in_blocks(lamina_port weight) { // its rows may also be stored in blocks, such as Q8_0
    weight.dtypes |= block_dtypes;
    return weight;
}
constexpr lamina_port output(const char *name, const char *dims, const char *summary) {
    return input(name, dims, summary);
}
// `capacity`: the name in `dims` whose size the host chooses, such as the positions that a cache has room for.
constexpr lamina_port state(const char *name, const char *dims, const char *capacity, const char *summary) {
    return {name, summary, dims, nullptr, nullptr, capacity, LAMINA_F32, 0};
}
constexpr lamina_port or_f16(lamina_port state) { // or f16, if the session requests it
    state.dtypes |= LAMINA_F16;
    return state;
}
constexpr lamina_port or_q8_0(lamina_port state) { // or q8_0, likewise; put_q8_0() and q8_cache.glsl write such rows
    state.dtypes |= LAMINA_Q8_0;
    return state;
}
// A state that exists only if the model has these optional inputs, such as the position of new rows ("position v").
constexpr lamina_port goes_with(lamina_port state, const char *inputs) {
    state.follows = inputs;
    return state;
}
constexpr lamina_port probabilities(lamina_port output) { // every row adds up to 1
    output.flags |= LAMINA_PROBABILITIES;
    return output;
}
// The reference computes each row by itself, and only those in Call::wanted(). So it can check a few rows of a kernel's
// result at sizes at which it would take too long to compute all.
constexpr lamina_port by_rows(lamina_port output) {
    output.flags |= LAMINA_BY_ROWS;
    return output;
}

// A choice of indices, which the optional input `given` replaces, and the output that says how clear it is: see
// lamina_port.follows.
constexpr lamina_port chosen(lamina_port indices, const char *given) {
    indices.follows = given;
    return indices;
}
constexpr lamina_port margin(lamina_port output) {
    output.flags |= LAMINA_MARGIN;
    return output;
}

constexpr lamina_port optional(lamina_port p) {
    p.flags |= LAMINA_OPTIONAL;
    return p;
}
constexpr lamina_port sequence(lamina_port p) { // (B, T, ...), or (T, B, ...) if batch_first is false
    p.flags |= LAMINA_SEQUENCE;
    return p;
}
constexpr lamina_port follows(lamina_port p, const char *earlier) {
    p.follows = earlier;
    p.flags |= LAMINA_OPTIONAL;
    return p;
}

// The features that kernels compiled with SUBGROUP need (lamina_add_layer).
inline constexpr uint64_t subgroup_sums = LAMINA_FEATURE_SUBGROUP_BASIC | LAMINA_FEATURE_SUBGROUP_ARITHMETIC;
inline constexpr uint64_t subgroup_shuffles = LAMINA_FEATURE_SUBGROUP_BASIC | LAMINA_FEATURE_SUBGROUP_SHUFFLE;
// The features that kernels with cooperative matrices of f16 need.
inline constexpr uint64_t matrix_products =
    LAMINA_FEATURE_COOPERATIVE_MATRIX | LAMINA_FEATURE_FLOAT16 | LAMINA_FEATURE_SUBGROUP_BASIC;

constexpr lamina_variant baseline(const char *summary) { return {"baseline", summary, 0, LAMINA_F32, 0}; }
constexpr lamina_variant variant(const char *name, const char *summary, uint64_t needs,
                                 uint32_t arithmetic = LAMINA_F32) {
    return {name, summary, needs, arithmetic, 0};
}
constexpr lamina_tolerance tolerance(double rtol, double atol, uint32_t arithmetic = LAMINA_F32) {
    return {rtol, atol, arithmetic, 0};
}

} // namespace lamina::plugin
