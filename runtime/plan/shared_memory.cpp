#include "plan/shared_memory.hpp"

#include <spirv_cross/spirv.h>

#include <algorithm>

namespace lamina::plan {
namespace {

// Why a size is not known.
struct Unknown {
    std::string why;
};

[[noreturn]] void overflow() { throw Unknown{"the size of its shared memory does not fit in 64 bits"}; }

uint64_t checked_product(uint64_t a, uint64_t b) {
    uint64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out)) overflow();
    return out;
}
uint64_t checked_sum(uint64_t a, uint64_t b) {
    uint64_t out = 0;
    if (__builtin_add_overflow(a, b, &out)) overflow();
    return out;
}
uint64_t rounded_up(uint64_t bytes, uint64_t align) { return checked_sum(bytes, align - 1) / align * align; }

uint32_t divided(uint32_t a, uint32_t b, uint32_t (*divide)(int64_t, int64_t), bool is_signed) {
    if (b == 0) throw Unknown{"the size of a shared array divides by zero"};
    return is_signed ? divide(static_cast<int32_t>(a), static_cast<int32_t>(b)) : divide(a, b);
}
uint32_t quotient(int64_t a, int64_t b) { return static_cast<uint32_t>(a / b); }
uint32_t remainder(int64_t a, int64_t b) { return static_cast<uint32_t>(a % b); }         // has a's sign
uint32_t modulus(int64_t a, int64_t b) { return static_cast<uint32_t>((a % b + b) % b); } // has b's sign

uint32_t shift(uint32_t b) {
    if (b > 31) throw Unknown{"the size of a shared array shifts 32 bits by " + std::to_string(b)};
    return b;
}

// The operations of OpSpecConstantOp with two operands: integers modulo 2^32, as on the device, and conditions 0 or 1.
using U = uint32_t;
using S = int32_t;
const std::map<uint32_t, U (*)(U, U)> operations{
    {SpvOpIAdd, [](U a, U b) -> U { return a + b; }},
    {SpvOpISub, [](U a, U b) -> U { return a - b; }},
    {SpvOpIMul, [](U a, U b) -> U { return a * b; }},
    {SpvOpUDiv, [](U a, U b) -> U { return divided(a, b, quotient, false); }},
    {SpvOpSDiv, [](U a, U b) -> U { return divided(a, b, quotient, true); }},
    {SpvOpUMod, [](U a, U b) -> U { return divided(a, b, remainder, false); }},
    {SpvOpSRem, [](U a, U b) -> U { return divided(a, b, remainder, true); }},
    {SpvOpSMod, [](U a, U b) -> U { return divided(a, b, modulus, true); }},
    {SpvOpShiftLeftLogical, [](U a, U b) -> U { return a << shift(b); }},
    {SpvOpShiftRightLogical, [](U a, U b) -> U { return a >> shift(b); }},
    {SpvOpShiftRightArithmetic, [](U a, U b) -> U { return static_cast<U>(static_cast<S>(a) >> shift(b)); }},
    {SpvOpBitwiseAnd, [](U a, U b) -> U { return a & b; }},
    {SpvOpBitwiseOr, [](U a, U b) -> U { return a | b; }},
    {SpvOpBitwiseXor, [](U a, U b) -> U { return a ^ b; }},
    {SpvOpLogicalAnd, [](U a, U b) -> U { return a & b; }},
    {SpvOpLogicalOr, [](U a, U b) -> U { return a | b; }},
    {SpvOpLogicalEqual, [](U a, U b) -> U { return a == b; }},
    {SpvOpLogicalNotEqual, [](U a, U b) -> U { return a != b; }},
    {SpvOpIEqual, [](U a, U b) -> U { return a == b; }},
    {SpvOpINotEqual, [](U a, U b) -> U { return a != b; }},
    {SpvOpULessThan, [](U a, U b) -> U { return a < b; }},
    {SpvOpULessThanEqual, [](U a, U b) -> U { return a <= b; }},
    {SpvOpUGreaterThan, [](U a, U b) -> U { return a > b; }},
    {SpvOpUGreaterThanEqual, [](U a, U b) -> U { return a >= b; }},
    {SpvOpSLessThan, [](U a, U b) -> U { return static_cast<S>(a) < static_cast<S>(b); }},
    {SpvOpSLessThanEqual, [](U a, U b) -> U { return static_cast<S>(a) <= static_cast<S>(b); }},
    {SpvOpSGreaterThan, [](U a, U b) -> U { return static_cast<S>(a) > static_cast<S>(b); }},
    {SpvOpSGreaterThanEqual, [](U a, U b) -> U { return static_cast<S>(a) >= static_cast<S>(b); }},
};

