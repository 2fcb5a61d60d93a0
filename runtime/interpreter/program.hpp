// A graph whose kernels are interpreted.
#pragma once

#include "interpreter/device.hpp"
#include "interpreter/workgroup.hpp"
#include "model/weights.hpp"
#include "plan/program.hpp"
#include "plan/state_cache.hpp"
#include "plan/variant_choice.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lamina::interpreter {

// What the programs of a backend share.
struct Shared {
    std::shared_ptr<plan::Planner> planner; // keeps the layers' contracts alive
    model::Weights file;
    uint32_t subgroup;
    Rounds *rounds = nullptr; // to fill in, if given
    uint32_t epoch = 0;       // barriers of all programs so far: see Access
    std::map<std::string, std::shared_ptr<Memory>> weights{};
    plan::StateCache<Memory> states{};
};

class InterpretedProgram final : public plan::Program {
  public:
    InterpretedProgram(plan::GraphPlan plan, const plan::ProgramOptions &options, std::shared_ptr<Shared> shared);

    [[nodiscard]] std::string overrun() override { return {}; } // would have been a fault
    [[nodiscard]] std::string variant(size_t step) const override;

  private:
    using MemoryList = std::vector<std::shared_ptr<Memory>>;
    struct StepMemory {
        MemoryList scratch, constants, prepared;
    };

    void set(int32_t tensor, std::span<const std::byte> bytes) override;
    void execute() override;
    void execute_timed(plan::RunTimes &) override { execute(); } // times would say nothing about a kernel
    void get(int32_t tensor, uint64_t offset, std::span<std::byte> bytes) override;
    void copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) override;

    void place_tensors();
    void place_parts_of_plans();
    void run(size_t step, const plan::Dispatch &dispatch);
    [[nodiscard]] const Module &module_of(size_t step, const plan::Dispatch &dispatch);
    [[nodiscard]] std::string where(size_t step, const plan::Dispatch &dispatch) const;
    [[nodiscard]] Bound bound(size_t step, const plan::Binding &binding);

    std::shared_ptr<Shared> shared_;
    std::optional<uint32_t> poison_;
    std::vector<plan::ChosenVariant> steps_;
    MemoryList tensors_;
    std::vector<StepMemory> parts_;         // by step
    std::map<std::string, Module> modules_; // by layer, kernel and specialization constants
    Memory zeros_;                          // for ports that are left out
};

} // namespace lamina::interpreter
