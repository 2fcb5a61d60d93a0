#include "cpu/backend.hpp"

#include "base/available_memory.hpp"
#include "cpu/memory.hpp"
#include "cpu/rows.hpp"
#include "cpu/weights.hpp"
#include "plan/lifetimes.hpp"
#include "plan/state_cache.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>

namespace lamina::cpu {
namespace {

using Kind = plan::PlannedTensor::Kind;

// Why a variant is not used for a call: one that is less exact than F32 needs a weight that it is for. Empty if it is.
std::string misfit(const abi::LayerCall &call, const abi::CpuVariant &variant) {
    if (variant.arithmetic == LAMINA_F32) return {};
    const bool any = std::ranges::any_of(call.types(abi::PortList::weight), [&](const TensorType &type) {
        return !type.shape.empty() && (static_cast<uint32_t>(type.dtype) & variant.kernel->stored_dtypes) != 0;
    });
    return any ? "" : "no weight has a dtype that it is for";
}

// What computes a step: the executor's kernel of this name, or without one, its most exact; or the reference, which has
// no kernel, if that is wanted or there is no other.
abi::CpuVariant variant_of(const plan::Step &step, const std::string &wanted, const abi::Executor *executor) {
    const abi::CpuVariant reference{"reference", LAMINA_F32, nullptr};
    if (wanted == reference.name || executor == nullptr) return reference;
    const std::vector<abi::CpuVariant> variants = executor->variants(*step.call.layer().contract);
    if (wanted.empty() && !variants.empty()) return variants.front();
    const auto found = std::ranges::find(variants, wanted, &abi::CpuVariant::name);
    if (found != variants.end()) {
        if (const std::string why = misfit(step.call, *found); !why.empty())
            throw Error(ErrorCode::input,
                        step.call.where() + ": variant '" + wanted + "' was requested, but it does not fit: " + why);
        return *found;
    }
    if (wanted.empty() || wanted == executor->descriptor->id) return reference;
    std::string names = "'reference'";
    for (const abi::CpuVariant &v : variants) names += ", '" + v.name + "'";
    throw Error(ErrorCode::input,
                step.call.where() + ": no variant '" + wanted + "' on the CPU: expected one of " + names);
}

// The variant that is asked for; "": none.
std::string wanted(const plan::ProgramOptions &options, size_t step) {
    return step < options.variants.size() ? options.variants[step] : "";
}

class CpuBackend;

class CpuProgram final : public plan::Program {
  public:
    CpuProgram(plan::GraphPlan plan, const plan::ProgramOptions &options, CpuBackend &backend);

    [[nodiscard]] std::string overrun() override {
        for (const Guard &guard : guards_)
            if (!std::all_of(guard.words.begin(), guard.words.end(),
                             [&](float v) { return std::bit_cast<uint32_t>(v) == guard.word; }))
                return guard.name;
        return {};
    }

    [[nodiscard]] std::string variant(size_t step) const override {
        return refused_[step] ? "reference" : variants_[step].name;
    }

  private:
    void set(int32_t tensor, std::span<const std::byte> bytes) override {
        std::memcpy(at(tensor), bytes.data(), bytes.size());
    }
    void execute() override {
        run_steps([](size_t) {});
    }
    void execute_timed(plan::RunTimes &times) override;
    template <class After> void run_steps(const After &after);
    void get(int32_t tensor, uint64_t offset, std::span<std::byte> bytes) override {
        std::memcpy(bytes.data(), static_cast<const std::byte *>(at(tensor)) + offset, bytes.size());
    }
    void copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) override;

    void take_states(CpuBackend &backend);
    void place(const plan::MemoryLayout &layout);
    // Memory for `bytes`, between guards that are filled with `word` if there are guards.
    float *inside(const std::string &name, std::span<float> block, size_t bytes, uint32_t word);

    void *at(int32_t tensor) { return memory_[static_cast<size_t>(tensor)]; }
    std::vector<void *> pointers(const std::vector<int32_t> &tensors) {
        std::vector<void *> out;
        for (const int32_t t : tensors) out.push_back(t == plan::none ? nullptr : at(t));
        return out;
    }

