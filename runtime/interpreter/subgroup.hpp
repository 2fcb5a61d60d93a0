// Operations of subgroups, as a table.
#pragma once

#include "interpreter/invocation.hpp"

#include <span>

namespace lamina::interpreter {

struct SubgroupOperation {
    // Of the invocations of a subgroup that have not returned. a and b: the operands; words: of the result.
    void (*compute)(std::span<Invocation *const>, const Instruction &) = nullptr;
    bool reduces = false; // has a literal that says how
};

// Null if there is no such operation.
[[nodiscard]] const SubgroupOperation *subgroup_operation(uint32_t opcode);

} // namespace lamina::interpreter
