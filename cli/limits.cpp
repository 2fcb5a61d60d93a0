#include "limits.hpp"

#include "output.hpp"
#include "table.hpp"

namespace lamina::cli {

Json limits_as_json(const Limits &limits) {
    return {{"bytes_per_second", limits.bytes_per_second},
            {"operations_per_second", limits.operations_per_second},
            {"memory", limits.memory},
            {"product", limits.product}};
}

std::string limits_as_text(const Limits &limits) {
    return significant(limits.bytes_per_second * 1e-9, 3) + " GB/s (" + limits.memory + "), " +
           significant(limits.operations_per_second * 1e-9, 3) + " GFLOP/s (" + limits.product + ")";
}

DeviceLimits::DeviceLimits(const Runtime &runtime, const Device &device) {
    if (device.parts.empty()) by_device_[device.id] = measure_limits(runtime, device);
    for (const Device &part : device.parts) by_device_[part.id] = measure_limits(runtime, part);
}

Json DeviceLimits::json() const {
    if (by_device_.size() == 1) return limits_as_json(by_device_.begin()->second);
    Json out = Json::object();
    for (const auto &[id, limits] : by_device_) out[id] = limits_as_json(limits);
    return out;
}

std::string DeviceLimits::text() const {
    if (by_device_.size() == 1) return "the limit: " + limits_as_text(by_device_.begin()->second);
    std::string out;
    for (const auto &[id, limits] : by_device_)
        out += (out.empty() ? "the limits: " : "; ") + id + " " + limits_as_text(limits);
    return out;
}

} // namespace lamina::cli
