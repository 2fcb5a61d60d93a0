// One invocation of a kernel, and the instructions that it runs.
//
// Invocations take turns: each runs until it waits for others at a barrier or a subgroup operation. The order does not
// matter. Where the result of a kernel depends on it, two accesses race, and that is reported in any order.
#pragma once

#include "interpreter/shadow.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lamina::interpreter {

class Module;
class Workgroup;
struct Invocation;

// What a kernel does wrong.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A SPIR-V instruction that has been looked up: registers have numbers, and jumps know where they lead.
struct Instruction {
    void (*run)(Invocation &, const Instruction &) = nullptr;
    uint32_t result = 0; // registers: of the result, and of up to three operands
    uint32_t a = 0, b = 0, c = 0;
    uint32_t words = 0; // of the result, or of what is stored
    uint32_t list = 0;  // an index into one of the module's lists
};

struct Invocation {
    enum class State { running, waiting, finished };

    const Module *module = nullptr;
    Workgroup *workgroup = nullptr;
    uint32_t number = 0;             // in the workgroup
    uint32_t subgroup = 0, lane = 0; // the subgroup's number, and the invocation's in it
    uint32_t *registers = nullptr;
    uint32_t *local = nullptr;     // variables of functions, globals and built-ins
    uint8_t *is_written = nullptr; // by word of `local`
    State state = State::running;
    uint32_t next = 0;  // the instruction after this one
    uint32_t block = 0; // for OpPhi: the label of the block that is left
    struct Return {
        uint32_t to, result; // an instruction, and the register of the call's value
    };
    std::vector<Return> calls{};
    uint64_t run = 0;                 // instructions, so far
    uint64_t rounds = 0;              // of all its loops
    uint32_t flushes = 0;             // memory semantics of the memory barriers since the last barrier
    Access in_shared{}, in_buffers{}; // who and when, for each kind of memory
};

} // namespace lamina::interpreter
