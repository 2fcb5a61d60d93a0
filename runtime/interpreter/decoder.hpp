// Reads a SPIR-V module, instruction by instruction, into a Module.
#pragma once

#include "interpreter/module.hpp"

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace lamina::interpreter {

class Decoder {
  public:
    using Words = std::span<const uint32_t>; // of one instruction

    Decoder(Module &module, std::span<const lamina_spec> specs);
    void decode(Words in);
    void finish(); // resolves what instructions refer to before it is declared

  private:
    // Declarations: declarations.cpp.
    void name(Words in);
    void member_name(Words in);
    void decorate(Words in);
    void decorate_member(Words in);
    void entry_point(Words in);
    void execution_mode(Words in);
    void type(Words in);
    void constant(Words in);
    void spec_constant(Words in);
    void constant_composite(Words in);
    void spec_constant_op(Words in);
    void constant_null(Words in);
    void undefined(Words in);
    void variable(Words in);
    void place_variable(Variable &variable);
    void initialize(const Variable &variable, uint32_t value);
    void decode_now(std::vector<uint32_t> in);

    // Functions: functions.cpp.
    void function(Words in);
    void parameter(Words in);
    void label(Words in);
    void loop_merge(Words in);
    [[nodiscard]] uint32_t rounds_of(uint32_t block) const;
    void branch(Words in);
    void branch_if(Words in);
    void switch_to(Words in);
    void phi(Words in);
    void call_function(Words in);
    void return_from(Words in);
    void unreachable(Words in);
    void load(Words in);
    void store(Words in);
    void chain(Words in);
    void array_size(Words in);
    void construct(Words in);
    void extract(Words in);
    void insert(Words in);
    void shuffle(Words in);
    void extract_by_index(Words in);
    void insert_by_index(Words in);
    void bitcast(Words in);
    void extended(Words in);
    void barrier(Words in);
    void memory_barrier(Words in);
    void of_subgroup(const struct SubgroupOperation &known, Words in);

    // Cooperative matrices: cooperative_matrix.cpp.
    void matrix_type(Words in);
    void matrix_length(Words in);
    void load_matrix(Words in);
    void store_matrix(Words in);
    void multiply_matrices(Words in);
    [[nodiscard]] uint32_t matrix_access(uint32_t type, uint32_t pointer, uint32_t layout); // its number

    using Handler = void (Decoder::*)(Words);
    static const std::map<uint32_t, Handler> &handlers();

    Instruction &emit(const Instruction &instruction);
    void compute(const struct Operation &operation, uint32_t type, uint32_t id, Words operands);
    void move(uint32_t type, uint32_t id, std::vector<Copy> copies);
    uint32_t define(uint32_t type, uint32_t id);                        // returns the register
    [[nodiscard]] uint32_t literal(uint32_t type, uint32_t bits) const; // as a register holds it
    void round_halves(uint32_t id); // of a result, which instructions compute with 32 bits
    [[nodiscard]] uint32_t at(uint32_t id) const { return places_.at(id); }
    [[nodiscard]] uint32_t value(uint32_t constant) const { return module_.registers[at(constant)]; }
    [[nodiscard]] const Type &type_of(uint32_t id) const { return module_.types[type_of_.at(id)]; }
    [[nodiscard]] uint32_t binding_of(uint32_t pointer) const;
    [[nodiscard]] uint32_t part_of(uint32_t pointer); // its number in Module::parts
    [[nodiscard]] uint32_t number_of_function(uint32_t id);
    // The part of a composite value that literal indices lead to: where it begins, in words, and its type.
    [[nodiscard]] std::pair<uint32_t, uint32_t> part(uint32_t type, Words indices) const;

    Module &module_;
    std::map<uint32_t, uint32_t> specs_;               // values, by specialization id
    std::map<uint32_t, uint32_t> spec_ids_, bindings_; // by id
    std::map<uint32_t, uint32_t> builtins_;            // by id
    std::map<uint32_t, Layout> layouts_;               // by type
    std::map<uint32_t, uint32_t> places_, type_of_;    // registers and types, by id
    std::map<uint32_t, uint32_t> roots_;               // of pointers: the variable or parameter that they point into
    std::map<uint32_t, uint32_t> chains_;              // of pointers: the chains that lead to them
    std::map<uint32_t, uint32_t> functions_, labels_;  // by id: numbers, and where blocks begin
    std::set<uint32_t> unrolled_;                      // the first blocks of loops that drivers unroll
    uint32_t entry_ = 0, block_ = 0;                   // ids
    uint32_t current_function_ = 0;                    // its number
    bool in_function_ = false, phis_open_ = false;
    struct PendingCall {
        size_t copies, function;
        std::vector<uint32_t> arguments;
    };
    std::vector<PendingCall> pending_calls_;
};

} // namespace lamina::interpreter
