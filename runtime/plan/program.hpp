// A planned graph made ready to run on one device: memory laid out, kernels built, replayed at every run.
#pragma once

#include "plan/graph_plan.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace lamina::plan {

// What a caller may do is checked here, in the same way for all devices.
class Program {
  public:
    virtual ~Program() = default;
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;

    // Sets a graph input or a state, whole. Inputs keep their values from run to run; states change as layers change
    // them. Throws Error(input) for any other tensor, for another number of bytes than the plan's, and for I32 values
    // out of the range that the contract of a layer that takes them names.
    void write(int32_t tensor, std::span<const std::byte> bytes);
    // Runs every step and waits. Throws Error(input) for an input that was never written, Error(device_lost) with the
    // step that was running.
    void run();
    // Reads an input, an output or a state of the graph, whole; with keep_all any activation, too. Throws Error(input)
    // for any other tensor, for another number of bytes, and before the first run for all but states.
    void read(int32_t tensor, std::span<std::byte> bytes);
    // Every state's sequence b (its first axis) becomes what sequence rows[b] was. Throws Error(input) unless there is
    // one row a sequence.
    void reorder_states(std::span<const int32_t> rows);

    // With `guard`: the name of a tensor or scratch block beside which the last run wrote; empty when there is none.
    [[nodiscard]] virtual std::string overrun() = 0;
    // "baseline", or for the CPU "reference" or "cpu_fallback": how a step is computed.
    [[nodiscard]] virtual std::string variant(size_t step) const = 0;
    [[nodiscard]] const GraphPlan &plan() const { return plan_; }

  protected:
    Program(GraphPlan plan, bool keep_all);

    // What the device does, after all has been checked.
    virtual void set(int32_t tensor, std::span<const std::byte> bytes) = 0;
    virtual void execute() = 0;
    virtual void get(int32_t tensor, std::span<std::byte> bytes) = 0;
    virtual void reorder(std::span<const int32_t> rows) = 0;

    [[nodiscard]] const PlannedTensor &tensor(int32_t index) const {
        return plan_.tensors.at(static_cast<size_t>(index));
    }
    const GraphPlan plan_;

  private:
    void expect_size(int32_t tensor, size_t found) const;
    void expect_in_range(int32_t tensor, std::span<const std::byte> bytes) const;

    bool keep_all_, has_run_ = false;
    std::vector<bool> written_; // by tensor: inputs
};

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
    std::vector<std::string> variants{};

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
