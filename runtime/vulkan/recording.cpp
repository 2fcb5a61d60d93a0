#include "vulkan/recording.hpp"

#include "plan/hazards.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace lamina::vulkan {

namespace {

// Operations per submission: 50 ms on a slow GPU with 200 operations per nanosecond. Watchdogs act after seconds.
constexpr double segment_work = 50e6 * 200;

// The operations of a dispatch, estimated from the memory that it uses. Exact for a matrix product, where matrices of
// m*k, k*n and m*n elements need 2*m*k*n operations; too high for lighter work.
double work_of(const plan::Dispatch &dispatch) {
    std::vector<double> elements(3, 1.0);
    for (const plan::Binding &b : dispatch.bindings) elements.push_back(static_cast<double>(b.bytes) / 4);
    std::partial_sort(elements.begin(), elements.begin() + 3, elements.end(), std::greater<>());
    return 2 * std::sqrt(elements[0] * elements[1] * elements[2]);
}

} // namespace

Recording::Recording(std::shared_ptr<LogicalDevice> device, const Parts &parts)
    : device_(std::move(device)), pool_(device_) {
    std::vector<BoundDispatch> dispatches = find_dispatches(parts);
    if (parts.timed) {
        for (const BoundDispatch &d : dispatches) timed_.push_back({d.dispatch, d.step});
        if (Timestamps::available(*device_)) timestamps_.emplace(device_, 2 * dispatches.size());
    }
    const bool one_by_one = parts.timed && !timestamps_;
    descriptors_ = make_ready(*device_, dispatches);
    next_.reserve(parts.inputs.size() + 1);
    for (const Transfer &input : parts.inputs)
        uploads_.push_back(pool_.record([&](VkCommandBuffer commands) {
            copy(*device_, commands, parts.staging, input.staged, *input.tensor.buffer, input.tensor.offset,
                 input.bytes);
            place(*device_, commands, after_upload);
        }));
    size_t begin = 0;
    do { // at least once: a graph without steps still downloads its outputs
        size_t end = begin;
        double work = 0;
        while (end < dispatches.size() &&
               (end == begin || (!one_by_one && work + work_of(*dispatches[end].dispatch) <= segment_work)))
            work += work_of(*dispatches[end++].dispatch);
        record_segment(parts, std::span(dispatches).subspan(begin, end - begin), begin == 0, end == dispatches.size());
        begin = end;
    } while (begin < dispatches.size());
}

std::vector<BoundDispatch> Recording::find_dispatches(const Parts &parts) {
    std::vector<BoundDispatch> dispatches;
    for (size_t s = 0; s < parts.steps.size(); ++s)
        for (const plan::Dispatch &d : parts.steps[s].plan->dispatches) {
            std::vector<Region> regions;
            for (const plan::Binding &b : d.bindings) regions.push_back(parts.memory.bound(parts.graph.steps[s], s, b));
            dispatches.push_back({&d, parts.pipelines[dispatches.size()], std::move(regions), s});
        }
    return dispatches;
}

void Recording::record_segment(const Parts &parts, std::span<const BoundDispatch> dispatches, bool first, bool last) {
    const VkCommandBuffer commands = pool_.record([&](VkCommandBuffer to) {
        if (first && timestamps_) timestamps_->reset(to);
        if (first && parts.poison) {
            for (const Region &r : parts.memory.volatile_regions()) fill(*device_, to, r, *parts.poison);
            place(*device_, to, after_upload);
        }
        for (const BoundDispatch &d : dispatches) {
            if (timestamps_) timestamps_->write(to);
            vulkan::record(*device_, to, d);
            if (timestamps_) timestamps_->write(to);
        }
        if (!last) return;
        place(*device_, to, before_download);
        for (const Transfer &output : parts.outputs)
            copy(*device_, to, *output.tensor.buffer, output.tensor.offset, parts.staging, output.staged, output.bytes);
        place(*device_, to, before_host);
    });
    std::string what = "the copies";
    if (!dispatches.empty()) {
        const auto name = [&](size_t step) { return "'" + parts.graph.steps[step].name + "'"; };
        const size_t from = dispatches.front().step, to = dispatches.back().step;
        what = from == to ? "step " + name(from) : "steps " + name(from) + " to " + name(to);
    }
    segments_.push_back({commands, Fence(device_), what + " of graph '" + parts.graph.graph + "'"});
}

void Recording::run(std::span<const size_t> inputs, std::span<const VkCommandBuffer> before) {
    next_.assign(before.begin(), before.end());
    for (const size_t i : inputs) next_.push_back(uploads_[i]);
    if (!timed_.empty() && !timestamps_) return run_one_by_one();
    for (Segment &segment : segments_) {
        next_.push_back(segment.commands);
        segment.fence.reset();
        device_->submit(next_, segment.fence.handle(), segment.what);
        next_.clear();
    }
    for (const Segment &segment : segments_) segment.fence.wait(segment.what);
    if (timestamps_) {
        const std::vector<double> seconds = timestamps_->read();
        for (size_t i = 0; i < timed_.size(); ++i) {
            timed_[i].begin = seconds[2 * i] - seconds[0];
            timed_[i].seconds = seconds[2 * i + 1] - seconds[2 * i];
        }
    }
}

// Without timestamps: there is a segment for each dispatch.
void Recording::run_one_by_one() {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    const auto now = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
    for (size_t i = 0; i < segments_.size(); ++i) {
        Segment &segment = segments_[i];
        next_.push_back(segment.commands);
        segment.fence.reset();
        timed_[i].begin = now();
        device_->submit(next_, segment.fence.handle(), segment.what);
        segment.fence.wait(segment.what);
        timed_[i].seconds = now() - timed_[i].begin;
        next_.clear();
    }
}

} // namespace lamina::vulkan
