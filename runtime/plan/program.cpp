#include "plan/program.hpp"

#include <algorithm>
#include <cstring>

namespace lamina::plan {

void Program::check_values(int32_t tensor, std::span<const std::byte> bytes) const {
    for (const Step &step : plan_.steps) {
        for (uint32_t port = 0; port < step.in.size(); ++port) {
            if (step.in[port] != tensor) continue;
            const auto range = step.call.values(port);
            if (!range) continue;
            for (size_t i = 0; i * sizeof(int32_t) < bytes.size(); ++i) {
                int32_t value = 0;
                std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
                if (value >= range->first && value < range->second) continue;
                const auto &name = plan_.tensors[static_cast<size_t>(tensor)].name;
                throw Error(ErrorCode::input, "input '" + name + "', element " + std::to_string(i) +
                                                  ": expected a value from " + std::to_string(range->first) + " to " +
                                                  std::to_string(range->second - 1) + " (" +
                                                  step.call.layer().contract->inputs[port].name + " of layer '" +
                                                  step.name + "'), found " + std::to_string(value));
            }
        }
    }
}

std::vector<std::string> variants_by_layer(const GraphPlan &plan,
                                           const std::map<std::string, std::string, std::less<>> &variants) {
    std::vector<std::string> out;
    for (const Step &step : plan.steps) {
        const auto named = variants.find(step.call.layer().id());
        out.push_back(named == variants.end() ? "" : named->second);
    }
    return out;
}

void expect_rows(const PlannedTensor &state, std::span<const int32_t> rows) {
    const int64_t batch = state.type.shape.front();
    const auto outside = [&](int32_t r) { return r < 0 || r >= batch; };
    if (static_cast<int64_t>(rows.size()) == batch && std::none_of(rows.begin(), rows.end(), outside)) return;
    throw Error(ErrorCode::input, "state '" + state.name + "': expected " + std::to_string(batch) +
                                      " rows, each from 0 to " + std::to_string(batch - 1) + ", found " +
                                      std::to_string(rows.size()) + " or one out of range");
}

} // namespace lamina::plan
