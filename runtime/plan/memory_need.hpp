// Whether a program fits into memory, before anything is uploaded or allocated for it.
#pragma once

#include "plan/arena.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

struct GraphPlan;
struct ProgramOptions;

// What a program takes on a device beside what is there already, and what is free for it.
struct MemoryNeed {
    std::vector<MemoryRequest> weights, states, others; // by tensor; others: inputs, outputs and activations
    std::optional<uint64_t> free{};                     // none: the device does not say
    // Of weights that are read where their file is mapped. The system may take this memory back, and read them again.
    uint64_t mapped = 0;
    uint64_t most_bound = UINT64_MAX; // bytes of a state: what the device's kernels can bind
    size_t place = 0;                 // of the device among several

    [[nodiscard]] uint64_t bytes() const; // of all requests; saturates
    // The first state that is too large to be bound; null if there is none.
    [[nodiscard]] const MemoryRequest *unbound() const;
};

// All tensors of a plan, each once, without the scratch of variants.
[[nodiscard]] MemoryNeed need_of(const GraphPlan &plan);
[[nodiscard]] MemoryNeed need_of(const GraphPlan &plan, const ProgramOptions &options);

// Throws Error(memory) if it does not fit: what is needed and free, the largest tensors, and `advice`; or which state
// the device cannot bind.
void expect_room(const MemoryNeed &need, const std::string &what, const std::string &device, const std::string &advice);

// Of these requests; it saturates, so that absurd sizes do not wrap around to small ones.
[[nodiscard]] uint64_t total_bytes(std::span<const MemoryRequest> requests);
// "'a' (1.2 GiB), 'b' (300.0 MiB), 'c' (12.0 KiB)"
[[nodiscard]] std::string biggest(std::span<const MemoryRequest> requests);

} // namespace lamina::plan