    // The dtypes that the kernel of a step reads without widening.
    [[nodiscard]] uint32_t stored_dtypes(size_t step) const {
        return kernel(step) != nullptr ? kernel(step)->stored_dtypes : 0;
    }
    // What a step is called with; weights of these dtypes as they are stored.
    [[nodiscard]] abi::LayerCall::Data data_of(size_t step, uint32_t stored_dtypes) {
        const plan::Step &s = plan_.steps[step];
        return {pointers(s.in), weights_of(step, stored_dtypes), pointers(s.out), pointers(s.state)};
    }
    // Weights are only read, whatever the ABI's pointers say.
    [[nodiscard]] std::vector<void *> weights_of(size_t step, uint32_t stored_dtypes) const;
    [[nodiscard]] const lamina_cpu_kernel *kernel(size_t step) const { return variants_[step].kernel; }
    bool run_kernel(size_t step); // false: it does not handle the step
    void run_reference(size_t step);

    struct Guard { // on both sides of a tensor; no kernel may write here
        std::string name;
        std::span<const float> words;
        uint32_t word; // their contents
    };

    size_t guard_; // words on either side
    std::optional<uint32_t> poison_;
    plan::ProgramOptions::References how_; // references run
    std::function<void()> working_;
    std::vector<abi::CpuVariant> variants_; // one per step
    std::vector<bool> refused_;             // by step: whether the last run's values were not for its kernel
    std::vector<Memory> activations_;       // the arena, and blocks of their own
    std::vector<Guard> guards_;
    std::vector<Memory> inputs_;
    std::vector<std::shared_ptr<Memory>> states_;
    std::shared_ptr<Weights> weights_;
    std::vector<void *> memory_; // one per tensor; null for weights
    // One per step; none for references whose weights are there only while they run.
    std::vector<std::optional<abi::BoundCall>> calls_;
};

class CpuBackend final : public plan::Backend {
  public:
    CpuBackend(std::shared_ptr<const abi::Registry> plugins, model::Weights weights, const abi::Executor *executor,
               WidenedBytes *widened)
        : plugins_(std::move(plugins)), weights_(std::make_shared<Weights>(std::move(weights), widened)),
          executor_(executor) {}

    [[nodiscard]] std::unique_ptr<plan::Program> compile(plan::GraphPlan plan,
                                                         const plan::ProgramOptions &options) override {
        const char *const advice = "Use smaller batches or shorter inputs.";
        const std::string what = "graph '" + plan.graph + "'";
        // The system would grant more than there is, and end the process when it is used.
        const plan::MemoryNeed needed = need(plan, options);
        plan::expect_room(needed, what, "cpu", advice);
        if (!roomy_) roomy_ = true, weights_->give_room(room_beside(needed));
        try {
            return std::make_unique<CpuProgram>(std::move(plan), options, *this);
        } catch (const std::bad_alloc &) { // of what this process may have
        }
        throw Error(ErrorCode::memory, what + " does not fit into the memory that this process may have. " + advice);
    }

    [[nodiscard]] std::vector<plan::MemoryNeed> need(const plan::GraphPlan &plan) override { return {need(plan, {})}; }

    void add(const model::Weights &more) override { weights_->add(more); }
    void remove(const std::string &beginning) override { weights_->remove(beginning), states_.remove(beginning); }
    [[nodiscard]] const std::shared_ptr<Weights> &weights() const { return weights_; }

    [[nodiscard]] std::vector<std::shared_ptr<Memory>> states(std::span<const plan::MemoryRequest> requests) {
        return states_.get(requests, [](const std::vector<plan::MemoryRequest> &missing) {
            std::vector<Memory> made;
            for (const plan::MemoryRequest &r : missing) made.emplace_back(r.bytes);
            return made;
        });
    }

    [[nodiscard]] const abi::Executor *executor() const { return executor_; }

