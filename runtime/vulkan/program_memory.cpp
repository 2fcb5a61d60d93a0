#include "vulkan/program_memory.hpp"

#include <algorithm>

namespace lamina::vulkan {

namespace {

using Kind = plan::PlannedTensor::Kind;

bool has_own_memory(const plan::PlannedTensor &tensor, bool keep_all) {
    return tensor.kind == Kind::input || (tensor.kind == Kind::activation && (tensor.output || keep_all));
}

// The steps from the one that writes a tensor to the last that reads it.
std::vector<plan::Lifetime> lifetimes_of(const plan::GraphPlan &graph) {
    std::vector<plan::Lifetime> lifetimes(graph.tensors.size());
    for (size_t i = 0; i < lifetimes.size(); ++i) lifetimes[i].bytes = padded(graph.tensors[i].type.bytes());
    for (size_t s = 0; s < graph.steps.size(); ++s) {
        for (const int32_t t : graph.steps[s].out)
            if (t != plan::none) lifetimes[static_cast<size_t>(t)].first = lifetimes[static_cast<size_t>(t)].last = s;
        for (const int32_t t : graph.steps[s].in)
            if (t != plan::none) lifetimes[static_cast<size_t>(t)].last = s;
    }
    return lifetimes;
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

ProgramMemory::ProgramMemory(const std::shared_ptr<LogicalDevice> &device, Residents &residents,
                             const plan::GraphPlan &graph, std::span<const ChosenVariant> steps,
                             std::vector<std::vector<Region>> prepared, const plan::ProgramOptions &options)
    : tensors_(graph.tensors.size()), keeps_(graph.tensors.size()), scratch_(steps.size()), constants_(steps.size()),
      prepared_(std::move(prepared)), zeros_(residents.zeros()), guard_(options.guard ? plan::guard_bytes : 0),
      poison_(options.poisoned_with().value_or(plan::poison_word)) {
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
        const plan::PlannedTensor &t = graph.tensors[i];
        keeps_[i] = has_own_memory(t, options.keep_all) || t.kind == Kind::state || t.kind == Kind::weight;
    }
    for (size_t s = 0; s < steps.size(); ++s) {
        scratch_[s].resize(steps[s].plan.scratch.size());
        constants_[s].resize(steps[s].plan.constants.size());
    }
    take_residents(residents, graph);
    allocate_all(device, graph, steps);
}

void ProgramMemory::take_residents(Residents &residents, const plan::GraphPlan &graph) {
    std::set<std::string> weights;
    std::vector<MemoryRequest> states;
    for (const plan::PlannedTensor &t : graph.tensors) {
        if (t.kind == Kind::weight) weights.insert(t.name);
        if (t.kind == Kind::state) states.push_back({t.name, padded(t.type.bytes()) + 2 * guard_});
    }
    residents.load(weights);
    const std::vector<Region> regions = residents.states(states);
    for (size_t i = 0, next = 0; i < graph.tensors.size(); ++i) {
        const plan::PlannedTensor &t = graph.tensors[i];
        if (t.kind == Kind::weight) tensors_[i] = residents.weight(t.name);
        if (t.kind != Kind::state) continue;
        tensors_[i] = inside(regions[next++], "'" + t.name + "'", 0);
    }
}

std::vector<ProgramMemory::Temporary> ProgramMemory::find_temporaries(const plan::GraphPlan &graph,
                                                                      std::span<const ChosenVariant> steps) {
    std::vector<Temporary> temporaries;
    const std::vector<plan::Lifetime> lifetimes = lifetimes_of(graph);
    for (size_t i = 0; i < graph.tensors.size(); ++i)
        if (!keeps_[i]) temporaries.push_back({"'" + graph.tensors[i].name + "'", lifetimes[i], &tensors_[i]});
    for (size_t s = 0; s < steps.size(); ++s)
        for (size_t i = 0; i < scratch_[s].size(); ++i)
            temporaries.push_back({"scratch of '" + graph.steps[s].name + "'",
                                   {padded(steps[s].plan.scratch[i]), s, s},
                                   &scratch_[s][i]});
    if (guard_ != 0)
        for (Temporary &t : temporaries) t.lifetime = {t.lifetime.bytes + 2 * guard_, 0, steps.size()};
    return temporaries;
}

Region ProgramMemory::inside(const Region &whole, const std::string &name, uint32_t word) {
    if (guard_ == 0) return whole;
    guards_.push_back({name, {whole.buffer, whole.offset, guard_}, word});
    guards_.push_back({name, {whole.buffer, whole.offset + whole.bytes - guard_, guard_}, word});
    return {whole.buffer, whole.offset + guard_, whole.bytes - 2 * guard_};
}

void ProgramMemory::allocate_all(const std::shared_ptr<LogicalDevice> &device, const plan::GraphPlan &graph,
                                 std::span<const ChosenVariant> steps) {
    std::vector<MemoryRequest> requests;
    std::vector<Region *> targets; // of the requests
    const auto request = [&](std::string name, uint64_t bytes, Region &target) {
        requests.push_back({std::move(name), bytes});
        targets.push_back(&target);
    };
    std::vector<Region *> poisonable;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
        const plan::PlannedTensor &t = graph.tensors[i];
        if (t.kind == Kind::input) request("'" + t.name + "'", padded(t.type.bytes()) + guard_, tensors_[i]);
        if (t.kind != Kind::activation || !keeps_[i]) continue;
        request("'" + t.name + "'", padded(t.type.bytes()) + 2 * guard_, tensors_[i]);
        poisonable.push_back(&tensors_[i]);
    }
    for (size_t s = 0; s < steps.size(); ++s)
        for (size_t i = 0; i < constants_[s].size(); ++i)
            request("a constant of '" + graph.steps[s].name + "'", steps[s].plan.constants[i].size(), constants_[s][i]);

