// The instructions that compute values from values, as tables.
#pragma once

#include "interpreter/invocation.hpp"

namespace lamina::interpreter {

// How many words an instruction works on.
enum class Counted { result, operand, half_result };

struct Operation {
    void (*run)(Invocation &, const Instruction &);
    Counted by = Counted::result;
};

void round_to_half(Invocation &v, const Instruction &i); // result; a; words

// Null if there is no such operation.
[[nodiscard]] const Operation *operation(uint32_t opcode);
[[nodiscard]] const Operation *extended_operation(uint32_t number); // of GLSL.std.450

} // namespace lamina::interpreter
