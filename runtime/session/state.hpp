// A model on a device, and what the sessions of a runtime share: plugins and open devices.
#pragma once

#include "abi/library.hpp"
#include "admission/admission.hpp"
#include "model/model.hpp"
#include "plan/program.hpp"
#include "vulkan/device.hpp"

#include <lamina/lamina.hpp>

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace lamina::detail {

struct RuntimeState {
    RuntimeOptions options;
    std::shared_ptr<const abi::Registry> plugins;

    // Vulkan is loaded when it is first asked for: a session on the CPU never touches it. Null where there is none.
    [[nodiscard]] vulkan::Instance *vulkan();
    [[nodiscard]] const std::string &no_vulkan(); // why vulkan() is null

    // A backend with the weights of a model on "cpu" or "reference".
    [[nodiscard]] std::unique_ptr<plan::Backend> cpu_backend(const Device &device, const model::Safetensors &weights);
    // A Vulkan device of Runtime::device(), opened once, and once more after each time that it was lost.
    [[nodiscard]] std::shared_ptr<vulkan::Device> open(const Device &device);
    void forget(const Device &device, const std::shared_ptr<vulkan::Device> &lost);
    // What is proved on a device; null for "reference", which everything else is held to.
    [[nodiscard]] std::shared_ptr<admission::Admission> admission(const Device &device);

  private:
    std::mutex mutex_; // of the two maps
    std::map<std::string, std::shared_ptr<vulkan::Device>> open_;
    struct Admitted {
        std::shared_ptr<vulkan::Device> device; // null: the CPU
        std::shared_ptr<admission::Admission> admission;
    };
    std::map<std::string, Admitted> admissions_;
    std::once_flag vulkan_once_;
    std::shared_ptr<vulkan::Instance> vulkan_;
    std::string no_vulkan_;
    void load_vulkan();
};

// Programs by graph and shapes, the most recently used first. Bounded: every length of input makes a program of its
// own. Where one does not fit into memory, all others make room for it.
class ProgramCache {
  public:
    using Make = std::function<std::unique_ptr<plan::Program>()>;
    plan::Program &get(const std::string &key, const Make &make);

  private:
    static constexpr size_t most = 32;
    std::list<std::pair<std::string, std::unique_ptr<plan::Program>>> programs_;
};

struct SessionState {
    std::shared_ptr<RuntimeState> runtime;
    std::shared_ptr<const model::Model> model;
    Device device;
    SessionOptions options;
    std::shared_ptr<vulkan::Device> opened; // null on the CPU
    std::unique_ptr<plan::Backend> backend;
    std::shared_ptr<admission::Admission> admission; // null for "reference"
    ProgramCache programs;

    // The program of a graph for these shapes: planned, compiled and recorded once. Throws Error.
    [[nodiscard]] plan::Program &program(const std::string &graph, plan::GraphShapes shapes);
    // As Session::run, of a graph that the model has.
    [[nodiscard]] TensorMap run(const std::string &graph, const TensorMap &inputs,
                                const std::vector<std::string> &taps = {});
    // Which variant computes each step here.
    [[nodiscard]] std::vector<std::string> variants(const plan::GraphPlan &plan);

    // Opens the device, where no session has it open, and makes the backend on it. Does nothing when that is done.
    void connect();
    // What `work` gives. A device that is lost meanwhile is opened anew, and `work` is done once more from its
    // beginning: what programs held on the device is gone, KV caches, too. A second loss is thrown.
    template <class Work> auto surviving_loss(const Work &work) {
        try {
            return work();
        } catch (const Error &e) {
            if (e.code() != ErrorCode::device_lost) throw;
            recover(e);
        }
        try {
            return work();
        } catch (const Error &e) {
            if (e.code() == ErrorCode::device_lost) let_go();
            throw;
        }
    }

  private:
    void let_go(); // of all that is on the device; program() connects again
    void recover(const Error &lost);
};

} // namespace lamina::detail
