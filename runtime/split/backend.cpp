#include "split/backend.hpp"

#include "split/program.hpp"

#include <algorithm>

namespace lamina::split {

SplitBackend::SplitBackend(std::vector<plan::Backend *> devices, Layers layers, Division division,
                           std::shared_ptr<FlowTurns> turns)
    : devices_(std::move(devices)), layers_(std::move(layers)), division_(std::move(division)),
      flow_(std::make_shared<Flow>(devices_.size(), std::move(turns))),
      lost_(std::make_shared<std::optional<size_t>>()) {}

std::vector<size_t> SplitBackend::devices_of(const plan::GraphPlan &plan) const {
    return split::devices_of(plan, layers_, division_);
}

std::vector<SplitBackend::Part> SplitBackend::parts_of(const plan::GraphPlan &plan) const {
    const std::vector<size_t> devices = devices_of(plan);
    std::vector<Part> out;
    for (size_t first = 0; first < devices.size();) {
        size_t last = first + 1;
        while (last < devices.size() && devices[last] == devices[first]) ++last;
        out.push_back({devices[first], first, last, plan::section(plan, first, last)});
        first = last;
    }
    return out;
}

std::unique_ptr<plan::Program> SplitBackend::compile(plan::GraphPlan plan, const plan::ProgramOptions &options) {
    flow_->wait();
    std::vector<Part> parts = parts_of(plan);
    const auto make = [&](size_t device, plan::GraphPlan part, const plan::ProgramOptions &how) {
        try {
            return devices_[device]->compile(std::move(part), how);
        } catch (const Error &e) {
            if (e.code() == ErrorCode::device_lost) *lost_ = device;
            throw;
        }
    };
    return std::make_unique<SplitProgram>(std::move(plan), std::move(parts), options, flow_, lost_, make);
}

std::vector<plan::MemoryNeed> SplitBackend::need(const plan::GraphPlan &plan) {
    flow_->wait();
    std::vector<plan::MemoryNeed> out;
    for (const Part &part : parts_of(plan))
        for (plan::MemoryNeed &need : devices_[part.device]->need(part.section.plan)) {
            need.place = part.device;
            const auto same = std::ranges::find(out, part.device, &plan::MemoryNeed::place);
            if (same == out.end()) {
                out.push_back(std::move(need));
                continue;
            }
            same->weights.insert(same->weights.end(), need.weights.begin(), need.weights.end());
            same->states.insert(same->states.end(), need.states.begin(), need.states.end());
            same->others.insert(same->others.end(), need.others.begin(), need.others.end());
            same->mapped += need.mapped;
        }
    return out;
}

} // namespace lamina::split
