// The place of every tensor of a program in device memory.
#pragma once

#include "plan/lifetimes.hpp"
#include "plan/variant_choice.hpp"
#include "vulkan/preparations.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

// The names of the weights that runs read directly. Of other weights, runs only read the prepared form.
[[nodiscard]] std::set<std::string> weights_of(const plan::GraphPlan &graph,
                                               std::span<const plan::ChosenVariant> steps);

// Activations and scratch are placed by plan::MemoryLayout; inputs have memory of their own. Weights and states belong
// to the backend.
class ProgramMemory {
  public:
    // Allocates, and uploads weights and constants. With ProgramOptions::guard nothing shares memory, and there are
    // guard_bytes on both sides of everything that kernels write. Throws Error(memory) with the memory needed, the
    // memory available and the biggest tensors. `prepared`: the prepared memory of each step.
    ProgramMemory(const std::shared_ptr<LogicalDevice> &device, Residents &residents, const plan::GraphPlan &graph,
                  std::span<const plan::ChosenVariant> steps, std::vector<Prepared> prepared,
                  const plan::ProgramOptions &options);

    // Padded to a multiple of 16 bytes.
    [[nodiscard]] const Region &tensor(int32_t index) const { return tensors_[static_cast<size_t>(index)]; }
    // The memory of a binding of this step, with the guard after it; zeros for a port that was left out.
    [[nodiscard]] Region bound(const plan::Step &step, size_t step_index, const plan::Binding &binding) const;
    // Everything whose contents do not matter before a run: activations and scratch, with their guards.
    [[nodiscard]] const std::vector<Region> &volatile_regions() const { return volatile_; }

    struct Guard {        // on one side of a tensor or scratch block; no kernel may write here
        std::string name; // "'y'", "scratch of 'attention'"
        Region region;
        uint32_t word; // its contents
    };
    [[nodiscard]] const std::vector<Guard> &guards() const { return guards_; }

  private:
    void allocate_all(const std::shared_ptr<LogicalDevice> &device, const plan::GraphPlan &graph,
                      std::span<const plan::ChosenVariant> steps, const plan::MemoryLayout &layout);
    void take_residents(Residents &residents, const plan::GraphPlan &graph, std::span<const plan::ChosenVariant> steps);
    // The memory between the guards of `whole`, which contain `word`; all of `whole` if there are none.
    [[nodiscard]] Region inside(const Region &whole, const std::string &name, uint32_t word);

    std::vector<Region> tensors_;
    std::vector<std::shared_ptr<Region>> states_;          // held: see plan::StateCache
    std::vector<std::vector<Region>> scratch_, constants_; // by step
    std::vector<Prepared> prepared_;
    std::vector<Region> volatile_;
    Region zeros_;
    uint64_t guard_;      // bytes; 0: no guards
    uint64_t most_bytes_; // of a binding
    uint32_t poison_;     // the contents of guards
    std::vector<Guard> guards_;
};

} // namespace lamina::vulkan
