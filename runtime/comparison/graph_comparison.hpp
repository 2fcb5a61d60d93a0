// Compares one graph on a device with the references, step by step.
#pragma once

#include "comparison/run.hpp"
#include "comparison/truth.hpp"
#include "session/state.hpp"

#include <lamina/proof.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace lamina::comparison {

// What a graph is run on: once, or for every token that is decoded.
struct GraphSteps {
    std::string graph;
    plan::GraphShapes shapes;
    std::vector<TensorMap> inputs; // of each step; inputs that are not given keep their values
    size_t first = 0;              // number of the first step, where they decode tokens
};

class GraphComparison {
  public:
    // `before`: of the same graph with other shapes, whose states this one takes over; or null. Types of layers of
    // which no variant is proved run, too, and are added to `unproven`.
    GraphComparison(detail::SessionState &truth, detail::SessionState &device, const GraphSteps &graph,
                    const CompareOptions &options, std::set<std::string> &unproven, const GraphComparison *before)
        : GraphComparison(truth, device, planned(device, graph, options), graph, options, unproven, before) {}

    // Compares one more step; false when something is wrong in it.
    bool step(const TensorMap &inputs);
    void add_to(Comparison &out) const;
    // All that another one, of the same graph, can take over.
    void keep_states() { alone_.clear(); }

  private:
    GraphComparison(detail::SessionState &truth, detail::SessionState &device, const plan::GraphPlan &plan,
                    const GraphSteps &graph, const CompareOptions &options, std::set<std::string> &unproven,
                    const GraphComparison *before);
    [[nodiscard]] static plan::GraphPlan planned(detail::SessionState &device, const GraphSteps &graph,
                                                 const CompareOptions &options);
    [[nodiscard]] const plan::GraphPlan &plan() const { return running_.plan(); }
    void repeat_whole();
    bool compare_layer(size_t s);
    void write_replay(size_t s, const Expected &expected);

    detail::SessionState &device_;
    size_t first_, repeats_;
    std::filesystem::path replay_folder_, replay_;
    std::string replay_command_;
    Truth truth_;
    Run running_;            // on the device; every tensor can be read
    Run whole_;              // on the device as sessions run it
    std::vector<Run> alone_; // each layer on the device, given what truth_ computed
    std::vector<LayerComparison> layers_;
    std::vector<std::string> changed_outputs_;
    size_t steps_ = 0; // done
};

} // namespace lamina::comparison
