// A handmade layer, valid unless a test breaks it.
#pragma once

#include "abi/library.hpp"

#include <lamina/plugin.hpp>

namespace test {

using namespace lamina::plugin;

inline constexpr uint32_t spirv_header[5] = {0x07230203u, 0x00010300u, 0, 1,
                                             0}; // enough for checks that do not reflect

// All parts of a contract, in arrays that a test may change before it calls layer().
struct TestLayer {
    std::vector<lamina_param> params{integer("heads", "", 2, 1, 64),
                                     real("eps", "", 1e-5, 0, 1),
                                     boolean("causal", "", false),
                                     choice("activation", "", "relu|gelu"),
                                     follows(integer("kv_heads", "", 0, 1, 64), "heads"),
                                     batch_first};
    std::vector<lamina_port> inputs{sequence(input("query", "B T C", "")),
                                    follows(sequence(input("source", "B S C", "")), "query"),
                                    optional(indices("lengths", "B", "0 S+1", ""))};
    std::vector<lamina_port> weights{weight("weight", "heads*D C", ""), optional(weight("bias", "heads*D", ""))};
    std::vector<lamina_port> outputs{sequence(output("y", "B T heads*D", ""))};
    std::vector<lamina_port> states{state("cache", "B M C", "M", "")};
    std::vector<lamina_kernel> kernels{{"kernel", spirv_header, 5}};
    std::vector<lamina_variant> variants{baseline("plain")};
    std::vector<lamina_tolerance> tolerances{tolerance(1e-5, 1e-6)};
    std::vector<const char *> cases{"B=1 T=2 C=4 D=2"};
    lamina_layer contract = sound();

    // The contract with the current contents of the arrays, as a registry would hold it.
    lamina::abi::Layer layer() {
        contract.params = params.data(), contract.n_params = static_cast<uint32_t>(params.size());
        contract.inputs = inputs.data(), contract.n_inputs = static_cast<uint32_t>(inputs.size());
        contract.weights = weights.data(), contract.n_weights = static_cast<uint32_t>(weights.size());
        contract.outputs = outputs.data(), contract.n_outputs = static_cast<uint32_t>(outputs.size());
        contract.states = states.data(), contract.n_states = static_cast<uint32_t>(states.size());
        contract.kernels = kernels.data(), contract.n_kernels = static_cast<uint32_t>(kernels.size());
        contract.variants = variants.data(), contract.n_variants = static_cast<uint32_t>(variants.size());
        contract.tolerances = tolerances.data(), contract.n_tolerances = static_cast<uint32_t>(tolerances.size());
        contract.cases = cases.data(), contract.n_cases = static_cast<uint32_t>(cases.size());
        return {&contract, "lamina_test_layer.so", 0};
    }

  private:
    static lamina_layer sound() {
        lamina_layer d{};
        d.prefix = lamina::plugin::detail::prefix(LAMINA_LAYER, sizeof(lamina_layer));
        d.param_size = sizeof(lamina_param), d.port_size = sizeof(lamina_port);
        d.variant_size = sizeof(lamina_variant), d.tolerance_size = sizeof(lamina_tolerance);
        d.id = "test_layer", d.version = "1.0.0", d.summary = "", d.source = "";
        d.reference = [](const lamina_call *, const lamina_host *) -> lamina_status { return LAMINA_OK; };
        d.plan = [](const lamina_call *, uint32_t, const lamina_host *) -> lamina_status { return LAMINA_OK; };
        return d;
    }
};

} // namespace test
