// Where every tensor of a program lies on the device.
#pragma once

#include "plan/arena.hpp"
#include "plan/program.hpp"
#include "vulkan/residents.hpp"
#include "vulkan/variant_choice.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

// Activations and scratch whose lifetimes do not meet share bytes of one arena. Graph inputs and outputs have memory of
// their own, and with keep_all all activations have. Weights and states are the backend's.
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
    // Whether the tensor holds its value after a run.
    [[nodiscard]] bool keeps(int32_t index) const { return keeps_[static_cast<size_t>(index)]; }
    // All that holds nothing of worth before a run: activations and scratch, with their guards.
    [[nodiscard]] const std::vector<Region> &volatile_regions() const { return volatile_; }

    struct Guard {        // beside a tensor or scratch block, on one side: no kernel may write here
        std::string name; // "'y'", "scratch of 'attention'"
        Region region;
        uint32_t word; // what it is full of
    };
    [[nodiscard]] const std::vector<Guard> &guards() const { return guards_; }

  private:
    struct Temporary { // a tensor or scratch block of the arena
        std::string name;
        plan::Lifetime lifetime;
        Region *region;
    };

    [[nodiscard]] std::vector<Temporary> find_temporaries(const plan::GraphPlan &graph,
                                                          std::span<const ChosenVariant> steps);
    void allocate_all(const std::shared_ptr<LogicalDevice> &device, const plan::GraphPlan &graph,
                      std::span<const ChosenVariant> steps);
    void take_residents(Residents &residents, const plan::GraphPlan &graph);
    // What lies between the guards of `whole`, which are full of `word`; all of it where there are none.
    [[nodiscard]] Region inside(const Region &whole, const std::string &name, uint32_t word);

    std::vector<Region> tensors_;
    std::vector<bool> keeps_;
    std::vector<std::vector<Region>> scratch_, constants_, prepared_; // by step
    std::vector<Region> volatile_;
    Region zeros_;
    uint64_t guard_;  // bytes; 0: no guards
    uint32_t poison_; // what they are full of
    std::vector<Guard> guards_;
};

} // namespace lamina::vulkan
