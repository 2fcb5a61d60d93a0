// compile() of compile.hpp.
#include <lamina/compile.hpp>

#include "api/access.hpp"
#include "api/typical_runs.hpp"
#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "conformance/check.hpp"
#include "fusion/fusion.hpp"

#include <algorithm>
#include <mutex>
#include <span>

namespace lamina {
namespace {

// Each pipeline once, in the order of a report.
class Pipelines {
  public:
    Pipelines(std::shared_ptr<plan::Device> device, const detail::RuntimeState &state)
        : device_(std::move(device)), state_(state) {}

    void add(const abi::LayerCall &call, const std::string &variant, const std::string &needed_by) {
        const abi::Layer &layer = call.layer();
        for (const plan::Pipeline &pipeline : device_->pipelines(call, variant)) {
            CompiledKernel &kernel = found_.try_emplace({layer.id(), pipeline}, Found{&layer, {}}).first->second.kernel;
            kernel.variants.insert(variant);
            if (!kernel.needed_by.empty()) continue;
            kernel.layer = layer.id();
            kernel.kernel = layer.contract->kernels[pipeline.kernel].name;
            kernel.constants = {pipeline.constants.begin(), pipeline.constants.end()};
            kernel.needed_by = needed_by;
        }
    }

    // On all cores, as sessions compile.
    void compile_into(CompileReport &report, const CompileOptions &options) {
        std::vector<std::pair<const Key *, Found *>> all;
        for (auto &[key, found] : found_) all.emplace_back(&key, &found);
        std::mutex turn; // of the caller's function and of what follows it
        size_t done = 0;
        in_parallel(all.size(), cores(), [&](size_t i, size_t) {
            const auto &[key, found] = all[i];
            {
                const std::lock_guard lock(turn);
                state_.working();
                if (options.begin) options.begin(found->kernel.layer + ", " + found->kernel.kernel, done, all.size());
            }
            const std::optional<plan::Compiled> compiled = device_->compile(*found->layer, key->second);
            const std::lock_guard lock(turn);
            ++done;
            if (!compiled) return;
            found->kernel.error = compiled->error;
            found->kernel.statistics = compiled->statistics;
            report.statistics |= !compiled->statistics.empty();
        });
        for (const auto &[key, found] : all) report.kernels.push_back(std::move(found->kernel));
    }

  private:
    using Key = std::pair<std::string_view, plan::Pipeline>;
    struct Found {
        const abi::Layer *layer;
        CompiledKernel kernel;
    };
    std::shared_ptr<plan::Device> device_;
    const detail::RuntimeState &state_;
    std::map<Key, Found> found_;
};

std::shared_ptr<plan::Device> with_compiler(detail::RuntimeState &state, const Device &device) {
    if (!device.id.starts_with("vulkan:") || !device.parts.empty())
        throw Error(ErrorCode::usage,
                    "drivers compile kernels for a GPU: expected one device, such as vulkan:0, found '" + device.id +
                        "'");
    return state.open(device);
}

// A step, and what each variant runs for it.
struct FoundStep {
    CompiledStep step;
    std::vector<std::set<plan::Pipeline>> pipelines;

