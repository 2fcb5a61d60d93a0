// Where every tensor of a program lies on the device.
#pragma once

#include "plan/lifetimes.hpp"
#include "vulkan/residents.hpp"
#include "vulkan/variant_choice.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

// Activations and scratch lie as plan::MemoryLayout says, inputs in memory of their own. Weights and states are the
// backend's.
class ProgramMemory {
  public:
    // Allocates, and uploads weights and constants. With ProgramOptions::guard nothing shares memory, and guard_bytes
    // lie free on either side of everything that kernels write. Throws Error(memory) with need, have and the biggest
    // tensors. `prepared`: by step, what its plan has prepared.
    ProgramMemory(const std::shared_ptr<LogicalDevice> &device, Residents &residents, const plan::GraphPlan &graph,
                  std::span<const ChosenVariant> steps, std::vector<std::vector<Region>> prepared,
                  const plan::ProgramOptions &options);

    // Padded to a multiple of 16 bytes.
    [[nodiscard]] const Region &tensor(int32_t index) const { return tensors_[static_cast<size_t>(index)]; }
    // What a binding of this step spans, and the guard behind it; zeros for a port that was left out.
    [[nodiscard]] Region bound(const plan::Step &step, size_t step_index, const plan::Binding &binding) const;
    // All that holds nothing of worth before a run: activations and scratch, with their guards.
    [[nodiscard]] const std::vector<Region> &volatile_regions() const { return volatile_; }

    struct Guard {        // beside a tensor or scratch block, on one side: no kernel may write here
        std::string name; // "'y'", "scratch of 'attention'"
        Region region;
        uint32_t word; // what it is full of
    };
    [[nodiscard]] const std::vector<Guard> &guards() const { return guards_; }

  private:
    void allocate_all(const std::shared_ptr<LogicalDevice> &device, const plan::GraphPlan &graph,
                      std::span<const ChosenVariant> steps, const plan::MemoryLayout &layout);
    void take_residents(Residents &residents, const plan::GraphPlan &graph);
    // What lies between the guards of `whole`, which are full of `word`; all of it where there are none.
    [[nodiscard]] Region inside(const Region &whole, const std::string &name, uint32_t word);

    std::vector<Region> tensors_;
    std::vector<std::shared_ptr<Region>> states_;                     // held: see plan::StateCache
    std::vector<std::vector<Region>> scratch_, constants_, prepared_; // by step
    std::vector<Region> volatile_;
    Region zeros_;
    uint64_t guard_;  // bytes; 0: no guards
    uint32_t poison_; // what they are full of
    std::vector<Guard> guards_;
};

} // namespace lamina::vulkan
