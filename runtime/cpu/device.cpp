#include "cpu/device.hpp"

#include "base/processor.hpp"
#include "cpu/backend.hpp"

#include <functional>
#include <sstream>
#include <utility>

namespace lamina::cpu {
namespace {

class CpuDevice final : public plan::Device {
  public:
    CpuDevice(std::shared_ptr<const abi::Registry> plugins, const abi::Executor *executor)
        : plugins_(std::move(plugins)), executor_(executor) {}

    [[nodiscard]] const std::shared_ptr<const abi::Registry> &plugins() const override { return plugins_; }
    [[nodiscard]] std::string id() const override { return executor_ == nullptr ? "reference" : "cpu"; }
    [[nodiscard]] std::string name() const override { return "the CPU"; }
    // The bytes of the executor, and the processor, for which it chooses its instructions.
    [[nodiscard]] std::string cache_key() const override {
        std::ostringstream out;
        out << "cpu-" << std::hex << (executor_ == nullptr ? 0 : executor_->hash) << '-'
            << std::hash<std::string>()(processor_name());
        return out.str();
    }
    [[nodiscard]] std::unique_ptr<plan::Backend> backend(model::Weights weights) override {
        return make_backend(plugins_, std::move(weights), executor_);
    }
    [[nodiscard]] std::vector<plan::Variant> variants(const abi::Layer &layer) const override {
        std::vector<plan::Variant> out;
        if (executor_ != nullptr)
            for (const abi::CpuVariant &v : executor_->variants(*layer.contract))
                out.push_back({v.name, v.arithmetic, false});
        return out;
    }
    [[nodiscard]] plan::Refusal why_not(const abi::LayerCall &call, const std::string &variant) override {
        return {cpu::why_not(call, variant, executor_)};
    }
    [[nodiscard]] Limits limits() const override { return {2e6, 0x1p22}; } // a session starts within milliseconds
    [[nodiscard]] std::string fallback() const override { return "reference"; }

  private:
    std::shared_ptr<const abi::Registry> plugins_;
    const abi::Executor *executor_;
};

} // namespace

std::shared_ptr<plan::Device> make_device(std::shared_ptr<const abi::Registry> plugins, const abi::Executor *executor) {
    return std::make_shared<CpuDevice>(std::move(plugins), executor);
}

} // namespace lamina::cpu