// The size and alignment of types, as in a std430 buffer, for one set of specialization values.
class Layouts {
  public:
    Layouts(const std::map<uint32_t, SharedMemory::Words> &definitions, const std::map<uint32_t, uint32_t> &spec_ids,
            std::span<const lamina_spec> specs)
        : definitions_(definitions), spec_ids_(spec_ids), specs_(specs) {}

    // The total size after appending the variable that this pointer points to.
    [[nodiscard]] uint64_t append(uint64_t bytes, uint32_t pointer) {
        const Layout layout = layout_of(word(definition(pointer), 3));
        return checked_sum(rounded_up(bytes, layout.align), layout.bytes);
    }

  private:
    struct Layout {
        uint64_t bytes = 0, align = 1;
    };

    [[nodiscard]] const SharedMemory::Words &definition(uint32_t id) const {
        const auto found = definitions_.find(id);
        if (found == definitions_.end()) throw Unknown{"its shared memory has a type or size that is unknown here"};
        return found->second;
    }
    static uint32_t word(const SharedMemory::Words &w, size_t i) {
        if (i >= w.size()) throw Unknown{"its SPIR-V is cut off in the declaration of shared memory"};
        return w[i];
    }

    Layout layout_of(uint32_t type) {
        const SharedMemory::Words &w = definition(type);
        switch (w[0] & 0xffffu) {
        case SpvOpTypeBool:
            return {4, 4};
        case SpvOpTypeInt:
        case SpvOpTypeFloat:
            return {word(w, 2) / 8, word(w, 2) / 8};
        case SpvOpTypeVector: {
            const Layout part = layout_of(word(w, 2));
            return {checked_product(part.bytes, word(w, 3)), part.align * (word(w, 3) == 2 ? 2 : 4)};
        }
        case SpvOpTypeMatrix:
            return repeated(layout_of(word(w, 2)), word(w, 3));
        case SpvOpTypeArray:
            return repeated(layout_of(word(w, 2)), length_of(word(w, 3)));
        case SpvOpTypeStruct: {
            Layout all;
            for (size_t m = 2; m < w.size(); ++m) {
                const Layout member = layout_of(w[m]);
                all.bytes = checked_sum(rounded_up(all.bytes, member.align), member.bytes);
                all.align = std::max(all.align, member.align);
            }
            return {rounded_up(all.bytes, all.align), all.align};
        }
        default:
            throw Unknown{"its shared memory has a type whose size is unknown here"};
        }
    }

    static Layout repeated(const Layout &part, uint32_t n) {
        return {checked_product(rounded_up(part.bytes, part.align), n), part.align};
    }

    uint32_t length_of(uint32_t id) {
        const uint32_t n = value_of(id);
        if (n == 0) throw Unknown{"expected a shared array of at least one element, found the size 0"};
        return n;
    }

    // Each id is computed once; `nullopt` while it is.
    uint32_t value_of(uint32_t id) {
        const auto [known, is_new] = values_.try_emplace(id);
        if (!is_new && !known->second) throw Unknown{"the size of a shared array depends on itself"};
        if (is_new) known->second = evaluate(id);
        return *known->second;
    }

    uint32_t evaluate(uint32_t id) {
        const SharedMemory::Words &w = definition(id);
        switch (w[0] & 0xffffu) {
        case SpvOpConstantTrue:
            return 1;
        case SpvOpConstantFalse:
            return 0;
        case SpvOpSpecConstantTrue:
            return specialized(id, 1) != 0;
        case SpvOpSpecConstantFalse:
            return specialized(id, 0) != 0;
        case SpvOpConstant:
            return integer(w);
        case SpvOpSpecConstant:
            return specialized(id, integer(w));
        case SpvOpSpecConstantOp:
            return operation(w);
        default:
            throw Unknown{"the size of a shared array is not an integer constant"};
        }
    }

