#include "cpu/backend.hpp"

#include "base/storage.hpp"
#include "plan/lifetimes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>

namespace lamina::cpu {
namespace {

using Memory = std::shared_ptr<std::vector<float>>; // 32-bit words: I32 tensors live in them, too

Memory allocate(size_t bytes) { return std::make_shared<std::vector<float>>((bytes + 3) / 4); }

class CpuBackend;

class CpuProgram final : public plan::Program {
  public:
    CpuProgram(plan::GraphPlan plan, const plan::ProgramOptions &options, CpuBackend &backend);

    void write(int32_t tensor, std::span<const std::byte> bytes) override {
        expect_size(tensor, bytes.size());
        check_values(tensor, bytes);
        std::memcpy(at(tensor), bytes.data(), bytes.size());
    }

    void run() override {
        if (poison_) std::fill(arena_.begin(), arena_.end(), std::bit_cast<float>(*poison_));
        for (size_t s = 0; s < plan_.steps.size(); ++s) {
            const plan::Step &step = plan_.steps[s];
            const abi::LayerCall::Data data{pointers(step.in), pointers(step.weight), pointers(step.out),
                                            pointers(step.state)};
            if (kernels_[s] == nullptr || !step.call.run(*kernels_[s], data)) step.call.reference(data);
        }
    }

    void read(int32_t tensor, std::span<std::byte> bytes) override {
        expect_size(tensor, bytes.size());
        std::memcpy(bytes.data(), at(tensor), bytes.size());
    }

    [[nodiscard]] std::string overrun() override {
        for (const auto &[name, words] : guards_)
            if (!std::all_of(words.begin(), words.end(),
                             [&](float v) { return std::bit_cast<uint32_t>(v) == poison_; }))
                return name;
        return {};
    }

    void reorder_states(std::span<const int32_t> rows) override {
        for (size_t t = 0; t < plan_.tensors.size(); ++t) {
            const plan::PlannedTensor &tensor = plan_.tensors[t];
            if (tensor.kind != plan::PlannedTensor::Kind::state) continue;
            plan::expect_rows(tensor, rows);
            auto *state = static_cast<float *>(memory_[t]);
            const size_t size = tensor.type.bytes() / sizeof(float);
            const size_t row = size / rows.size();
            const std::vector<float> before(state, state + size);
            for (size_t b = 0; b < rows.size(); ++b)
                std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(rows[b]) * row), row,
                            state + b * row);
        }
    }

    [[nodiscard]] std::string variant(size_t step) const override {
        return kernels_[step] != nullptr ? executor_id_ : "reference";
    }

  private:
    void expect_size(int32_t tensor, size_t bytes) const {
        const plan::PlannedTensor &t = plan_.tensors[static_cast<size_t>(tensor)];
        if (t.type.bytes() != bytes)
            throw Error(ErrorCode::input, "tensor '" + t.name + "': expected " + std::to_string(t.type.bytes()) +
                                              " bytes, found " + std::to_string(bytes));
    }
    void *at(int32_t tensor) { return memory_[static_cast<size_t>(tensor)]; }
    std::vector<void *> pointers(const std::vector<int32_t> &tensors) {
        std::vector<void *> out;
        for (const int32_t t : tensors) out.push_back(t == plan::none ? nullptr : at(t));
        return out;
    }

    std::optional<uint32_t> poison_;
    std::string executor_id_;
    std::vector<const lamina_cpu_kernel *> kernels_; // one a step; null: the reference
    std::vector<float> arena_;
    std::vector<std::pair<std::string, std::span<const float>>> guards_; // parts of the arena: by tensor
    std::vector<Memory> owned_;  // what lies outside the arena: inputs; and shares of weights and states
    std::vector<void *> memory_; // one a tensor
};

class CpuBackend final : public plan::Backend {
  public:
    CpuBackend(std::shared_ptr<const abi::Registry> plugins, model::Safetensors weights, const abi::Executor *executor)
        : plugins_(std::move(plugins)), file_(std::move(weights)), executor_(executor) {}

    [[nodiscard]] std::unique_ptr<plan::Program> compile(plan::GraphPlan plan,
                                                         const plan::ProgramOptions &options) override {
        const std::string graph = plan.graph;
        try {
            return std::make_unique<CpuProgram>(std::move(plan), options, *this);
        } catch (const std::bad_alloc &) {
        } catch (const std::length_error &) { // more than a vector may ever hold
        }
        throw Error(ErrorCode::memory, "the tensors of graph '" + graph +
                                           "' do not fit the host's memory. Take smaller batches or shorter inputs.");
    }

