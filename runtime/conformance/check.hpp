// Conformance: compares every variant of a layer with the reference, on one device.
#pragma once

#include "conformance/case.hpp"
#include "plan/device.hpp"

#include <lamina/proof.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace lamina::conformance {

// lamina::check() of proof.hpp, on a device.
[[nodiscard]] CheckReport check(plan::Device &device, const CheckOptions &options,
                                const std::function<void(const CaseResult &)> &progress = {});

// One case of a layer, for some of its variants. The layer may be one that no plugin provides.
[[nodiscard]] std::vector<CaseResult> check_case(plan::Device &device, const abi::Layer &layer, const Case &c,
                                                 const std::vector<plan::Variant> &variants);

// " --plugin-dir DIR" if the command does not find this layer by itself.
[[nodiscard]] std::string plugin_option(const abi::Layer &layer);

// Those with these ids; all, if there are none. Throws Error(plugin) for an unknown one.
[[nodiscard]] std::vector<const abi::Layer *> layers_of(const abi::Registry &plugins,
                                                        const std::vector<std::string> &names);

// The cases that check() runs for a layer.
struct LayerCases {
    std::vector<Case> cases;
    size_t refused = 0;
};
[[nodiscard]] LayerCases cases_of(const abi::Layer &layer, const CheckOptions &options);

} // namespace lamina::conformance
