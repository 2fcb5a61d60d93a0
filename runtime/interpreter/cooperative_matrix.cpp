// What instructions do with cooperative matrices, and the part of Decoder that reads these instructions.
//
// Counted row by row, element e of a matrix is number e / n of invocation e mod n of a subgroup of n. Kernels must not
// rely on that: every device has an order of its own.
#include "interpreter/cooperative_matrix.hpp"

#include "interpreter/decoder.hpp"
#include "interpreter/instructions.hpp"
#include "interpreter/memory.hpp"

#include <lamina/plugin/single_values.hpp>

#include <spirv_cross/spirv.h>

#include <algorithm>
#include <bit>

namespace lamina::interpreter {
namespace {

using Holders = std::span<Invocation *const>; // the invocations of a subgroup

uint32_t &element(Holders holders, uint32_t matrix, uint32_t e) {
    const auto n = static_cast<uint32_t>(holders.size());
    return holders[e % n]->registers[matrix + e / n];
}

void expect_all(Holders holders) {
    const uint32_t all = holders[0]->module->subgroup;
    if (holders.size() != all)
        throw Fault("has " + std::to_string(holders.size()) + " of its " + std::to_string(all) +
                    " invocations left, but a cooperative matrix needs all");
}

uint32_t same_for_all(Holders holders, uint32_t number, const char *what) {
    const uint32_t first = holders[0]->registers[number];
    for (const Invocation *v : holders)
        if (v->registers[number] != first)
            throw Fault("accesses a cooperative matrix, but invocation " + std::to_string(v->number) + " has another " +
                        what);
    return first;
}

// Where a matrix is in memory. Lines are its rows, or its columns if these are adjacent.
class MatrixPlace {
  public:
    MatrixPlace(Holders holders, const Instruction &i)
        : one_(*holders[0]), access_(one_.module->matrix_accesses[i.c]), chain_(one_.module->chains[access_.chain]),
          step_(chain_.steps.back()), first_(same_for_all(holders, i.a, "pointer")),
          stride_(same_for_all(holders, i.b, "stride")), begin_(first_ - one_.registers[step_.index] * step_.stride),
          length_(length_of(one_, step_, access_.binding, begin_)),
          now_(access_.in_buffer ? one_.in_buffers : one_.in_shared) {
        now_.invocation = Access::any;
        expect_aligned();
    }

    [[nodiscard]] uint32_t elements() const { return shape().rows * shape().cols; }
    [[nodiscard]] uint32_t read(uint32_t e) const {
        const uint32_t at = along(e), word = word_at(e, access_.is_packed ? at / 2 : at);
        const uint32_t bits = access_.in_buffer
                                  ? read_buffer(one_, access_.binding, one_.module->parts[access_.part], word, now_)
                                  : read_shared(one_, word, now_);
        if (!access_.is_packed) return bits;
        return std::bit_cast<uint32_t>(plugin::widen_f16(static_cast<uint16_t>(bits >> at % 2 * 16)));
    }
    void write(uint32_t e, uint32_t bits) const {
        const uint32_t word = word_at(e, along(e));
        if (access_.in_buffer)
            write_buffer(one_, access_.binding, one_.module->parts[access_.part], word, bits, now_);
        else
            write_shared(one_, word, bits, now_);
    }

  private:
    // Vulkan asks that lines begin at multiples of 16 bytes, or of their own size where they are shorter. Arrays of
    // shared memory follow each other, as drivers place them, so the length of one moves the lines of the next.
    void expect_aligned() const {
        const uint32_t line = access_.by_column ? shape().rows : shape().cols;
        const uint32_t words = std::min(4u, access_.is_packed ? line / 2 : line);
        const uint32_t first = access_.in_buffer ? first_ - begin_ : first_;
        if (first % words == 0 && stride_ * step_.stride % words == 0) return;
        throw Fault("accesses a cooperative matrix whose lines do not begin at multiples of " +
                    std::to_string(words * 4) + " bytes");
    }
    [[nodiscard]] const Type &shape() const { return one_.module->types[access_.type]; }
    [[nodiscard]] uint32_t along(uint32_t e) const { return access_.by_column ? e / shape().cols : e % shape().cols; }
    [[nodiscard]] uint32_t word_at(uint32_t e, uint32_t word_of_line) const {
        const uint64_t line = access_.by_column ? e % shape().cols : e / shape().cols;
        const uint64_t from_begin = first_ - begin_ + line * stride_ * step_.stride + word_of_line;
        if (from_begin / step_.stride >= length_)
            report_outside(one_, chain_, chain_.steps.size() - 1, from_begin / step_.stride, length_);
        return begin_ + static_cast<uint32_t>(from_begin);
    }

