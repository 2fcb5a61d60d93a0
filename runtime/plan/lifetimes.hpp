// When what a program computes is needed, and where it lies then.
#pragma once

#include "plan/arena.hpp"
#include "plan/program.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

// One a tensor of the plan, in its order; bytes 0 for what is not an activation. From the step that writes a tensor to
// the last that reads it, or to the end where it is an output of the graph or everything is kept.
[[nodiscard]] std::vector<Lifetime> lifetimes_of(const GraphPlan &plan, bool keep_all);

// Memory of an activation, or of a scratch block of a step.
struct Block {
    std::string name;             // for messages: "'y'", "scratch of 'attention'"
    int32_t tensor = none;        // of the plan; none: scratch,
    size_t step = 0, scratch = 0; // which is the step's block of this number
    uint64_t bytes = 0;           // padded, and with `guard` guard_bytes more on either side
    std::optional<uint64_t> at;   // where in the arena; none: in memory of its own, since it is read after the run
};

struct MemoryLayout {
    std::vector<Block> blocks; // activations in the plan's order, then scratch
    uint64_t arena = 0;        // bytes that the blocks share whose lifetimes do not meet; with `guard` none meet
};

// scratch: bytes of each block, by step. align: of offsets in the arena.
[[nodiscard]] MemoryLayout lay_out_memory(const GraphPlan &plan, std::span<const std::vector<uint64_t>> scratch,
                                          const ProgramOptions &options, uint64_t align);

} // namespace lamina::plan
