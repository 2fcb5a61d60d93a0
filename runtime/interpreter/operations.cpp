#include "interpreter/operations.hpp"

#include <lamina/plugin/single_values.hpp>

#include <spirv_cross/GLSL.std.450.h>
#include <spirv_cross/spirv.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace lamina::interpreter {
namespace {

using F = float;
using U = uint32_t;
using S = int32_t;
using B = bool;

template <class T> T read(uint32_t word) {
    if constexpr (std::is_same_v<T, bool>)
        return word != 0;
    else
        return std::bit_cast<T>(word);
}
template <class T> uint32_t word_of(T value) {
    if constexpr (std::is_same_v<T, bool>)
        return value ? 1 : 0;
    else
        return std::bit_cast<uint32_t>(value);
}

// Computes every component of a result from those of the operands.
template <auto compute, class R, class... A, size_t... I>
void run_each(Invocation &v, const Instruction &i, R (*)(A...), std::index_sequence<I...>) {
    const std::array<uint32_t, 3> operand{i.a, i.b, i.c};
    for (uint32_t k = 0; k < i.words; ++k)
        v.registers[i.result + k] = word_of<R>(compute(read<A>(v.registers[operand[I] + k])...));
}
template <class R, class... A> constexpr auto indices_of(R (*)(A...)) { return std::index_sequence_for<A...>(); }
template <auto compute> void each(Invocation &v, const Instruction &i) {
    run_each<compute>(v, i, compute, indices_of(compute));
}

void copy(Invocation &v, const Instruction &i) { std::copy_n(v.registers + i.a, i.words, v.registers + i.result); }
void scale(Invocation &v, const Instruction &i) {
    const F factor = read<F>(v.registers[i.b]);
    for (uint32_t k = 0; k < i.words; ++k) v.registers[i.result + k] = word_of(read<F>(v.registers[i.a + k]) * factor);
}
void dot(Invocation &v, const Instruction &i) {
    F sum = 0;
    for (uint32_t k = 0; k < i.words; ++k) sum += read<F>(v.registers[i.a + k]) * read<F>(v.registers[i.b + k]);
    v.registers[i.result] = word_of(sum);
}
void any(Invocation &v, const Instruction &i) {
    const uint32_t *from = v.registers + i.a;
    v.registers[i.result] = word_of(std::any_of(from, from + i.words, [](uint32_t w) { return w != 0; }));
}
void all(Invocation &v, const Instruction &i) {
    const uint32_t *from = v.registers + i.a;
    v.registers[i.result] = word_of(std::all_of(from, from + i.words, [](uint32_t w) { return w != 0; }));
}
void select(Invocation &v, const Instruction &i) { // component by component
    for (uint32_t k = 0; k < i.words; ++k)
        v.registers[i.result + k] = v.registers[(v.registers[i.a + k] != 0 ? i.b : i.c) + k];
}
// The result is a struct: the low words, then the high words.
void multiply_extended(Invocation &v, const Instruction &i) {
    for (uint32_t k = 0; k < i.words; ++k) {
        const uint64_t product = uint64_t{v.registers[i.a + k]} * v.registers[i.b + k];
        v.registers[i.result + k] = static_cast<U>(product);
        v.registers[i.result + i.words + k] = static_cast<U>(product >> 32u);
    }
}
void add_with_carry(Invocation &v, const Instruction &i) {
    for (uint32_t k = 0; k < i.words; ++k) {
        const U sum = v.registers[i.a + k] + v.registers[i.b + k];
        v.registers[i.result + i.words + k] = sum < v.registers[i.a + k] ? 1 : 0;
        v.registers[i.result + k] = sum;
    }
}
F half(F value) { return plugin::widen_f16(plugin::narrow_f16(value)); }
void unpack_halves(Invocation &v, const Instruction &i) {
    for (uint32_t k = 0; k < i.words; ++k)
        v.registers[i.result + k] =
            word_of(plugin::widen_f16(static_cast<uint16_t>(v.registers[i.a + k / 2] >> k % 2 * 16)));
}
void pack_halves(Invocation &v, const Instruction &i) {
    const auto bits = [&](U k) { return U{plugin::narrow_f16(read<F>(v.registers[i.a + k]))}; };
    for (uint32_t k = 0; k < i.words; ++k) v.registers[i.result + k] = bits(2 * k) | bits(2 * k + 1) << 16u;
}

// What SPIR-V leaves undefined is a fault.
template <class T> T divisor(T d) { return d != 0 ? d : throw Fault("divides by zero"); }
U shift(U bits) { return bits < 32 ? bits : throw Fault("shifts 32 bits by " + std::to_string(bits)); }
U signed_field(U base, U from, U bits) {
    if (from > 32 || bits > 32 - from)
        throw Fault("takes " + std::to_string(bits) + " bits from bit " + std::to_string(from) + " of 32");
    if (bits == 0) return 0;
    return static_cast<U>(static_cast<S>(base << (32 - from - bits)) >> (32 - bits));
}
U unsigned_field(U base, U from, U bits) {
    if (from > 32 || bits > 32 - from)
        throw Fault("takes " + std::to_string(bits) + " bits from bit " + std::to_string(from) + " of 32");
    return bits == 0 ? 0 : base << (32 - from - bits) >> (32 - bits);
}
template <U (*field)(U, U, U)> void extract(Invocation &v, const Instruction &i) { // the same bits of every component
    for (uint32_t k = 0; k < i.words; ++k)
        v.registers[i.result + k] = field(v.registers[i.a + k], v.registers[i.b], v.registers[i.c]);
}
template <class I> I whole(F v) {
    const double low = std::is_signed_v<I> ? -0x1p31 : 0, end = std::is_signed_v<I> ? 0x1p31 : 0x1p32;
    if (!(std::trunc(v) >= low && v < end)) throw Fault("converts " + std::to_string(v) + " to an integer of 32 bits");
    return static_cast<I>(v);
}
S quotient(S a, S b) {
    if (b == -1) return static_cast<S>(-static_cast<U>(a));
    return a / divisor(b);
}
S remainder(S a, S b) { return b == -1 ? 0 : a % divisor(b); } // has a's sign
S modulus(S a, S b) {                                          // has b's sign
    const S r = remainder(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T> T shifted_right(T v, U bits) { return v >> shift(bits); }
template <class T> bool above(T a, T b) { return a > b; }
template <class T> bool at_least(T a, T b) { return a >= b; }
bool differ(F a, F b) { return a < b || a > b; } // false for NaN
template <class T> T limited(T v, T low, T high) { return std::min(std::max(v, low), high); }
template <class T> T greater(T a, T b) { return a < b ? b : a; }
template <class T> T lesser(T a, T b) { return b < a ? b : a; }
template <class T> T sign(T v) { return static_cast<T>((v > 0) - (v < 0)); }

const std::map<uint32_t, Operation> operations{
    {SpvOpCopyObject, {copy}},
    {SpvOpCopyLogical, {copy}},
    {SpvOpBitcast, {copy}},
    {SpvOpFNegate, {each<+[](F a) { return -a; }>}},
    {SpvOpFAdd, {each<+[](F a, F b) { return a + b; }>}},
    {SpvOpFSub, {each<+[](F a, F b) { return a - b; }>}},
    {SpvOpFMul, {each<+[](F a, F b) { return a * b; }>}},
    {SpvOpFDiv, {each<+[](F a, F b) { return a / b; }>}},
    {SpvOpFConvert, {copy}}, // halves are floats, and rounded by another instruction
    {SpvOpVectorTimesScalar, {scale}},
    {SpvOpMatrixTimesScalar, {scale}},
    {SpvOpDot, {dot, Counted::operand}},
    {SpvOpSNegate, {each<+[](U a) { return U{0} - a; }>}},
    {SpvOpIAdd, {each<+[](U a, U b) { return a + b; }>}},
    {SpvOpISub, {each<+[](U a, U b) { return a - b; }>}},
    {SpvOpIMul, {each<+[](U a, U b) { return a * b; }>}},
    {SpvOpUDiv, {each<+[](U a, U b) { return a / divisor(b); }>}},
    {SpvOpUMod, {each<+[](U a, U b) { return a % divisor(b); }>}},
    {SpvOpSDiv, {each<quotient>}},
    {SpvOpSRem, {each<remainder>}},
    {SpvOpSMod, {each<modulus>}},
    {SpvOpUMulExtended, {multiply_extended, Counted::half_result}},
    {SpvOpIAddCarry, {add_with_carry, Counted::half_result}},
    {SpvOpShiftLeftLogical, {each<+[](U a, U b) { return a << shift(b); }>}},
    {SpvOpShiftRightLogical, {each<shifted_right<U>>}},
    {SpvOpShiftRightArithmetic, {each<shifted_right<S>>}},
    {SpvOpBitwiseAnd, {each<+[](U a, U b) { return a & b; }>}},
    {SpvOpBitwiseOr, {each<+[](U a, U b) { return a | b; }>}},
    {SpvOpBitwiseXor, {each<+[](U a, U b) { return a ^ b; }>}},
    {SpvOpNot, {each<+[](U a) { return ~a; }>}},
    {SpvOpBitCount, {each<+[](U a) { return static_cast<U>(std::popcount(a)); }>}},
    {SpvOpBitFieldSExtract, {extract<signed_field>}},
    {SpvOpBitFieldUExtract, {extract<unsigned_field>}},
    {SpvOpLogicalAnd, {each<+[](B a, B b) { return a && b; }>}},
    {SpvOpLogicalOr, {each<+[](B a, B b) { return a || b; }>}},
    {SpvOpLogicalNot, {each<+[](B a) { return !a; }>}},
    {SpvOpLogicalEqual, {each<+[](B a, B b) { return a == b; }>}},
    {SpvOpLogicalNotEqual, {each<+[](B a, B b) { return a != b; }>}},
    {SpvOpAny, {any, Counted::operand}},
    {SpvOpAll, {all, Counted::operand}},
    {SpvOpSelect, {select}},
    {SpvOpIEqual, {each<+[](U a, U b) { return a == b; }>}},
    {SpvOpINotEqual, {each<+[](U a, U b) { return a != b; }>}},
    {SpvOpULessThan, {each<+[](U a, U b) { return a < b; }>}},
    {SpvOpULessThanEqual, {each<+[](U a, U b) { return a <= b; }>}},
    {SpvOpUGreaterThan, {each<above<U>>}},
    {SpvOpUGreaterThanEqual, {each<at_least<U>>}},
    {SpvOpSLessThan, {each<+[](S a, S b) { return a < b; }>}},
    {SpvOpSLessThanEqual, {each<+[](S a, S b) { return a <= b; }>}},
    {SpvOpSGreaterThan, {each<above<S>>}},
    {SpvOpSGreaterThanEqual, {each<at_least<S>>}},
    {SpvOpFOrdEqual, {each<+[](F a, F b) { return a == b; }>}},
    {SpvOpFOrdNotEqual, {each<differ>}},
    {SpvOpFUnordNotEqual, {each<+[](F a, F b) { return a != b; }>}},
    {SpvOpFOrdLessThan, {each<+[](F a, F b) { return a < b; }>}},
    {SpvOpFOrdLessThanEqual, {each<+[](F a, F b) { return a <= b; }>}},
    {SpvOpFOrdGreaterThan, {each<above<F>>}},
    {SpvOpFOrdGreaterThanEqual, {each<at_least<F>>}},
    {SpvOpIsNan, {each<+[](F a) { return std::isnan(a); }>}},
    {SpvOpIsInf, {each<+[](F a) { return std::isinf(a); }>}},
    {SpvOpConvertUToF, {each<+[](U a) { return static_cast<F>(a); }>}},
    {SpvOpConvertSToF, {each<+[](S a) { return static_cast<F>(a); }>}},
    {SpvOpConvertFToU, {each<whole<U>>}},
    {SpvOpConvertFToS, {each<whole<S>>}},
};

const std::map<uint32_t, Operation> extended_operations{
    {GLSLstd450Round, {each<+[](F a) { return std::nearbyint(a); }>}},
    {GLSLstd450RoundEven, {each<+[](F a) { return std::nearbyint(a); }>}},
    {GLSLstd450Trunc, {each<+[](F a) { return std::trunc(a); }>}},
    {GLSLstd450FAbs, {each<+[](F a) { return std::abs(a); }>}},
    {GLSLstd450SAbs, {each<+[](S a) { return a < 0 ? quotient(a, -1) : a; }>}},
    {GLSLstd450FSign, {each<sign<F>>}},
    {GLSLstd450SSign, {each<sign<S>>}},
    {GLSLstd450Floor, {each<+[](F a) { return std::floor(a); }>}},
    {GLSLstd450Ceil, {each<+[](F a) { return std::ceil(a); }>}},
    {GLSLstd450Fract, {each<+[](F a) { return a - std::floor(a); }>}},
    {GLSLstd450Sin, {each<+[](F a) { return std::sin(a); }>}},
    {GLSLstd450Cos, {each<+[](F a) { return std::cos(a); }>}},
    {GLSLstd450Tanh, {each<+[](F a) { return std::tanh(a); }>}},
    {GLSLstd450Pow, {each<+[](F a, F b) { return std::pow(a, b); }>}},
    {GLSLstd450Exp, {each<+[](F a) { return std::exp(a); }>}},
    {GLSLstd450Log, {each<+[](F a) { return std::log(a); }>}},
    {GLSLstd450Exp2, {each<+[](F a) { return std::exp2(a); }>}},
    {GLSLstd450Log2, {each<+[](F a) { return std::log2(a); }>}},
    {GLSLstd450Sqrt, {each<+[](F a) { return std::sqrt(a); }>}},
    {GLSLstd450InverseSqrt, {each<+[](F a) { return 1 / std::sqrt(a); }>}},
    {GLSLstd450Fma, {each<+[](F a, F b, F c) { return std::fma(a, b, c); }>}},
    {GLSLstd450FMix, {each<+[](F a, F b, F t) { return a * (1 - t) + b * t; }>}},
    {GLSLstd450FMin, {each<lesser<F>>}},
    {GLSLstd450UMin, {each<lesser<U>>}},
    {GLSLstd450SMin, {each<lesser<S>>}},
    {GLSLstd450FMax, {each<greater<F>>}},
    {GLSLstd450UMax, {each<greater<U>>}},
    {GLSLstd450SMax, {each<greater<S>>}},
    {GLSLstd450FClamp, {each<limited<F>>}},
    {GLSLstd450UClamp, {each<limited<U>>}},
    {GLSLstd450SClamp, {each<limited<S>>}},
    {GLSLstd450PackHalf2x16, {pack_halves}},
    {GLSLstd450UnpackHalf2x16, {unpack_halves}},
};

const Operation *find(const std::map<uint32_t, Operation> &table, uint32_t key) {
    const auto found = table.find(key);
    return found == table.end() ? nullptr : &found->second;
}

} // namespace

void round_to_half(Invocation &v, const Instruction &i) { each<half>(v, i); }

const Operation *operation(uint32_t opcode) { return find(operations, opcode); }

const Operation *extended_operation(uint32_t number) { return find(extended_operations, number); }

} // namespace lamina::interpreter