    const Invocation &one_;
    const MatrixAccess &access_;
    const Chain &chain_;
    const ChainStep &step_; // into the array
    uint32_t first_, stride_, begin_, length_;
    Access now_;
};

void load(Holders holders, const Instruction &i) {
    expect_all(holders);
    const MatrixPlace place(holders, i);
    for (uint32_t e = 0; e < place.elements(); ++e) element(holders, i.result, e) = place.read(e);
}

void store(Holders holders, const Instruction &i) {
    expect_all(holders);
    const MatrixPlace place(holders, i);
    for (uint32_t e = 0; e < place.elements(); ++e) place.write(e, element(holders, i.result, e));
}

void multiply_add(Holders holders, const Instruction &i) {
    expect_all(holders);
    constexpr auto m = matrix_shape.m, n = matrix_shape.n, k = matrix_shape.k;
    const auto values = [&](uint32_t matrix, uint32_t count) {
        std::vector<float> out(count);
        for (uint32_t e = 0; e < count; ++e) out[e] = std::bit_cast<float>(element(holders, matrix, e));
        return out;
    };
    const std::vector<float> a = values(i.a, m * k), b = values(i.b, k * n);
    std::vector<float> sum = values(i.c, m * n);
    for (uint32_t e = 0; e < m * n; ++e) {
        for (uint32_t x = 0; x < k; ++x) sum[e] += a[e / n * k + x] * b[x * n + e % n];
        element(holders, i.result, e) = std::bit_cast<uint32_t>(sum[e]);
    }
}

template <class T> uint32_t index_of_last(const std::vector<T> &list) { return static_cast<uint32_t>(list.size() - 1); }

} // namespace

// The type's operands are its component, scope, rows, columns and use: 0 to 2 for A, B and sums.
void Decoder::matrix_type(Words in) {
    constexpr std::array<std::array<uint32_t, 3>, 3> offered{{{matrix_shape.m, matrix_shape.k, 16},
                                                              {matrix_shape.k, matrix_shape.n, 16},
                                                              {matrix_shape.m, matrix_shape.n, 32}}};
    const Type &component = module_.types[in[2]];
    const uint32_t rows = value(in[4]), cols = value(in[5]), use = value(in[6]);
    if (value(in[3]) != SpvScopeSubgroup) throw Unknown("cooperative matrices of another scope than the subgroup");
    if (component.op != SpvOpTypeFloat || offered.at(use) != std::array{rows, cols, component.bits})
        throw Unknown("a cooperative matrix of " + std::to_string(rows) + " x " + std::to_string(cols) +
                      " numbers of " + std::to_string(component.bits) +
                      " bits, a shape that this device does not offer");
    module_.types.add_matrix(in[1], in[2], rows, cols, module_.subgroup);
}

void Decoder::matrix_length(Words in) { module_.registers[define(in[1], in[2])] = module_.types[in[3]].words; }

uint32_t Decoder::matrix_access(uint32_t type, uint32_t pointer, uint32_t layout) {
    const auto chain = chains_.find(pointer);
    if (chain == chains_.end() || module_.chains[chain->second].steps.back().is_member)
        throw Unknown("a cooperative matrix outside an array");
    if (value(layout) > 1) throw Unknown("a cooperative matrix that is neither row-major nor column-major");
    const uint32_t storage = type_of(pointer).storage, of_array = type_of(pointer).element;
    if (module_.types[of_array].span != module_.chains[chain->second].steps.back().stride)
        throw Unknown("a cooperative matrix in an array with gaps");
    const bool are_halves = module_.types.is_of_halves(of_array);
    const bool is_packed = module_.types.is_of_halves(type) && !are_halves;
    if (are_halves && !module_.types.is_of_halves(type)) throw Unknown("floats of a cooperative matrix among halves");
    module_.matrix_accesses.push_back({type, chain->second, part_of(pointer), binding_of(pointer),
                                       storage != SpvStorageClassWorkgroup, value(layout) == 1, is_packed});
    return index_of_last(module_.matrix_accesses);
}

void Decoder::load_matrix(Words in) {
    const uint32_t access = matrix_access(in[1], in[3], in[4]);
    module_.meetings.push_back({true, 0, interpreter::load});
    emit({.run = wait_for_others,
          .result = define(in[1], in[2]),
          .a = at(in[3]),
          .b = at(in[5]),
          .c = access,
          .list = index_of_last(module_.meetings)});
}

void Decoder::store_matrix(Words in) {
    const uint32_t access = matrix_access(type_of_.at(in[2]), in[1], in[3]);
    if (module_.matrix_accesses[access].is_packed) throw Unknown("a store of two numbers of 16 bits as one word");
    module_.meetings.push_back({true, 0, interpreter::store});
    emit({.run = wait_for_others,
          .result = at(in[2]),
          .a = at(in[1]),
          .b = at(in[4]),
          .c = access,
          .list = index_of_last(module_.meetings)});
}

void Decoder::multiply_matrices(Words in) {
    module_.meetings.push_back({true, 0, multiply_add});
    emit({.run = wait_for_others,
          .result = define(in[1], in[2]),
          .a = at(in[3]),
          .b = at(in[4]),
          .c = at(in[5]),
          .list = index_of_last(module_.meetings)});
}

} // namespace lamina::interpreter
