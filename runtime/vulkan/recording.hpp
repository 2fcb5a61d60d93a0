// A program's dispatches as command buffers: recorded once, replayed at every run.
#pragma once

#include "vulkan/bound_dispatch.hpp"
#include "vulkan/program_memory.hpp"
#include "vulkan/timestamps.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

// A copy between the host's staging buffer and a tensor.
struct Transfer {
    uint64_t staged = 0, bytes = 0; // offset in staging
    Region tensor;
};

struct TimedDispatch {
    const plan::Dispatch *dispatch;
    size_t step;
    double begin = 0, seconds = 0; // since the first dispatch began
};

class Recording {
  public:
    struct Parts {
        const plan::GraphPlan &graph;
        std::span<const plan::ChosenVariant> steps;
        std::span<const Pipeline> pipelines; // of every dispatch, in order
        const ProgramMemory &memory;
        const Buffer &staging;
        std::span<const Transfer> inputs, outputs;
        std::optional<uint32_t> poison; // what activations and scratch are filled with before the first dispatch
        bool timed = false;             // times() tells how long each dispatch took
    };
    // `memory` and `staging` own what the commands use, and must outlive this.
    Recording(std::shared_ptr<LogicalDevice> device, const Parts &parts);

    // Runs the commands `before`, uploads these inputs (indices into Parts::inputs), runs every dispatch, downloads the
    // outputs, and waits. Throws Error(device_lost) with the steps that were running.
    void run(std::span<const size_t> inputs, std::span<const VkCommandBuffer> before);

    // Of the last run. By the device's timestamps if it has any, else by the host's clock: then every dispatch is
    // submitted by itself, and waiting for it counts.
    [[nodiscard]] std::span<const TimedDispatch> times() const { return timed_; }
    [[nodiscard]] bool has_device_clock() const { return timestamps_.has_value(); }

  private:
    // A part of the program with its own submission, so that no submission runs long enough to trigger a watchdog.
    struct Segment {
        VkCommandBuffer commands;
        Fence fence;
        std::string what; // "steps 'a' to 'b' of graph 'encode'"
    };

    [[nodiscard]] static std::vector<BoundDispatch> find_dispatches(const Parts &parts);
    void record_segment(const Parts &parts, std::span<const BoundDispatch> dispatches, bool first, bool last);
    void run_one_by_one();

    std::shared_ptr<LogicalDevice> device_;
    CommandPool pool_;
    Owned<VkDescriptorPool> descriptors_;
    std::vector<VkCommandBuffer> uploads_; // one per input
    std::vector<VkCommandBuffer> next_;    // to be submitted
    std::vector<Segment> segments_;
    std::vector<TimedDispatch> timed_;     // empty unless times are wanted
    std::optional<Timestamps> timestamps_; // if the device has them
};

} // namespace lamina::vulkan
