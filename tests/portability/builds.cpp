#include "builds.hpp"

#include "conformance/check.hpp"
#include "places.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

namespace portability {
namespace {

using namespace lamina;

using Key = std::pair<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>>; // kernel, constants

Key key_of(const plan::Dispatch &dispatch) {
    Key key{dispatch.kernel, {}};
    for (const lamina_spec &s : dispatch.specs) key.second.emplace_back(s.id, s.bits);
    return key;
}

void add_builds_of(const abi::Layer &layer, const lamina_device &device, std::vector<Build> &out) {
    const auto kernels = std::make_shared<const plan::Kernels>(layer);
    const lamina_layer &contract = *layer.contract;
    std::map<Key, Build> found;
    for (const conformance::Case &c : conformance::cases_of(layer, {}).cases) {
        const abi::LayerCall call = conformance::call_of(layer, c);
        for (uint32_t variant = 0; variant < contract.n_variants; ++variant) {
            plan::Refusal refusal;
            const auto plan = plan::plan_layer(call, *kernels, variant, device, refusal);
            if (!plan) continue;
            for (const auto *list : {&plan->preparation.dispatches, &plan->dispatches})
                for (const plan::Dispatch &d : *list) {
                    Build made{&layer, kernels, d.kernel, d.specs, {}, to_string(c)};
                    Build &build = found.try_emplace(key_of(d), std::move(made)).first->second;
                    build.variants.insert(contract.variants[variant].name);
                }
        }
    }
    for (auto &[key, build] : found) out.push_back(std::move(build));
}

} // namespace

std::string Build::kernel_name() const { return std::string(layer->id()) + "/" + code().name; }

std::string Build::text() const {
    std::string text = kernel_name() + " with constants";
    for (const lamina_spec &s : specs) text += " " + std::to_string(s.id) + "=" + std::to_string(s.bits);
    text += ", of variants";
    for (const std::string &variant : variants) text += " " + variant;
    return text + ", in case \"" + case_text + "\"";
}

const std::map<std::string, abi::Layer, std::less<>> &layers() {
    static const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    for (const abi::Rejected &r : plugins->rejected())
        throw Error(ErrorCode::plugin, r.path.string() + ": " + r.reason);
    return plugins->layers();
}

std::vector<lamina_kernel> kernels_of(const abi::Layer &layer) {
    std::vector<lamina_kernel> out;
    for (const lamina_kernel &kernel : std::span(layer.contract->kernels, layer.contract->n_kernels))
        if (kernel.spirv != nullptr) out.push_back(kernel);
    return out;
}

lamina_device typical_gpu() {
    static const lamina_matrix_shape matrices[] = {{16, 16, 16, LAMINA_F16, LAMINA_F32}};
    lamina_device device{};
    device.struct_size = sizeof device;
    device.features = ~uint64_t{0};
    device.max_binding_bytes = uint64_t{1} << 30;
    device.binding_align = 64;
    device.matrices = matrices;
    device.n_matrices = 1;
    device.subgroup = 32;
    device.max_invocations = 1024;
    std::fill_n(device.max_local, 3, 1024);
    std::fill_n(device.max_groups, 3, 65535);
    device.shared_bytes = 32 * 1024;
    return device;
}

std::vector<Build> builds_on(const lamina_device &device) {
    std::vector<Build> out;
    for (const auto &[id, layer] : layers()) add_builds_of(layer, device, out);
    return out;
}

} // namespace portability
