#include "plan/planner.hpp"

#include <utility>

namespace lamina::plan {
namespace {

// Everything that a plan depends on.
std::string key_of(const abi::LayerCall &call, uint32_t variant) {
    std::string key = std::string(call.layer().id()) + " " + std::to_string(variant);
    for (const abi::PortList list : abi::port_lists) {
        for (const TensorType &type : call.types(list))
            key += std::string(" ") + name_of(type.dtype) + to_string(type.shape);
        for (const uint32_t port : call.bound(list)) key += " " + std::to_string(port);
        key += ";";
    }
    for (const double p : call.params()) key.append(reinterpret_cast<const char *>(&p), sizeof p);
    return key;
}

} // namespace

Planner::Planner(std::shared_ptr<const abi::Registry> plugins, const lamina_device &device, size_t most_bindings)
    : plugins_(std::move(plugins)), device_(device), most_bindings_(most_bindings) {}

// A test may run a layer that no plugin provides, and that does not live as long as this.
bool Planner::knows(const abi::Layer &layer) const {
    if (plugins_ == nullptr) return false;
    const auto known = plugins_->layers().find(layer.id());
    return known != plugins_->layers().end() && &known->second == &layer;
}

std::shared_ptr<const Kernels> Planner::kernels_of(const abi::Layer &layer) {
    if (!knows(layer)) return std::make_shared<const Kernels>(layer);
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Kernels> &kernels = kernels_[&layer];
    if (kernels == nullptr) kernels = std::make_shared<const Kernels>(layer);
    return kernels;
}

Planner::Planned Planner::made(const abi::LayerCall &call, uint32_t variant) {
    Planned out;
    auto plan = plan_layer(call, *kernels_of(call.layer()), variant, device_, out.refusal);
    if (!plan) {
        if (out.refusal.why.empty()) out.refusal.why = "the plugin gave no reason";
        return out;
    }
    for (const Dispatch &dispatch : plan->dispatches)
        if (dispatch.bindings.size() > most_bindings_) {
            out.refusal = {"a kernel binds " + std::to_string(dispatch.bindings.size()) +
                               " buffers; the device takes at most " + std::to_string(most_bindings_),
                           true};
            return out;
        }
    out.plan = std::make_shared<const LayerPlan>(std::move(*plan));
    return out;
}

std::shared_ptr<const LayerPlan> Planner::plan(const abi::LayerCall &call, uint32_t variant, Refusal &refusal) {
    Planned found;
    if (!knows(call.layer())) {
        found = made(call, variant);
    } else {
        const std::string key = key_of(call, variant);
        std::unique_lock lock(mutex_);
        const auto known = plans_.find(key);
        if (known == plans_.end()) {
            lock.unlock(); // an error depends on where the call is, and is not kept
            found = made(call, variant);
            lock.lock();
            if (plans_.size() >= most_plans) plans_.clear();
            plans_.emplace(key, found);
        } else {
            found = known->second;
        }
    }
    refusal = std::move(found.refusal);
    return std::move(found.plan);
}

} // namespace lamina::plan
