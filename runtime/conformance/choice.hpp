// What a layer chooses, by scores that devices round in their own ways (lamina_port.follows).
#pragma once

#include "conformance/case_graph.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina::conformance {

// The ports of a choice.
struct Choice {
    uint32_t indices, margin; // outputs
    uint32_t given;           // the input that replaces it
};
// None for a layer that chooses nothing, and for a call whose choice is given.
[[nodiscard]] std::optional<Choice> choice_of(const abi::LayerCall &call);

// What is wrong with the indices that a layer computed: outside of the range that its contract declares; empty if
// nothing is. `results`: of the call's outputs, in the contract's order.
[[nodiscard]] std::string fault_of_indices(const abi::LayerCall &call, const std::vector<Tensor> &results);

// Whether some row chose an index twice.
[[nodiscard]] bool has_twins(const Tensor &indices);

// A graph of one layer, and its values, in which the layer's choice is given.
[[nodiscard]] CaseGraph with_choice(const CaseGraph &graph, const Choice &choice, const Tensor &indices);

// What the reference computes for the choice that a device made, as good as its own by the scores: its margins are no
// less than those of equal scores, within the tolerance. None if it is not, or if it is no choice at all.
// `found`: the device's results. `rows`, as for reference_of(), of which there is at least one.
[[nodiscard]] std::optional<std::vector<Tensor>>
reference_for_choice(const std::shared_ptr<const abi::Registry> &plugins, const CaseGraph &graph,
                     const std::vector<Tensor> &found, const std::vector<int64_t> &rows,
                     const lamina_tolerance &tolerance);

} // namespace lamina::conformance
