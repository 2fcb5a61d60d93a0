// A planned graph made ready to run on one device: memory laid out, kernels built, replayed at every run.
#pragma once

#include "plan/graph_plan.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace lamina::plan {

class Program {
  public:
    virtual ~Program() = default;
    // Sets a graph input, whole, or a state. Inputs keep their values from run to run; states change as layers change
    // them. Sizes are the plan's; else Error(input).
    virtual void write(int32_t tensor, std::span<const std::byte> bytes) = 0;
    // Runs every step and waits. Throws Error(device_lost) with the step that was running, Error(input) for I32 inputs
    // out of the range that their contract names (checked here, before anything runs).
    virtual void run() = 0;
    // Reads a graph output; with keep_all, any activation or state too.
    virtual void read(int32_t tensor, std::span<std::byte> bytes) = 0;
    // With `guard`: the name of a tensor or scratch block beside which the last run wrote; empty when there is none.
    [[nodiscard]] virtual std::string overrun() = 0;
    // Every state's sequence b (its first axis) becomes what sequence rows[b] was. rows has one entry a sequence.
    virtual void reorder_states(std::span<const int32_t> rows) = 0;

    [[nodiscard]] const GraphPlan &plan() const { return plan_; }
    // "baseline", or for the CPU "reference" or "cpu_fallback": how a step is computed.
    [[nodiscard]] virtual std::string variant(size_t step) const = 0;

  protected:
    explicit Program(GraphPlan plan) : plan_(std::move(plan)) {}
    // Throws Error(input) when `bytes` for this input break the range of any layer that takes it.
    void check_values(int32_t tensor, std::span<const std::byte> bytes) const;
    GraphPlan plan_;
};

// Checks the argument of Program::reorder_states() against one state. Throws Error(input).
void expect_rows(const PlannedTensor &state, std::span<const int32_t> rows);

inline constexpr uint64_t guard_bytes = 256;
// What poisoned memory is full of: a signalling NaN. Arithmetic makes a quiet one of it, so that even a NaN which a
// kernel computes and writes beside its output tells itself from what lay there.
inline constexpr uint32_t poison_word = 0x7fa0dead;
// Other things to find in unwritten memory, about 1.7e38 and its negative: max() and min() take a number before a NaN.
inline constexpr std::array<uint32_t, 2> other_poison{0x7f000000, 0xff000000};

struct ProgramOptions {
    bool keep_all = false; // every activation keeps its own memory, so that all can be read afterwards
    // What activations and scratch are full of before every run, to expose reads of unwritten memory; none: whatever
    // the run before left there.
    std::optional<uint32_t> poison{};
    // Poison (poison_word unless another is named), and no two tensors share memory: what lies within guard_bytes of an
    // activation, scratch block or state is nobody's, and Program::overrun() says whether a kernel wrote there.
    bool guard = false;
    // The variant that computes each step. "", or a list that ends before: the first that fits, which need not be
    // proved. Error(input) where a named one does not fit.
    std::vector<std::string> variants;

    [[nodiscard]] std::optional<uint32_t> poisoned_with() const {
        return guard ? poison.value_or(poison_word) : poison;
    }
};

// ProgramOptions::variants from variants by layer id; "" for the steps of other layers.
[[nodiscard]] std::vector<std::string>
variants_by_layer(const GraphPlan &plan, const std::map<std::string, std::string, std::less<>> &variants);

// A device with one model's weights resident. Programs of a backend share the weights and states by name.
class Backend {
  public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual std::unique_ptr<Program> compile(GraphPlan plan, const ProgramOptions &options) = 0;
};

} // namespace lamina::plan