  private:
    // Weights that are read where they are mapped take no memory that the system could not have back.
    [[nodiscard]] plan::MemoryNeed need(const plan::GraphPlan &plan, const plan::ProgramOptions &options) const {
        plan::MemoryNeed out = plan::need_of(plan, options);
        std::map<std::string, uint64_t> kept, lent; // lent: to the step that takes most
        uint64_t most_lent = 0;
        for (size_t s = 0; s < plan.steps.size(); ++s) {
            const lamina_cpu_kernel *kernel = variant_of(plan.steps[s], wanted(options, s), executor_).kernel;
            std::map<std::string, uint64_t> widened;
            uint64_t sum = 0;
            for (const int32_t t : plan.steps[s].weight)
                if (t != plan::none) {
                    const plan::PlannedTensor &weight = plan.tensors[static_cast<size_t>(t)];
                    const bool stored =
                        kernel != nullptr && (static_cast<uint32_t>(weight.type.dtype) & kernel->stored_dtypes) != 0;
                    const uint64_t bytes = stored ? 0 : weights_->bytes_to_widen(weight.name);
                    if (bytes != 0 && widened.emplace(weight.name, bytes).second) sum += bytes;
                    if (const uint64_t copied = weights_->bytes_to_copy(weight.name))
                        kept.emplace(weight.name + ", its tensors together", copied);
                }
            if (kernel != nullptr || !options.references.give_back)
                kept.merge(widened);
            else if (sum > most_lent)
                most_lent = sum, lent = std::move(widened);
        }
        kept.merge(lent);
        out.mapped = plan::total_bytes(out.weights);
        out.weights.clear();
        for (const auto &[name, bytes] : kept) out.weights.push_back({name, bytes});
        std::erase_if(out.states,
                      [&](const plan::MemoryRequest &state) { return states_.has(state.name, state.bytes); });
        out.free = available_memory(out.bytes());
        return out;
    }

    // What kernels may take for weights in an order of their own: half of what the first graph leaves, since others
    // follow.
    static uint64_t room_beside(const plan::MemoryNeed &needed) {
        const uint64_t free = needed.free.value_or(0);
        return (free - std::min(free, needed.bytes())) / 2;
    }

    bool roomy_ = false;                           // whether kernels have been given room
    std::shared_ptr<const abi::Registry> plugins_; // keeps the layers' contracts alive
    std::shared_ptr<Weights> weights_;
    const abi::Executor *executor_;
    plan::StateCache<Memory> states_;
};

CpuProgram::CpuProgram(plan::GraphPlan graph, const plan::ProgramOptions &options, CpuBackend &backend)
    : Program(std::move(graph), options), guard_(options.guard ? plan::guard_bytes / sizeof(float) : 0),
      poison_(options.poisoned_with()), how_(options.references), working_(options.working),
      weights_(backend.weights()), memory_(plan_.tensors.size()) {
    for (size_t s = 0; s < plan_.steps.size(); ++s)
        variants_.push_back(variant_of(plan_.steps[s], wanted(options, s), backend.executor()));
    refused_.resize(variants_.size());
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
        const plan::PlannedTensor &tensor = plan_.tensors[t];
        if (tensor.kind == Kind::input) memory_[t] = inputs_.emplace_back(tensor.type.bytes()).data();
    }
    take_states(backend);
    place(plan::lay_out_memory(plan_, {}, options, 64)); // references and CPU kernels have no scratch
    calls_.reserve(plan_.steps.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s)
        if (kernel(s) == nullptr && how_.give_back)
            calls_.emplace_back();
        else
            calls_.emplace_back(std::in_place, plan_.steps[s].call, data_of(s, stored_dtypes(s)), stored_dtypes(s));
}

std::vector<void *> CpuProgram::weights_of(size_t step, uint32_t stored_dtypes) const {
    std::vector<void *> out;
    for (const int32_t t : plan_.steps[step].weight) {
        if (t == plan::none) {
            out.push_back(nullptr);
            continue;
        }
        const plan::PlannedTensor &weight = plan_.tensors[static_cast<size_t>(t)];
        const bool stored = (static_cast<uint32_t>(weight.type.dtype) & stored_dtypes) != 0;
        out.push_back(const_cast<void *>(stored ? weights_->stored(weight.name) : weights_->words(weight.name)));
    }
    return out;
}

void CpuProgram::take_states(CpuBackend &backend) {
    std::vector<plan::MemoryRequest> requests;
    for (const plan::PlannedTensor &t : plan_.tensors)
        if (t.kind == Kind::state)
            requests.push_back({t.name, plan::padded(plan_.whole(t).bytes()) + 2 * guard_ * sizeof(float)});
    const auto states = backend.states(requests);
    for (size_t t = 0, next = 0; t < plan_.tensors.size(); ++t) {
        const plan::PlannedTensor &tensor = plan_.tensors[t];
        if (tensor.kind != Kind::state) continue;
        states_.push_back(states[next++]);
        memory_[t] = inside("'" + tensor.name + "'", *states_.back(), plan_.whole(tensor).bytes(), 0);
    }
}

