#include "plan/program.hpp"

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

} // namespace lamina::plan
