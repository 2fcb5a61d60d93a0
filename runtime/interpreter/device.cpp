#include "interpreter/device.hpp"

#include "base/available_memory.hpp"
#include "interpreter/cooperative_matrix.hpp"
#include "interpreter/program.hpp"

#include <algorithm>

namespace lamina::interpreter {
namespace {

lamina_device capabilities(uint32_t subgroup) {
    lamina_device device{};
    device.struct_size = sizeof device;
    device.features = LAMINA_FEATURE_FLOAT16 | LAMINA_FEATURE_SUBGROUP_BASIC | LAMINA_FEATURE_SUBGROUP_ARITHMETIC |
                      LAMINA_FEATURE_SUBGROUP_SHUFFLE | LAMINA_FEATURE_SUBGROUP_BALLOT |
                      LAMINA_FEATURE_COOPERATIVE_MATRIX;
    device.max_binding_bytes = uint64_t{1} << 30u;
    device.binding_align = 16;
    device.matrices = &matrix_shape;
    device.n_matrices = 1;
    device.matrix_size = sizeof(lamina_matrix_shape);
    device.subgroup = subgroup;
    device.max_invocations = 1024;
    std::fill_n(device.max_local, 3, 1024);
    std::fill_n(device.max_groups, 3, 65535);
    device.shared_bytes = 32 * 1024;
    return device;
}

class InterpreterBackend final : public plan::Backend {
  public:
    explicit InterpreterBackend(Shared shared) : shared_(std::make_shared<Shared>(std::move(shared))) {}

    [[nodiscard]] std::unique_ptr<plan::Program> compile(plan::GraphPlan plan,
                                                         const plan::ProgramOptions &options) override {
        return std::make_unique<InterpretedProgram>(std::move(plan), options, shared_);
    }

    [[nodiscard]] std::vector<plan::MemoryNeed> need(const plan::GraphPlan &plan) override {
        plan::MemoryNeed out = plan::need_of(plan);
        out.free = available_memory(out.bytes());
        return {std::move(out)};
    }

  private:
    std::shared_ptr<Shared> shared_;
};

class InterpreterDevice final : public plan::KernelDevice {
  public:
    InterpreterDevice(std::shared_ptr<const abi::Registry> plugins, uint32_t subgroup, Rounds *rounds)
        : KernelDevice(std::move(plugins), capabilities(subgroup)), subgroup_(subgroup), rounds_(rounds) {}

    [[nodiscard]] std::string id() const override { return "interpreter"; }
    [[nodiscard]] std::string name() const override { return "kernels without a driver"; }
    [[nodiscard]] bool strict() const override { return true; }
    [[nodiscard]] std::unique_ptr<plan::Backend> backend(model::Weights weights) override {
        return std::make_unique<InterpreterBackend>(Shared{planner(), std::move(weights), subgroup_, rounds_});
    }

  private:
    uint32_t subgroup_;
    Rounds *rounds_;
};

} // namespace

std::shared_ptr<plan::Device> make_device(std::shared_ptr<const abi::Registry> plugins, uint32_t subgroup,
                                          Rounds *rounds) {
    return std::make_shared<InterpreterDevice>(std::move(plugins), subgroup, rounds);
}

} // namespace lamina::interpreter
