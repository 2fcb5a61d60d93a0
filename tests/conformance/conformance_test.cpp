// Every variant of every plugin of the build, on one driver.
#include "conformance/case_graph.hpp"
#include "conformance/check.hpp"
#include "conformance/kernel_cases.hpp"
#include "conformance/verdict.hpp"
#include "cpu/device.hpp"

#include "catch.hpp"
#include "drivers.hpp"

#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

using namespace lamina;
using namespace lamina::conformance;

namespace {

uint64_t seed() {
    const char *given = std::getenv("LAMINA_SEED");
    return given != nullptr ? std::stoull(given) : 1;
}

// Some drivers take many seconds to compile a kernel, and layers that replace others are compiled for all that these
// are. They are given no generated cases, but those that layers declare, and those that these lack for a kernel, until
// a variant has compiled this much, in words of SPIR-V. LAMINA_FEW_CASES says how much for all layers, or 0 for none.
std::optional<size_t> most_words(const abi::Layer &layer) {
    const char *given = std::getenv("LAMINA_FEW_CASES");
    const size_t most = given != nullptr ? std::stoull(given) : layer.contract->fuses != nullptr ? 40'000 : 0;
    return most != 0 ? std::optional(most) : std::nullopt;
}

// What a variant of a layer has compiled, in words of SPIR-V.
class Compiled {
  public:
    Compiled(plan::Device &device, const abi::Layer &layer, size_t most)
        : device_(device), layer_(layer), most_(most) {}

    // Whether the case is to be run: it needs a kernel that no case before it did, or leaves the sum below the most.
    // What it needs counts as compiled then.
    bool takes(const Case &c, const std::string &variant) {
        std::set<plan::Pipeline> &compiled = compiled_[variant];
        std::set<plan::Pipeline> all = compiled;
        try {
            all.merge(device_.pipelines(call_of(layer_, c), variant));
        } catch (const Error &) { // the layer refuses the case, as it does in check_case()
            return true;
        }
        size_t words = 0;
        std::set<uint32_t> kernels, before;
        for (const plan::Pipeline &p : all) words += layer_.contract->kernels[p.kernel].words, kernels.insert(p.kernel);
        for (const plan::Pipeline &p : compiled) before.insert(p.kernel);
        if (words > most_ && kernels == before && all != compiled) return false;
        compiled = std::move(all);
        return true;
    }

  private:
    plan::Device &device_;
    const abi::Layer &layer_;
    size_t most_;                                              // words
    std::map<std::string, std::set<plan::Pipeline>> compiled_; // by variant
};

CheckReport check_few(plan::Device &device, const abi::Layer &layer, size_t most) {
    CheckReport out;
    Compiled compiled(device, layer, most);
    const std::vector<Case> own = cases_of(layer, {.own_cases_only = true, .seed = seed()}).cases;
    const auto add = [&](const Case &c, std::vector<plan::Variant> variants) {
        std::erase_if(variants, [&](const plan::Variant &v) { return !compiled.takes(c, v.name); });
        if (!variants.empty())
            std::ranges::move(check_case(device, layer, c, variants), std::back_inserter(out.results));
    };
    for (const Case &c : own) add(c, device.variants(layer));
    if (!device.variants(layer).empty())
        for (const KernelCase &k : kernel_cases(layer, device, own)) add(k.c, {k.variant});
    return out;
}

CheckReport check_layer(plan::Device &device, const abi::Layer &layer) {
    if (const auto most = most_words(layer)) return check_few(device, layer, *most);
    CheckOptions options;
    options.seed = seed();
    options.layers = {std::string(layer.id())};
    return check(device, options);
}

void report(const std::string &layer, const CheckReport &result) {
    double worst = 0;
    for (const CaseResult &r : result.results)
        if (r.status == CaseResult::Status::passed) worst = std::max(worst, r.verdict.ratio);
    std::cout << layer << ": " << result.count(CaseResult::Status::passed) << " passed, "
              << result.count(CaseResult::Status::failed) << " failed, " << result.count(CaseResult::Status::skipped)
              << " skipped, " << result.refused << " combinations refused; worst " << worst << " of the tolerance\n";
}

// Layers whose kernels are those of matrix products. They take as long as all others together.
bool has_products(const std::string &layer) { return layer == "linear" || layer == "feed_forward"; }

void check_layers(const std::function<bool(const std::string &)> &wanted) {
    const auto driver = test::driver();
    if (!driver) return;
    const auto plugins = test::plugins();
    CHECK(plugins->rejected().empty());
    const auto device = test::device_of(*driver);
    std::cout << "seed " << seed() << "; another: LAMINA_SEED=N\n";
    size_t checked = 0;
    for (const auto &[id, layer] : plugins->layers()) {
        if (!wanted(id)) continue;
        const CheckReport result = check_layer(*device, layer);
        if (result.results.empty()) continue; // on the CPU, if the layer has no fast kernel
        report(id, result);
        // A variant skips cases that it does not support, such as many rows. If it skips all, it is not tested at all.
        CHECK(result.unproved().empty());
        checked += result.count(CaseResult::Status::passed);
        for (const CaseResult &r : result.results) {
            INFO(r.replay);
            if (r.status == CaseResult::Status::failed) FAIL_CHECK(r.why);
        }
        // A generator that creates only cases that the layer refuses would prove nothing.
        if (most_words(layer)) continue;
        CHECK(result.results.size() >= (layer.contract->n_cases + 12) * device->variants(layer).size());
    }
    CHECK(checked != 0); // also on the CPU, which has fast kernels for linear, feed_forward and attention
    if (driver->instance != nullptr)
        for (const std::string &message : driver->instance->validation_messages()) FAIL_CHECK(message);
}

} // namespace

