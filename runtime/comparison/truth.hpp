// What the layers of a graph should compute.
#pragma once

#include "comparison/run.hpp"
#include "conformance/choice.hpp"
#include "session/state.hpp"

#include <lamina/proof.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lamina::comparison {

struct GraphSteps;

// What one layer should have given.
struct Expected {
    std::vector<Tensor> results; // of results_of()
    size_t outputs = 0;          // that many of them; states follow
    // Whether the reference computed only `rows` of the outputs, ascending, and states only if there are such rows. The
    // rest is from the CPU's kernels.
    bool sampled = false;
    std::vector<int64_t> rows{};

    // On what a device gave as result `i`, by what the reference computed of it; none if that is nothing.
    [[nodiscard]] std::optional<Verdict> verdict_on(const Tensor &found, size_t i, const lamina_tolerance &tolerance,
                                                    const std::string &name) const;
};

// Runs a graph with the references of its layers. Where a reference would take long, the CPU's kernel computes what
// later layers take, and the reference only some rows of it: a sample over all steps, and those rows in which the
// device's result and that of the CPU's kernel differ. Where a layer chooses indices, it takes the device's choice:
// near ties may rightly come out otherwise there, and all later layers depend on them. Where the device runs a fusion,
// the layers that it stands for run here.
class Truth {
  public:
    // `session` is on the CPU. `device`: the plan that is compared, whose layers and tensors all functions mean.
    // `graph` says how many steps there will be.
    Truth(detail::SessionState &session, const plan::GraphPlan &device, const GraphSteps &graph,
          const CompareOptions &options, std::set<std::string> &unproven);

    void begin() { run_.begin(); }
    void continue_from(const Truth &before) { run_.continue_from(before.run_); }
    // `device`: the last step of the same graph there.
    void step(const TensorMap &inputs, const Run &device);

    [[nodiscard]] const Run &run() const { return run_; }
    [[nodiscard]] Tensor read(int32_t tensor) const { return run_.read(same_[static_cast<size_t>(tensor)]); }
    [[nodiscard]] std::vector<Tensor> read(const std::vector<int32_t> &tensors) const;
    // The value of a state before the last step.
    [[nodiscard]] const Tensor &before(int32_t state) const { return run_.before(same_[static_cast<size_t>(state)]); }
    // The results of a layer in the last step. `found`: the device's, given the same inputs.
    [[nodiscard]] Expected expected(size_t layer, const std::vector<Tensor> &found, const lamina_tolerance &tolerance);
    // The margins of a layer's choices, which are those of the device; none for a layer that chooses nothing.
    [[nodiscard]] std::optional<Tensor> margins(size_t layer) const;

  private:
    // A layer whose choice is given.
    struct Chosen {
        size_t layer; // of free_
        conformance::Choice ports;
        std::string input; // of the graph
    };
    void give_choices(plan::GraphPlan &plan);
    void take_samples(const GraphSteps &graph, const CompareOptions &options);
    [[nodiscard]] std::vector<std::string> variants(const plan::GraphPlan &plan, const CompareOptions &options,
                                                    std::set<std::string> &unproven);
    [[nodiscard]] std::vector<Tensor> expected_of_choice(size_t layer, const std::vector<Tensor> &found,
                                                         const lamina_tolerance &tolerance) const;
    [[nodiscard]] bool sampled(size_t layer) const { return !samples_[layer].empty(); }

    detail::SessionState &session_;
    const plan::GraphPlan device_;
    plan::GraphPlan free_;            // that of the session, in which layers choose
    std::map<size_t, Chosen> chosen_; // by layer
    // By layer of free_: the layer of the device that is or contains it.
    std::vector<size_t> layer_of_;
    std::vector<std::vector<std::vector<int64_t>>> samples_; // by layer and step: rows; empty if all are computed
    Run run_;
    std::vector<int32_t> same_; // the tensors of run_, by tensor of the device
    size_t steps_ = 0;          // done
};

} // namespace lamina::comparison