    [[nodiscard]] bool is_like(const FoundStep &other) const {
        const auto same = [](const auto &a, const auto &b) { return a.why_not == b.why_not; };
        return step.run == other.step.run && step.layer == other.step.layer && pipelines == other.pipelines &&
               std::ranges::equal(step.variants, other.step.variants, same);
    }
};

// Counts the step with another one of the run that is computed alike, or adds it.
void add_step(const api::Run &run, const plan::Step &step, plan::Device &device, Pipelines &pipelines,
              std::vector<FoundStep> &out) {
    const abi::Layer &layer = step.call.layer();
    FoundStep found{{.run = run.what,
                     .layer = std::string(layer.id()),
                     .name = step.name,
                     .count = 1,
                     .fusion = layer.pattern != nullptr,
                     .variants = {}},
                    {}};
    for (const plan::Variant &variant : device.variants(layer)) {
        found.step.variants.push_back({variant.name, device.why_not(step.call, variant.name).why});
        found.pipelines.push_back(device.pipelines(step.call, variant.name));
        pipelines.add(step.call, variant.name, run.what + ": " + step.name);
    }
    const auto same = std::ranges::find_if(out, [&](const FoundStep &other) { return found.is_like(other); });
    if (same != out.end())
        ++same->step.count;
    else
        out.push_back(std::move(found));
}

// A statistic under a driver's name, and what to multiply it with.
struct Named {
    const char *name;
    double factor = 1;
};

// The first of these that a driver gives.
std::optional<double> first_of(const std::map<std::string, double> &statistics, std::initializer_list<Named> names) {
    for (const Named &one : names)
        if (const auto found = statistics.find(one.name); found != statistics.end()) return found->second * one.factor;
    return std::nullopt;
}

} // namespace

// The names are those of Mesa's drivers, for AMD, NVIDIA, Intel, Qualcomm, Apple and Arm in this order.
KernelFigures CompiledKernel::figures() const {
    return {.registers = first_of(statistics, {{"VGPRs"},
                                               {"Number of GPRs"},
                                               {"Max live registers"},
                                               {"Registers used", 4}, // of four values
                                               {"GPRs", 0.5},         // of 16 bits
                                               {"Registers"}}),
            .spills = first_of(statistics, {{"Spilled VGPRs"},
                                            {"Spills to memory"},
                                            {"Spill Count"},
                                            {"STP Count"}, // stores to private memory
                                            {"Spills"}}),
            .subgroups = first_of(
                statistics, {{"Subgroups per SIMD"}, {"Max warps/SM"}, {"Max Waves Per Core"}, {"Threads", 1.0 / 32}}),
            .instructions = first_of(statistics, {{"Instructions"}, {"Instruction count"}, {"Instruction Count"}})};
}

bool CompiledStep::computed() const {
    return std::ranges::any_of(variants, [](const Variant &v) { return v.why_not.empty(); });
}

bool CompileReport::passed() const {
    return std::ranges::all_of(kernels, [](const CompiledKernel &k) { return k.error.empty(); }) &&
           std::ranges::all_of(steps, [](const CompiledStep &s) { return s.fusion || s.computed(); });
}

CompileReport compile(const Runtime &runtime, const Device &device, const CompileOptions &options) {
    detail::RuntimeState &state = *detail::Access::state(runtime);
    const std::shared_ptr<plan::Device> opened = with_compiler(state, device);
    const CheckOptions cases{.own_cases_only = options.own_cases_only, .seed = options.seed};
    Pipelines pipelines(opened, state);
    for (const abi::Layer *layer : conformance::layers_of(*state.plugins, options.layers))
        for (const conformance::Case &c : conformance::cases_of(*layer, cases).cases) {
            const abi::LayerCall call = conformance::call_of(*layer, c);
            for (const plan::Variant &variant : opened->variants(*layer))
                pipelines.add(call, variant.name, to_string(c));
        }
    CompileReport report;
    pipelines.compile_into(report, options);
    return report;
}

CompileReport compile(const Runtime &runtime, const Model &model, const Device &device, const CompileOptions &options) {
    detail::RuntimeState &state = *detail::Access::state(runtime);
    const std::shared_ptr<plan::Device> opened = with_compiler(state, device);
    Pipelines pipelines(opened, state);
    std::vector<FoundStep> steps;
    for (const api::Run &run : api::typical_runs(*detail::Access::model(model), *state.plugins)) {
        for (const plan::Step &step : run.plan.steps) add_step(run, step, *opened, pipelines, steps);
        for (const fusion::Match &match : fusion::find(run.plan, *state.plugins))
            add_step(run, match.fused, *opened, pipelines, steps);
    }
    CompileReport report;
    for (FoundStep &found : steps) report.steps.push_back(std::move(found.step));
    pipelines.compile_into(report, options);
    return report;
}

} // namespace lamina
