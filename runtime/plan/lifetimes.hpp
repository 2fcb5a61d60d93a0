// When the tensors of a program are needed, and where they are placed.
#pragma once

#include "plan/arena.hpp"
#include "plan/program.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

// One lifetime per tensor of the plan; bytes is 0 for all but activations. It lasts from the step that writes the
// tensor to the last that reads it, or to the end for an output of the graph or if everything is kept.
[[nodiscard]] std::vector<Lifetime> lifetimes_of(const GraphPlan &plan, bool keep_all);

// Memory of an activation, or of a scratch block of a step.
struct Block {
    std::string name;             // for messages: "'y'", "scratch of 'attention'"
    int32_t tensor = none;        // of the plan; none: scratch,
    size_t step = 0, scratch = 0; // which is the step's block of this number
    uint64_t bytes = 0;           // padded; with `guard`, plus guard_bytes on either side
    std::optional<uint64_t> at;   // place in the arena; none: it has its own memory, because it is read after the run
};

struct MemoryLayout {
    std::vector<Block> blocks; // activations in the plan's order, then scratch
    uint64_t arena = 0;        // bytes that blocks share whose lifetimes do not overlap; with `guard` none share
};

// scratch: bytes of each block, by step. align: of offsets in the arena.
[[nodiscard]] MemoryLayout lay_out_memory(const GraphPlan &plan, std::span<const std::vector<uint64_t>> scratch,
                                          const ProgramOptions &options, uint64_t align);

} // namespace lamina::plan