void CpuProgram::place(const plan::MemoryLayout &layout) {
    activations_.emplace_back(layout.arena);
    for (const plan::Block &block : layout.blocks)
        if (!block.at) activations_.emplace_back(block.bytes);
    size_t own = 1;
    for (const plan::Block &block : layout.blocks) {
        const std::span<float> whole =
            block.at ? std::span(activations_[0]).subspan(*block.at / sizeof(float), block.bytes / sizeof(float))
                     : std::span(activations_[own++]);
        memory_[static_cast<size_t>(block.tensor)] =
            inside(block.name, whole, tensor(block.tensor).type.bytes(), poison_.value_or(plan::poison_word));
    }
}

float *CpuProgram::inside(const std::string &name, std::span<float> block, size_t bytes, uint32_t word) {
    const size_t end = guard_ + bytes / sizeof(float);
    if (guard_ != 0) {
        guards_.push_back({name, block.first(guard_), word});
        guards_.push_back({name, block.subspan(end), word});
    }
    return block.data() + guard_;
}

// Calls after(step) when a step is done.
template <class After> void CpuProgram::run_steps(const After &after) {
    if (poison_)
        for (Memory &memory : activations_) std::fill(memory.begin(), memory.end(), std::bit_cast<float>(*poison_));
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
        if (working_) working_();
        refused_[s] = kernel(s) != nullptr && !run_kernel(s);
        if (kernel(s) == nullptr || refused_[s]) run_reference(s);
        after(s);
    }
    weights_->expect_whole();
}

bool CpuProgram::run_kernel(size_t step) {
    return calls_[step]->run(*kernel(step), [this, step](uint32_t weight, uint64_t bytes,
                                                         const abi::BoundCall::Fill &fill) {
        const int32_t t = plan_.steps[step].weight.at(weight);
        return t == plan::none ? nullptr : weights_->arranged(plan_.tensors[static_cast<size_t>(t)].name, bytes, fill);
    });
}

void CpuProgram::run_reference(size_t step) {
    if (kernel(step) == nullptr && calls_[step] && how_.threads < 2) return calls_[step]->reference(how_.rows);
    const plan::Step &s = plan_.steps[step];
    if (!how_.give_back) return reference_on_threads(s.call, data_of(step, 0), how_.rows, how_.threads, working_);
    std::vector<std::string> names;
    for (const int32_t t : s.weight)
        if (t != plan::none) names.push_back(plan_.tensors[static_cast<size_t>(t)].name);
    const Weights::Lent lent(*weights_, names, how_.threads);
    abi::LayerCall::Data data{pointers(s.in), {}, pointers(s.out), pointers(s.state)};
    for (size_t next = 0; const int32_t t : s.weight)
        data.weight.push_back(t == plan::none ? nullptr : const_cast<void *>(lent.words(next++)));
    reference_on_threads(s.call, data, how_.rows, how_.threads, working_);
}

void CpuProgram::execute_timed(plan::RunTimes &times) {
    double begin = 0;
    run_steps([&](size_t step) {
        const double end = std::chrono::duration<double>(std::chrono::steady_clock::now() - times.began).count();
        times.dispatches.push_back({step, {}, begin, end - begin});
        begin = end;
    });
}

void CpuProgram::copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) {
    auto &other = dynamic_cast<CpuProgram &>(from);
    for (const plan::StateCopy &copy : copies)
        for (uint64_t block = 0; block < copy.blocks; ++block)
            std::memcpy(static_cast<std::byte *>(at(copy.to.tensor)) + copy.to.offset + block * copy.to.stride,
                        static_cast<const std::byte *>(other.at(copy.from.tensor)) + copy.from.offset +
                            block * copy.from.stride,
                        copy.bytes);
}

} // namespace

std::string why_not(const abi::LayerCall &call, const std::string &variant, const abi::Executor *executor) {
    if (executor == nullptr) return {};
    for (const abi::CpuVariant &v : executor->variants(*call.layer().contract))
        if (v.name == variant) return misfit(call, v);
    return {};
}

std::unique_ptr<plan::Backend> make_backend(std::shared_ptr<const abi::Registry> plugins, model::Weights weights,
                                            const abi::Executor *executor, WidenedBytes *widened) {
    return std::make_unique<CpuBackend>(std::move(plugins), std::move(weights), executor, widened);
}

} // namespace lamina::cpu
