#include "plan/candidates.hpp"

#include <algorithm>

namespace lamina::plan {
namespace {

constexpr auto layer_id = "top_k", step_name = "candidates";

int32_t add(GraphPlan &plan, const char *name, TensorType type, PlannedTensor::Kind kind) {
    plan.tensors.push_back({name, std::move(type), kind, kind == PlannedTensor::Kind::activation});
    return static_cast<int32_t>(plan.tensors.size() - 1);
}

} // namespace

void append_candidates(GraphPlan &plan, const abi::Registry &plugins, const Candidates &wanted) {
    const int32_t scores = plan.outputs.at(wanted.of);
    const TensorType type = plan.tensors[static_cast<size_t>(scores)].type;
    const int64_t size = type.shape.back();
    const auto layer = plugins.layers().find(layer_id);
    if (size < shortest_choice || layer == plugins.layers().end()) return;

    abi::CallTypes types;
    types.in["x"] = type;
    if (wanted.biased) types.in["bias"] = {DType::f32, {size}};
    abi::LayerCall call(layer->second, {{"k", static_cast<double>(std::min(wanted.count, size))}}, types,
                        "graph '" + plan.graph + "': layer '" + step_name + "'");
    call.check();
    const std::vector<TensorType> outputs = call.types(abi::PortList::out);
    Step step{step_name, std::move(call), {scores, none}, {}, {}, {}};
    if (wanted.biased) {
        step.in[1] = add(plan, candidate_bias, types.in["bias"], PlannedTensor::Kind::input);
        plan.inputs[candidate_bias] = step.in[1];
    }
    plan.outputs = {{wanted.of, scores}};
    plan.tensors[static_cast<size_t>(scores)].stays = !wanted.with_scores;
    const std::array names{candidate_scores, candidate_tokens, candidate_sum};
    for (size_t i = 0; i < names.size(); ++i) {
        step.out.push_back(add(plan, names[i], outputs[i], PlannedTensor::Kind::activation));
        plan.outputs[names[i]] = step.out.back();
    }
    plan.steps.reserve(plan.steps.size() + 1); // a plan lives long: no room to spare
    plan.steps.push_back(std::move(step));
}

} // namespace lamina::plan