    // F32, widened from the file once and shared by all programs.
    Memory weight(const std::string &name) {
        Memory &memory = weights_[name];
        if (memory == nullptr) {
            const model::Safetensors::Entry &entry = file_.entries().at(name);
            memory = allocate(static_cast<size_t>(element_count(entry.type.shape)) * sizeof(float));
            widen(entry.type.dtype, entry.bytes, *memory);
        }
        return memory;
    }

    // Shared by the programs that agree on its size: a prompt and the steps after it. It lives as long as one of them,
    // or until another size of it is asked for: every length of text has its own.
    Memory state(const plan::PlannedTensor &tensor) {
        Memory memory;
        if (const auto known = states_.find({tensor.name, tensor.type.bytes()}); known != states_.end())
            memory = known->second.lock();
        if (memory == nullptr) {
            last_.erase(tensor.name); // before there is need of memory for another
            std::erase_if(states_, [](const auto &state) { return state.second.expired(); });
            memory = allocate(tensor.type.bytes());
            states_[{tensor.name, tensor.type.bytes()}] = memory;
        }
        return last_[tensor.name] = memory;
    }

    [[nodiscard]] const abi::Executor *executor() const { return executor_; }

  private:
    std::shared_ptr<const abi::Registry> plugins_; // keeps the layers' contracts alive
    model::Safetensors file_;
    const abi::Executor *executor_;
    std::map<std::string, Memory> weights_;
    std::map<std::pair<std::string, size_t>, std::weak_ptr<std::vector<float>>> states_; // those that programs hold
    std::map<std::string, Memory> last_; // states of the size that was last asked for
};

// The executor's kernel for a step; null for the reference, which may be asked for by name.
const lamina_cpu_kernel *kernel_of(const plan::Step &step, const std::string &wanted, const abi::Executor *executor) {
    const std::string own = executor == nullptr ? "reference" : executor->descriptor->id;
    if (wanted == "reference" || executor == nullptr) return nullptr;
    if (wanted.empty() || wanted == own) return executor->kernel(*step.call.layer().contract);
    throw Error(ErrorCode::input, step.call.where() + ": no variant '" + wanted +
                                      "' on the CPU: there are 'reference' and '" + own + "'");
}

CpuProgram::CpuProgram(plan::GraphPlan graph, const plan::ProgramOptions &options, CpuBackend &backend)
    : Program(std::move(graph)), poison_(options.poisoned_with()) {
    const abi::Executor *executor = backend.executor();
    if (executor != nullptr) executor_id_ = executor->descriptor->id;
    for (size_t s = 0; s < plan_.steps.size(); ++s)
        kernels_.push_back(kernel_of(plan_.steps[s], s < options.variants.size() ? options.variants[s] : "", executor));
    std::vector<plan::Lifetime> lifetimes = plan::lifetimes_of(plan_, options.keep_all);
    const uint64_t guard = options.guard ? plan::guard_bytes : 0;
    for (plan::Lifetime &l : lifetimes)
        if (options.guard && l.bytes != 0) l = {l.bytes + 2 * guard, 0, plan_.steps.size()};
    const plan::ArenaLayout layout = plan::lay_out(lifetimes, 64);
    arena_.resize(layout.bytes / sizeof(float));
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
        const plan::PlannedTensor &tensor = plan_.tensors[t];
        if (tensor.kind == plan::PlannedTensor::Kind::activation) {
            float *begin = arena_.data() + (layout.offsets[t] + guard) / sizeof(float);
            float *end = begin + tensor.type.bytes() / sizeof(float);
            memory_.push_back(begin);
            if (!options.guard) continue;
            guards_.emplace_back(tensor.name, std::span(begin - guard / sizeof(float), begin));
            guards_.emplace_back(tensor.name, std::span(end, guard / sizeof(float)));
            continue;
        }
        owned_.push_back(tensor.kind == plan::PlannedTensor::Kind::weight  ? backend.weight(tensor.name)
                         : tensor.kind == plan::PlannedTensor::Kind::state ? backend.state(tensor)
                                                                           : allocate(tensor.type.bytes()));
        memory_.push_back(owned_.back()->data());
    }
}

} // namespace

std::unique_ptr<plan::Backend> make_backend(std::shared_ptr<const abi::Registry> plugins, model::Safetensors weights,
                                            const abi::Executor *executor) {
    return std::make_unique<CpuBackend>(std::move(plugins), std::move(weights), executor);
}

} // namespace lamina::cpu
