#include "interpreter/program.hpp"

#include "interpreter/device.hpp"

#include <algorithm>
#include <cstring>

namespace lamina::interpreter {
namespace {

using Kind = plan::PlannedTensor::Kind;

// Memory for so many bytes, padded as on other devices. Only what is `given` is written.
Memory made(uint64_t bytes, bool given) {
    Memory memory;
    memory.words.resize((bytes + 15) / 16 * 4);
    memory.is_written.resize(memory.words.size());
    if (given) std::fill_n(memory.is_written.begin(), (bytes + 3) / 4, uint8_t{1});
    return memory;
}

std::shared_ptr<Memory> made_of(std::span<const std::byte> bytes) {
    auto memory = std::make_shared<Memory>(made(bytes.size(), true));
    memory->is_written.clear(); // the padding of weights holds zeros
    std::ranges::copy(bytes, reinterpret_cast<std::byte *>(memory->words.data()));
    return memory;
}

std::byte *bytes_of(Memory &memory) { return reinterpret_cast<std::byte *>(memory.words.data()); }

const std::vector<int32_t> &ports_of(const plan::Step &step, uint32_t role) {
    return role == LAMINA_IN       ? step.in
           : role == LAMINA_WEIGHT ? step.weight
           : role == LAMINA_OUT    ? step.out
                                   : step.state;
}

} // namespace

InterpretedProgram::InterpretedProgram(plan::GraphPlan graph, const plan::ProgramOptions &options,
                                       std::shared_ptr<Shared> shared)
    : Program(std::move(graph), options), shared_(std::move(shared)), poison_(options.poisoned_with()),
      steps_(plan::choose_variants(plan_, *shared_->planner, options)) {
    zeros_.words.resize(4);
    place_tensors();
    place_parts_of_plans();
    for (size_t s = 0; s < steps_.size(); ++s)
        for (const plan::Dispatch &d : steps_[s].plan->preparation.dispatches) run(s, d);
}

void InterpretedProgram::place_tensors() {
    std::vector<plan::MemoryRequest> states;
    for (const plan::PlannedTensor &t : plan_.tensors)
        if (t.kind == Kind::state) states.push_back({t.name, plan_.whole(t).bytes()});
    const MemoryList kept = shared_->states.get(states, [](const std::vector<plan::MemoryRequest> &missing) {
        std::vector<Memory> out;
        for (const plan::MemoryRequest &r : missing) out.push_back(made(r.bytes, true));
        return out;
    });
    size_t next_state = 0;
    for (const plan::PlannedTensor &t : plan_.tensors) {
        if (t.kind == Kind::state) {
            tensors_.push_back(kept[next_state++]);
        } else if (t.kind == Kind::weight) {
            std::shared_ptr<Memory> &weight = shared_->weights[t.name];
            if (weight == nullptr) weight = made_of(shared_->file.at(t.name).bytes());
            tensors_.push_back(weight);
        } else {
            tensors_.push_back(std::make_shared<Memory>(made(t.type.bytes(), t.kind == Kind::input)));
        }
    }
}

void InterpretedProgram::place_parts_of_plans() {
    const auto blocks = [](const std::vector<uint64_t> &sizes) {
        MemoryList out;
        for (const uint64_t bytes : sizes) out.push_back(std::make_shared<Memory>(made(bytes, false)));
        return out;
    };
    for (const plan::ChosenVariant &step : steps_) {
        StepMemory memory{blocks(step.plan->scratch), {}, blocks(step.plan->preparation.memory)};
        for (const auto &constant : step.plan->constants) memory.constants.push_back(made_of(constant));
        parts_.push_back(std::move(memory));
    }
}

std::string InterpretedProgram::variant(size_t step) const {
    return plan_.steps.at(step).call.layer().contract->variants[steps_.at(step).variant].name;
}

void InterpretedProgram::set(int32_t tensor, std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, bytes_of(*tensors_[static_cast<size_t>(tensor)]));
}

void InterpretedProgram::get(int32_t tensor, uint64_t offset, std::span<std::byte> bytes) {
    std::copy_n(bytes_of(*tensors_[static_cast<size_t>(tensor)]) + offset, bytes.size(), bytes.data());
}