TEST_CASE("every variant of every layer agrees with its reference: products", "[driver][products]") {
    check_layers(has_products);
}

TEST_CASE("every variant of every layer agrees with its reference: all other layers", "[driver]") {
    check_layers(std::not_fn(has_products));
}

TEST_CASE("cpu: every kernel has the contract of a layer, which would run its reference otherwise", "[cpu]") {
    const abi::Executor &executor = *test::plugins()->executor();
    std::set<const lamina_cpu_kernel *> used;
    for (const auto &[id, layer] : test::plugins()->layers())
        for (const abi::CpuVariant &variant : executor.variants(*layer.contract)) used.insert(variant.kernel);
    for (const lamina_cpu_kernel &kernel : std::span(executor.descriptor->kernels, executor.descriptor->n_kernels)) {
        INFO(kernel.layer << ": " << kernel.signature);
        CHECK(used.contains(&kernel));
    }
    for (const char *layer : {"attention", "experts", "feed_forward", "linear", "rms_norm", "rotary"})
        CHECK_FALSE(executor.variants(*test::plugins()->layer(layer).contract).empty());
}

TEST_CASE("cpu: products of more rows than are multiplied at a time, in every form that x takes", "[cpu]") {
    const auto device = cpu::make_device(test::plugins(), test::plugins()->executor());
    for (const char *dtype : {"q4_0", "q4_1", "q5_0", "q4_k", "q8_0", "f16"})
        for (const auto &[layer, text] :
             {std::pair("linear", "B=1 T=517 K=256 N=35 +bias +residual weights="),
              std::pair("linear", "B=1 T=23 K=256 N=35 x=huge weights="),
              std::pair("feed_forward", "B=1 T=517 C=256 H=256 activation=silu +gate_weight +residual weights=")}) {
            CheckOptions options;
            options.layers = {layer};
            options.case_text = std::string(text) + dtype;
            const CheckReport report = check(*device, options);
            CHECK(report.results.front().variant == "cpu_fallback");
            CHECK(report.results.front().status == CaseResult::Status::passed);
            for (const CaseResult &result : report.results) { // also in fewer digits, where the dtype has strips
                INFO(result.replay << "\n" << result.why);
                const bool skipped = std::string_view(dtype) == "f16" && result.variant != "cpu_fallback";
                CHECK(result.status == (skipped ? CaseResult::Status::skipped : CaseResult::Status::passed));
            }
        }
}

TEST_CASE("cpu: an infinite value of x reaches the results of its row alone, in few rows and in many", "[cpu]") {
    const auto device = cpu::make_device(test::plugins(), test::plugins()->executor());
    const abi::Layer &layer = test::plugins()->layer("linear");
    size_t checked = 0;
    std::vector<std::pair<const char *, plan::Variant>> all;
    for (const plan::Variant &variant : device->variants(layer))
        all.emplace_back("3", variant), all.emplace_back("23", variant);
    REQUIRE(all.size() == 6);
    for (const char *dtype : {"q4_0", "q4_1", "q6_k", "q8_0", "f32"})
        for (const auto &[rows, variant] : all) {
            const std::string text = std::string("B=1 T=") + rows + " K=256 N=35 weights=" + dtype;
            INFO(text << ", variant " << variant.name);
            CaseGraph graph = make_case_graph(layer, parse_case(*layer.contract, text));
            if (!device->why_not(graph.plan.steps.front().call, variant.name).why.empty()) continue;
            graph.values.at(graph.plan.inputs.at("x")).f32()[2 * 256 + 77] = std::numeric_limits<float>::infinity();
            plan::ProgramOptions options;
            options.variants = {variant.name};
            const auto program = device->backend(graph.weights)->compile(graph.plan, options);
            REQUIRE(program->variant(0) == variant.name);
            write_values(*program, graph);
            const Verdict verdict =
                lamina::compare(run_case(*program, graph).at(0), reference_of(test::plugins(), graph, {}).at(0),
                                tolerance_of(*layer.contract, variant.arithmetic), "y");
            INFO(verdict.text());
            CHECK(verdict.passed);
            ++checked;
        }
    CHECK(checked == 4 * 6 + 1 * 2); // weights in blocks by each variant, those in f32 by one
}
