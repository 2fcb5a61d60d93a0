#include "vulkan/program_memory.hpp"

#include <algorithm>

namespace lamina::vulkan {

namespace {

using Kind = plan::PlannedTensor::Kind;

std::vector<std::vector<uint64_t>> scratch_of(std::span<const plan::ChosenVariant> steps) {
    std::vector<std::vector<uint64_t>> out;
    for (const plan::ChosenVariant &step : steps) out.push_back(step.plan->scratch);
    return out;
}

const std::vector<int32_t> &tensors_of(const plan::Step &step, uint32_t role) {
    switch (role) {
    case LAMINA_IN:
        return step.in;
    case LAMINA_WEIGHT:
        return step.weight;
    case LAMINA_OUT:
        return step.out;
    default:
        return step.state;
    }
}

} // namespace

std::set<std::string> weights_of(const plan::GraphPlan &graph, std::span<const plan::ChosenVariant> steps) {
    std::set<std::string> out;
    for (size_t s = 0; s < steps.size(); ++s)
        for (const plan::Dispatch &d : steps[s].plan->dispatches)
            for (const plan::Binding &b : d.bindings)
                if (b.role == LAMINA_WEIGHT && b.bytes != 0)
                    out.insert(graph.tensors[static_cast<size_t>(graph.steps[s].weight[b.index])].name);
    return out;
}

ProgramMemory::ProgramMemory(const std::shared_ptr<LogicalDevice> &device, Residents &residents,
                             const plan::GraphPlan &graph, std::span<const plan::ChosenVariant> steps,
                             std::vector<Prepared> prepared, const plan::ProgramOptions &options)
    : tensors_(graph.tensors.size()), scratch_(steps.size()), constants_(steps.size()), prepared_(std::move(prepared)),
      zeros_(residents.zeros()), guard_(options.guard ? plan::guard_bytes : 0),
      most_bytes_(device->info().capabilities.max_binding_bytes),
      poison_(options.poisoned_with().value_or(plan::poison_word)) {
    for (size_t s = 0; s < steps.size(); ++s) {
        scratch_[s].resize(steps[s].plan->scratch.size());
        constants_[s].resize(steps[s].plan->constants.size());
    }
    take_residents(residents, graph, steps);
    allocate_all(device, graph, steps, plan::lay_out_memory(graph, scratch_of(steps), options, region_align(*device)));
}

void ProgramMemory::take_residents(Residents &residents, const plan::GraphPlan &graph,
                                   std::span<const plan::ChosenVariant> steps) {
    std::vector<MemoryRequest> states;
    for (const plan::PlannedTensor &t : graph.tensors)
        if (t.kind == Kind::state) states.push_back({t.name, padded(graph.whole(t).bytes()) + 2 * guard_});
    const std::map<std::string, Region> weights = residents.weights(weights_of(graph, steps), guard_);
    states_ = residents.states(states);
    for (size_t i = 0, next = 0; i < graph.tensors.size(); ++i) {
        const plan::PlannedTensor &t = graph.tensors[i];
        if (const auto weight = weights.find(t.name); t.kind == Kind::weight && weight != weights.end())
            tensors_[i] = weight->second;
        if (t.kind != Kind::state) continue;
        tensors_[i] = inside(*states_[next++], "'" + t.name + "'", 0);
    }
}

Region ProgramMemory::inside(const Region &whole, const std::string &name, uint32_t word) {
    if (guard_ == 0) return whole;
    guards_.push_back({name, {whole.buffer, whole.offset, guard_}, word});
    guards_.push_back({name, {whole.buffer, whole.offset + whole.bytes - guard_, guard_}, word});
    return {whole.buffer, whole.offset + guard_, whole.bytes - 2 * guard_};
}

void ProgramMemory::allocate_all(const std::shared_ptr<LogicalDevice> &device, const plan::GraphPlan &graph,
                                 std::span<const plan::ChosenVariant> steps, const plan::MemoryLayout &layout) {
    std::vector<MemoryRequest> requests;
    std::vector<Region *> targets; // of the requests
    const auto request = [&](std::string name, uint64_t bytes, Region &target) {
        requests.push_back({std::move(name), bytes});
        targets.push_back(&target);
    };
    const auto region_of = [&](const plan::Block &block) -> Region & {
        return block.tensor != plan::none ? tensors_[static_cast<size_t>(block.tensor)]
                                          : scratch_[block.step][block.scratch];
    };
    for (size_t i = 0; i < graph.tensors.size(); ++i)
        if (const plan::PlannedTensor &t = graph.tensors[i]; t.kind == Kind::input)
            request("'" + t.name + "'", padded(t.type.bytes()) + guard_, tensors_[i]);
    for (size_t s = 0; s < steps.size(); ++s)
        for (size_t i = 0; i < constants_[s].size(); ++i)
            request("a constant of '" + graph.steps[s].name + "'", steps[s].plan->constants[i].size(),
                    constants_[s][i]);
    const plan::Block *largest = nullptr; // of those in the arena
    for (const plan::Block &block : layout.blocks) {
        if (!block.at) request(block.name, block.bytes, region_of(block));
        if (block.at && (largest == nullptr || block.bytes > largest->bytes)) largest = &block;
    }
    Region arena;
    if (largest != nullptr) request("activations and scratch, most of it " + largest->name, layout.arena, arena);

    const std::vector<Region> regions = allocate(device, requests, "the tensors of graph '" + graph.graph + "'");
    for (size_t i = 0; i < regions.size(); ++i) *targets[i] = regions[i];
    if (largest != nullptr) volatile_.push_back(arena);
    for (const plan::Block &block : layout.blocks) {
        Region &region = region_of(block);
        if (block.at)
            region = {arena.buffer, arena.offset + *block.at, block.bytes};
        else
            volatile_.push_back(region);
        region = inside(region, block.name, poison_);
    }

    std::vector<Upload> uploads;
    // Inputs and weights have guards, too, so that a kernel that reads beyond them gets wrong results and not, by luck,
    // right ones.
    const uint64_t padding = 16; // at most; that of an input is filled before its values are written
    const std::vector<uint32_t> words((padding + guard_) / sizeof(uint32_t), poison_);
    const auto guard = [&](const Region &region, uint64_t from, uint64_t bytes) {
        uploads.push_back({std::as_bytes(std::span(words)).first(bytes), {region.buffer, region.offset + from, bytes}});
    };
    for (size_t i = 0; i < graph.tensors.size() && guard_ != 0; ++i) {
        Region &region = tensors_[i];
        if (graph.tensors[i].kind == Kind::input) {
            region.bytes -= guard_;
            guard(region, region.bytes - padding, padding + guard_);
        }
        if (graph.tensors[i].kind == Kind::weight && region.buffer != nullptr) guard(region, region.bytes, guard_);
    }
    for (size_t s = 0; s < steps.size(); ++s)
        for (size_t i = 0; i < constants_[s].size(); ++i)
            uploads.push_back({steps[s].plan->constants[i], constants_[s][i]});
    upload(device, uploads);
}

Region ProgramMemory::bound(const plan::Step &step, size_t step_index, const plan::Binding &binding) const {
    if (binding.bytes == 0) return zeros_;
    const Region &whole = binding.role == LAMINA_SCRATCH    ? scratch_[step_index][binding.index]
                          : binding.role == LAMINA_CONSTANT ? constants_[step_index][binding.index]
                          : binding.role == LAMINA_PREPARED ? (*prepared_[step_index])[binding.index]
                                                            : tensor(tensors_of(step, binding.role)[binding.index]);
    // The guard after a tensor is part of its binding, because many drivers drop writes outside of a binding and read
    // zeros there.
    const bool guarded = binding.role != LAMINA_CONSTANT && binding.role != LAMINA_PREPARED;
    const bool to_end = binding.offset + binding.bytes == whole.bytes;
    const uint64_t bytes = binding.bytes + (guarded && to_end ? guard_ : 0);
    return {whole.buffer, whole.offset + binding.offset, std::min(bytes, most_bytes_)};
}

} // namespace lamina::vulkan