    [[nodiscard]] uint32_t specialized(uint32_t id, uint32_t dflt) const {
        const auto found = spec_ids_.find(id);
        if (found == spec_ids_.end()) return dflt;
        const auto given =
            std::find_if(specs_.begin(), specs_.end(), [&](const auto &s) { return s.id == found->second; });
        return given == specs_.end() ? dflt : given->bits;
    }

    [[nodiscard]] uint32_t integer(const SharedMemory::Words &w) const {
        const SharedMemory::Words &type = definition(word(w, 1));
        if ((type[0] & 0xffffu) != SpvOpTypeInt || word(type, 2) != 32)
            throw Unknown{"the size of a shared array is not a 32-bit integer"};
        return word(w, 3);
    }

    uint32_t operation(const SharedMemory::Words &w) {
        switch (word(w, 3)) {
        case SpvOpSelect:
            return value_of(word(w, 4)) != 0 ? value_of(word(w, 5)) : value_of(word(w, 6));
        case SpvOpLogicalNot:
            return value_of(word(w, 4)) == 0;
        case SpvOpNot:
            return ~value_of(word(w, 4));
        case SpvOpSNegate:
            return 0u - value_of(word(w, 4));
        case SpvOpCompositeExtract: { // gl_WorkGroupSize.x
            const SharedMemory::Words &composite = definition(word(w, 4));
            const uint32_t kind = composite[0] & 0xffffu;
            if (kind != SpvOpSpecConstantComposite && kind != SpvOpConstantComposite)
                throw Unknown{"the size of a shared array is an element of a vector that is computed"};
            return value_of(word(composite, size_t{3} + word(w, 5)));
        }
        default:
            break;
        }
        const auto found = operations.find(w[3]);
        if (found == operations.end())
            throw Unknown{"the size of a shared array depends on SPIR-V operation " + std::to_string(w[3]) +
                          "; Lamina supports integer arithmetic, shifts, bit operations, comparisons and selections"};
        return found->second(value_of(word(w, 4)), value_of(word(w, 5)));
    }

    const std::map<uint32_t, SharedMemory::Words> &definitions_;
    const std::map<uint32_t, uint32_t> &spec_ids_;
    std::span<const lamina_spec> specs_;
    std::map<uint32_t, std::optional<uint32_t>> values_;
};

} // namespace

SharedMemory::SharedMemory(std::span<const uint32_t> spirv) {
    for (size_t at = 5; at < spirv.size();) {
        const uint32_t length = spirv[at] >> 16u, op = spirv[at] & 0xffffu;
        if (length == 0 || length > spirv.size() - at) break; // SPIRV-Cross rejects such a module
        const auto w = spirv.subspan(at, length);
        at += length;
        if (op == SpvOpFunction) break; // all of them are declared before
        const bool type = op >= SpvOpTypeVoid && op <= SpvOpTypePointer;
        const bool constant = op >= SpvOpConstantTrue && op <= SpvOpSpecConstantOp;
        if (op == SpvOpDecorate && length == 4 && w[2] == SpvDecorationSpecId) spec_ids_[w[1]] = w[3];
        if (type && length > 1) definitions_[w[1]].assign(w.begin(), w.end());
        if (constant && length > 2) definitions_[w[2]].assign(w.begin(), w.end());
        if (op == SpvOpVariable && length > 3 && w[3] == SpvStorageClassWorkgroup) shared_.push_back(w[1]);
    }
    if (shared_.empty()) definitions_.clear(), spec_ids_.clear();
}

std::optional<uint64_t> SharedMemory::bytes(std::span<const lamina_spec> specs, std::string &why_not) const {
    try {
        Layouts layouts(definitions_, spec_ids_, specs);
        uint64_t total = 0;
        for (const uint32_t pointer : shared_) total = layouts.append(total, pointer);
        return total;
    } catch (const Unknown &unknown) {
        why_not = unknown.why;
        return std::nullopt;
    }
}

} // namespace lamina::plan
