// A kernel's SPIR-V, decoded once for given specialization constants.
#pragma once

#include "interpreter/invocation.hpp"
#include "interpreter/types.hpp"

#include <lamina/plugin.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lamina::interpreter {

// A variable, and where its memory begins: in an invocation's own memory, in shared memory, in the push constants, or
// in the buffer at its binding.
struct Variable {
    std::string name;
    uint32_t type = 0, storage = 0;
    uint32_t place = 0, words = 0;
    uint32_t binding = 0; // of a buffer
    int64_t builtin = -1; // SpvBuiltIn..., or -1
};

// One step of an access chain: to a member of a struct, or to an element.
struct ChainStep {
    uint32_t index;  // the register; of a member: its number
    uint32_t count;  // of elements; 0: as many as the buffer holds
    uint32_t stride; // in words; of a member: where it begins
    bool is_member;
};
struct Chain {
    uint32_t variable, type; // where it starts: a variable or parameter by id, and what that points to
    std::vector<ChainStep> steps;
};

// What a load or store accesses: a part of a variable.
struct Part {
    uint32_t variable;            // by id, or a parameter
    std::vector<uint32_t> places; // of the words, from the pointer on; empty: adjacent
};

// What a load or store of a cooperative matrix accesses.
struct MatrixAccess {
    uint32_t type;    // of the matrix
    uint32_t chain;   // leads to an element of the array where its first row or column begins
    uint32_t part;    // of the variable
    uint32_t binding; // of a buffer
    bool in_buffer, by_column;
    bool is_packed; // the array's words each hold two numbers of 16 bits
};

struct Copy {
    uint32_t to, from, words; // registers
};
struct Phi {
    uint32_t to, words;
    std::map<uint32_t, uint32_t> from; // by the label of the block before
};
struct Switch {
    std::map<uint32_t, uint32_t> cases;
    uint32_t otherwise;
};
struct Function {
    std::string name;
    uint32_t begin = 0;                 // its first instruction
    std::vector<uint32_t> parameters{}; // registers
    uint32_t local = 0, local_end = 0;  // its variables in local memory
};

// A place where invocations wait for each other: a barrier, or an operation of a subgroup.
struct Meeting {
    bool of_subgroup = false;                                                     // else of the workgroup
    uint32_t semantics = 0;                                                       // which memory a barrier orders
    void (*compute)(std::span<Invocation *const>, const Instruction &) = nullptr; // of a subgroup; null: a barrier
};

class Module {
  public:
    // Throws Unknown for what the interpreter does not know, and for SPIR-V that is not valid.
    Module(std::span<const uint32_t> spirv, std::span<const lamina_spec> specs, uint32_t subgroup);

    [[nodiscard]] const std::string &function_at(uint32_t instruction) const;
    [[nodiscard]] const std::string &name_of(uint32_t variable) const;
    // "tile[3][64].x": what is at a word of shared memory, or of the buffer that a variable stands for.
    [[nodiscard]] std::string shared_part(uint32_t word) const;
    [[nodiscard]] std::string buffer_part(uint32_t variable, uint32_t word) const;

    Types types;
    std::map<uint32_t, std::string> names;
    std::map<uint32_t, Variable> variables;
    std::vector<Instruction> code;
    uint32_t entry = 0;
    std::array<uint32_t, 3> size{1, 1, 1}; // of a workgroup
    uint32_t subgroup;                     // the invocations in one

    // What every invocation starts with: constants, and the values and marks of local memory.
    std::vector<uint32_t> registers, local;
    std::vector<uint8_t> is_written;
    uint32_t shared_words = 0;

    // What Instruction::list refers to.
    std::vector<Chain> chains;
    std::vector<Part> parts;
    std::vector<MatrixAccess> matrix_accesses;
    std::vector<std::vector<Copy>> copies;
    std::vector<std::vector<Phi>> phis;
    std::vector<Switch> switches;
    std::vector<Function> functions;
    std::vector<Meeting> meetings;
};

} // namespace lamina::interpreter
