// A planned graph ready to run on a device: its memory is laid out, its kernels are built, and each run replays it.
#pragma once

#include "plan/graph_plan.hpp"
#include "plan/memory_need.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

// Sequence `from` (first axis) of all states of a program becomes sequence `to` of another's, or of its own.
struct SequenceCopy {
    int32_t from, to;
};

// The same in bytes, for one state: so many blocks.
struct StateCopy {
    struct Side {
        int32_t tensor; // of the plan
        uint64_t offset, stride;
    };
    Side from, to;
    uint64_t blocks, bytes; // of each
};

// When a run began, and how long each dispatch took. On the CPU, a step counts as one dispatch. Without timestamps, a
// dispatch is timed together with its submission.
struct RunTimes {
    struct Dispatch {
        size_t step = 0;
        std::string kernel;            // empty if the whole step was timed
        double begin = 0, seconds = 0; // since the run began
    };
    std::chrono::steady_clock::time_point began;
    double seconds = 0;        // by the host's clock, with uploads and downloads
    bool device_clock = false; // whether the dispatches were timed by the device
    std::vector<Dispatch> dispatches;

    // From the beginning of the first dispatch to the end of the last; 0 if there is none.
    [[nodiscard]] double of_dispatches() const {
        if (dispatches.empty()) return 0;
        return dispatches.back().begin + dispatches.back().seconds - dispatches.front().begin;
    }
};

struct ProgramOptions;

// The base class checks the caller's arguments in the same way for all devices.
class Program {
  public:
    virtual ~Program() = default;
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;

    // Sets a whole graph input or state. Inputs keep their values from run to run; states change as layers change them.
    // Throws Error(input) for any other tensor, for a wrong number of bytes, and for I32 values outside of the range
    // that a layer's contract allows.
    void write(int32_t tensor, std::span<const std::byte> bytes);
    // Runs every step and waits; before that, sequence rows[b] of every state is copied to sequence b. Sequences beyond
    // `rows` stay. Throws Error(input) for an input that was never written, for a sequence that there is not, and for
    // one that is copied but does not stay itself; Error(device_lost) with the steps that were running.
    void run(std::span<const int32_t> rows = {});
    // Reads a whole input, output or state of the graph; with keep_all also any activation. Throws Error(input) for any
    // other tensor, for a wrong number of bytes, and before the first run for all but states.
    void read(int32_t tensor, std::span<std::byte> bytes);
    // The same for entry `index` of the first axis.
    void read_entry(int32_t tensor, int64_t index, std::span<std::byte> bytes);

    // Copies sequences from all states of another program of the same graph and backend to these. States
    // of the same shape are the same memory, and stay as they are. Others may differ in length along one axis: the
    // beginning is copied. Throws Error(input) if the other has no such states or sequences.
    void take_states(Program &from, std::span<const SequenceCopy> sequences);
    // One sequence of all states becomes another, now. Throws Error(input) if there are no such sequences.
    void copy_sequence(const SequenceCopy &sequence);

    // With `guard`: the name of a tensor or scratch block beyond whose bounds the last run wrote; empty if there is
    // none.
    [[nodiscard]] virtual std::string overrun() = 0;
    // How a step is computed: "baseline", or on the CPU "reference" or "cpu_fallback".
    [[nodiscard]] virtual std::string variant(size_t step) const = 0;
    [[nodiscard]] const GraphPlan &plan() const { return plan_; }

  protected:
    Program(GraphPlan plan, const ProgramOptions &options);

    // The device's part, after all checks.
    virtual void set(int32_t tensor, std::span<const std::byte> bytes) = 0;
    // Moves sequences before the steps of the run that follows. None of the moves writes what another one reads.
    virtual void move(std::span<const SequenceCopy> moves);
    virtual void execute() = 0;
    // The same, with ProgramOptions::timed. Fills in `dispatches` and `device_clock`.
    virtual void execute_timed(RunTimes &times) = 0;
    virtual void get(int32_t tensor, uint64_t offset, std::span<std::byte> bytes) = 0;
    virtual void copy_states(Program &from, std::span<const StateCopy> copies) = 0;

