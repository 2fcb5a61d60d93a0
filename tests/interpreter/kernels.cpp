#include "kernels.hpp"

#include "conformance/check.hpp"

#include <algorithm>

namespace test {

using namespace lamina;

std::vector<std::string> cases_of(const abi::Layer &layer, double work) {
    CheckOptions options;
    options.own_cases_only = true;
    std::vector<std::pair<double, std::string>> cases;
    for (const conformance::Case &c : conformance::cases_of(layer, options).cases)
        cases.emplace_back(conformance::work_of(conformance::call_of(layer, c)), to_string(c));
    std::ranges::sort(cases);
    std::vector<std::string> out;
    for (auto &[needed, text] : cases)
        if (needed <= work) out.push_back(std::move(text));
    return out;
}

std::set<uint32_t> kernels_in(const std::vector<std::string> &cases, const abi::Layer &layer, plan::Device &device) {
    std::set<uint32_t> out;
    for (const std::string &text : cases) {
        const abi::LayerCall call = conformance::call_of(layer, conformance::parse_case(*layer.contract, text));
        for (const plan::Variant &variant : device.variants(layer))
            for (const plan::Pipeline &pipeline : device.pipelines(call, variant.name)) out.insert(pipeline.kernel);
    }
    return out;
}

} // namespace test