    const std::vector<Temporary> temporaries = find_temporaries(graph, steps);
    std::vector<plan::Lifetime> lifetimes;
    for (const Temporary &t : temporaries) lifetimes.push_back(t.lifetime);
    const plan::ArenaLayout layout = plan::lay_out(lifetimes, region_align(*device));
    Region arena;
    if (layout.bytes != 0) {
        const auto largest =
            std::max_element(temporaries.begin(), temporaries.end(), [](const Temporary &a, const Temporary &b) {
                return a.lifetime.bytes < b.lifetime.bytes;
            });
        request("activations and scratch, most of it " + largest->name, layout.bytes, arena);
        poisonable.push_back(&arena);
    }

    const std::vector<Region> regions = allocate(device, requests, "the tensors of graph '" + graph.graph + "'");
    for (size_t i = 0; i < regions.size(); ++i) *targets[i] = regions[i];
    for (const Region *region : poisonable) volatile_.push_back(*region);
    for (size_t i = 0; i < graph.tensors.size(); ++i)
        if (graph.tensors[i].kind == Kind::activation && keeps_[i])
            tensors_[i] = inside(tensors_[i], "'" + graph.tensors[i].name + "'", poison_);
    for (size_t i = 0; i < temporaries.size(); ++i) {
        const Region whole{arena.buffer, arena.offset + layout.offsets[i], temporaries[i].lifetime.bytes};
        *temporaries[i].region = inside(whole, temporaries[i].name, poison_);
    }

    std::vector<Upload> uploads;
    // Behind an input, too, lies what shows in results: a kernel that reads there may not be right by luck.
    std::vector<std::vector<uint32_t>> words;
    for (size_t i = 0; i < graph.tensors.size() && guard_ != 0; ++i) {
        if (graph.tensors[i].kind != Kind::input) continue;
        words.emplace_back(tensors_[i].bytes / sizeof(uint32_t), plan::poison_word);
        uploads.push_back({std::as_bytes(std::span(words.back())), tensors_[i]});
        tensors_[i].bytes -= guard_;
    }
    for (size_t s = 0; s < steps.size(); ++s)
        for (size_t i = 0; i < constants_[s].size(); ++i)
            uploads.push_back({steps[s].plan.constants[i], constants_[s][i]});
    upload(device, uploads);
}

Region ProgramMemory::bound(const plan::Step &step, size_t step_index, const plan::Binding &binding) const {
    if (binding.bytes == 0) return zeros_;
    const Region &whole = binding.role == LAMINA_SCRATCH    ? scratch_[step_index][binding.index]
                          : binding.role == LAMINA_CONSTANT ? constants_[step_index][binding.index]
                          : binding.role == LAMINA_PREPARED ? prepared_[step_index][binding.index]
                                                            : tensor(tensors_of(step, binding.role)[binding.index]);
    // The guard behind a tensor is bound with it: many drivers drop what is written outside of a binding, and read
    // zeros there.
    const bool guarded =
        binding.role != LAMINA_WEIGHT && binding.role != LAMINA_CONSTANT && binding.role != LAMINA_PREPARED;
    const bool to_end = binding.offset + binding.bytes == whole.bytes;
    return {whole.buffer, whole.offset + binding.offset, binding.bytes + (guarded && to_end ? guard_ : 0)};
}

} // namespace lamina::vulkan