    // For a program that is made of others: their parts, without the checks, which were made of the whole.
    static void get_from(Program &part, int32_t tensor, uint64_t offset, std::span<std::byte> bytes) {
        part.get(tensor, offset, bytes);
    }
    static void copy_between(Program &from, Program &to, std::span<const StateCopy> copies) {
        to.copy_states(from, copies);
    }

    [[nodiscard]] const PlannedTensor &tensor(int32_t index) const {
        return plan_.tensors.at(static_cast<size_t>(index));
    }
    // What a move copies, valid until the next call.
    [[nodiscard]] std::span<const StateCopy> copies_of(const SequenceCopy &move);
    const GraphPlan plan_;

  private:
    void expect_size(int32_t tensor, size_t found) const;
    void expect_readable(int32_t tensor) const;
    void expect_in_range(int32_t tensor, std::span<const std::byte> bytes) const;
    void find_moves(std::span<const int32_t> rows);

    bool keep_all_, has_run_ = false;
    std::function<void(const Program &, const RunTimes &)> timed_;
    std::vector<bool> written_; // by tensor: inputs
    std::vector<SequenceCopy> moves_;
    std::vector<StateCopy> copies_; // of one of them
};

inline constexpr uint64_t guard_bytes = 256;
// The contents of poisoned memory: a signalling NaN. Arithmetic turns it into a quiet NaN, so even a NaN that a kernel
// computes and writes outside of its output can be told from the poison.
inline constexpr uint32_t poison_word = 0x7fa0dead;
// Other poison, about 1.7e38 and its negative, because max() and min() prefer a number to a NaN.
inline constexpr std::array<uint32_t, 2> other_poison{0x7f000000, 0xff000000};

struct ProgramOptions {
    bool keep_all = false; // every activation keeps its own memory, so that all can be read afterwards
    // What activations and scratch are filled with before every run, to expose reads of unwritten memory; none: they
    // keep what the last run left.
    std::optional<uint32_t> poison{};
    // Poisons memory (with poison_word unless `poison` is set), and lets no two tensors share memory. Every activation,
    // scratch block and state has guard_bytes on both sides, and Program::overrun() tells whether a kernel wrote there.
    bool guard = false;
    // Plans see a device whose grids are so short along x that they fold over y, if a plan can do that.
    bool folded = false;
    // Plans see a device whose bindings are so small that weights are bound in parts, if a plan can do that.
    bool in_parts = false;
    // The variant that computes each step. For "", and beyond the end of the list, the first that fits, proved or not.
    // Error(input) if a named one does not fit.
    std::vector<std::string> variants{};
    // How references run on the CPU.
    struct References {
        std::vector<int64_t> rows{}; // what they compute of outputs that are by_rows(); empty: all
        size_t threads = 1;          // that compute rows, and widen weights; the bits are the same
        // Whether a step's weights are widened whenever it runs, and given back when it ends. Otherwise they are kept
        // for later runs.
        bool give_back = false;
    } references{};
    // On the CPU, called on the thread of run() before each step, and of a long reference before each piece of its
    // work. May throw to stop the run; states are then worth nothing.
    std::function<void()> working{};
    // Called after every run with its times. A program that is timed may run more slowly.
    std::function<void(const Program &, const RunTimes &)> timed{};

    [[nodiscard]] std::optional<uint32_t> poisoned_with() const {
        return guard ? poison.value_or(poison_word) : poison;
    }
};

// Makes ProgramOptions::variants from variants by layer id; "" for steps of other layers.
[[nodiscard]] std::vector<std::string>
variants_by_layer(const GraphPlan &plan, const std::map<std::string, std::string, std::less<>> &variants);

// A device, or several, with the weights of one model. Programs of a backend share weights and states by name.
class Backend {
  public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual std::unique_ptr<Program> compile(GraphPlan plan, const ProgramOptions &options) = 0;
    // What a program of this plan would take beside what others hold, on each device that it would run on.
    [[nodiscard]] virtual std::vector<MemoryNeed> need(const GraphPlan &plan) = 0;
    // More weights, with names of their own, for programs that use them beside those that are there. Throws
    // Error(usage) if this backend cannot share its weights.
    virtual void add(const model::Weights &more);
    // What has names that begin so is not needed any more: weights that were added, and states, which stay as long as a
    // program holds them. Such a program must not run again.
    virtual void remove(const std::string &beginning);
};

} // namespace lamina::plan