// What activations and scratch held before counts as not written, even where it is still there.
void InterpretedProgram::execute() {
    const auto forget = [&](Memory &memory) {
        std::ranges::fill(memory.is_written, uint8_t{0});
        if (poison_) std::ranges::fill(memory.words, *poison_);
    };
    for (size_t t = 0; t < tensors_.size(); ++t)
        if (plan_.tensors[t].kind == Kind::activation) forget(*tensors_[t]);
    for (const StepMemory &step : parts_)
        for (const auto &block : step.scratch) forget(*block);
    for (size_t s = 0; s < steps_.size(); ++s)
        for (const plan::Dispatch &d : steps_[s].plan->dispatches) run(s, d);
}

void InterpretedProgram::run(size_t step, const plan::Dispatch &d) {
    try {
        Dispatch dispatch{module_of(step, d), d.groups, {}, {}, shared_->subgroup};
        for (const plan::Binding &b : d.bindings) dispatch.bindings.push_back(bound(step, b));
        std::vector<uint32_t> push(d.push.size() / sizeof(uint32_t));
        std::memcpy(push.data(), d.push.data(), push.size() * sizeof(uint32_t));
        dispatch.push = push;
        if (shared_->rounds != nullptr)
            dispatch.most_run = &(*shared_->rounds)[plan_.steps[step].call.layer().contract->kernels[d.kernel].name];
        Workgroup(dispatch, shared_->epoch).run_all();
    } catch (const Fault &f) {
        throw Error(ErrorCode::plugin, where(step, d) + ": " + f.what());
    } catch (const Unknown &u) {
        throw Error(ErrorCode::plugin, where(step, d) + " cannot be interpreted: it has " + u.what());
    }
}

std::string InterpretedProgram::where(size_t step, const plan::Dispatch &d) const {
    const abi::LayerCall &call = plan_.steps[step].call;
    return call.where() + ", kernel '" + call.layer().contract->kernels[d.kernel].name + "'";
}

const Module &InterpretedProgram::module_of(size_t step, const plan::Dispatch &d) {
    const abi::Layer &layer = plan_.steps[step].call.layer();
    const lamina_kernel &kernel = layer.contract->kernels[d.kernel];
    std::string key = std::string(layer.id()) + " " + kernel.name;
    for (const lamina_spec &s : d.specs) key += " " + std::to_string(s.id) + "=" + std::to_string(s.bits);
    const auto known = modules_.find(key);
    if (known != modules_.end()) return known->second;
    return modules_.try_emplace(key, std::span(kernel.spirv, kernel.words), d.specs, shared_->subgroup).first->second;
}

Bound InterpretedProgram::bound(size_t step, const plan::Binding &b) {
    if (b.bytes == 0) return {&zeros_, 0, static_cast<uint32_t>(zeros_.words.size()), false};
    const StepMemory &parts = parts_[step];
    const auto &memory = b.role == LAMINA_SCRATCH    ? parts.scratch[b.index]
                         : b.role == LAMINA_CONSTANT ? parts.constants[b.index]
                         : b.role == LAMINA_PREPARED
                             ? parts.prepared[b.index]
                             : tensors_[static_cast<size_t>(ports_of(plan_.steps[step], b.role)[b.index])];
    return {memory.get(), static_cast<uint32_t>(b.offset / 4), static_cast<uint32_t>((b.bytes + 3) / 4), b.writes};
}

void InterpretedProgram::copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) {
    auto &other = dynamic_cast<InterpretedProgram &>(from);
    for (const plan::StateCopy &copy : copies)
        for (uint64_t block = 0; block < copy.blocks; ++block)
            std::memcpy(bytes_of(*tensors_[static_cast<size_t>(copy.to.tensor)]) + copy.to.offset +
                            block * copy.to.stride,
                        bytes_of(*other.tensors_[static_cast<size_t>(copy.from.tensor)]) + copy.from.offset +
                            block * copy.from.stride,
                        copy.bytes);
}

} // namespace lamina::interpreter
