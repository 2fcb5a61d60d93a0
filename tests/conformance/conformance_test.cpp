// Every variant of every plugin of the build, on one driver.
#include "conformance/case_graph.hpp"
#include "conformance/check.hpp"
#include "conformance/kernel_cases.hpp"
#include "conformance/verdict.hpp"
#include "cpu/device.hpp"

#include "catch.hpp"
#include "drivers.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
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

// First the cases that the layer declares, then those that these lack for a kernel, then generated ones. A variant that
// has compiled the most words is given only those that need no other kernel.
CheckReport check_few(plan::Device &device, const abi::Layer &layer) {
    Compiled compiled(device, layer, test::most_words());
    const LayerCases all = cases_of(layer, {.seed = seed()});
    const auto own_end = all.cases.begin() + static_cast<ptrdiff_t>(layer.contract->n_cases);
    const std::vector<Case> own(all.cases.begin(), own_end), generated(own_end, all.cases.end());
    CheckReport out;
    out.refused = all.refused;
    const auto add = [&](const Case &c, std::vector<plan::Variant> variants) {
        std::erase_if(variants, [&](const plan::Variant &v) { return !compiled.takes(c, v.name); });
        if (!variants.empty())
            std::ranges::move(check_case(device, layer, c, variants), std::back_inserter(out.results));
    };
    for (const Case &c : own) add(c, device.variants(layer));
    if (!device.variants(layer).empty())
        for (const KernelCase &k : kernel_cases(layer, device, own)) add(k.c, {k.variant});
    for (const Case &c : generated) add(c, device.variants(layer));
    return out;
}

CheckReport check_layer(plan::Device &device, const abi::Layer &layer) {
    if (test::most_words() != 0) return check_few(device, layer);
    CheckOptions options;
    options.seed = seed();
    options.layers = {std::string(layer.id())};
    return check(device, options);
}

void report(const std::string &layer, const CheckReport &result, std::chrono::duration<double> time) {
    double worst = 0;
    for (const CaseResult &r : result.results)
        if (r.status == CaseResult::Status::passed) worst = std::max(worst, r.verdict.ratio);
    std::cout << layer << ": " << result.count(CaseResult::Status::passed) << " passed, "
              << result.count(CaseResult::Status::failed) << " failed, " << result.count(CaseResult::Status::skipped)
              << " skipped, " << result.refused << " combinations refused; worst " << worst << " of the tolerance; "
              << std::lround(time.count()) << " s\n";
}

// Those of matrix products and those that replace others take as long as all others together.
enum class Part { products, fusions, others };

Part part_of(const abi::Layer &layer) {
    if (layer.contract->fuses != nullptr) return Part::fusions;
    return layer.id() == "linear" || layer.id() == "feed_forward" ? Part::products : Part::others;
}

void check_layers(Part part) {
    const auto driver = test::driver();
    if (!driver) return;
    const auto plugins = test::plugins();
    CHECK(plugins->rejected().empty());
    const auto device = test::device_of(*driver);
    std::cout << "seed " << seed() << "; another: LAMINA_SEED=N\n";
    size_t checked = 0;
    for (const auto &[id, layer] : plugins->layers()) {
        if (part_of(layer) != part) continue;
        const auto began = std::chrono::steady_clock::now();
        const CheckReport result = check_layer(*device, layer);
        if (result.results.empty()) continue; // on the CPU, if the layer has no fast kernel
        report(id, result, std::chrono::steady_clock::now() - began);
        // A variant skips cases that it does not support, such as many rows. If it skips all, it is not tested at all.
        CHECK(result.unproved().empty());
        checked += result.count(CaseResult::Status::passed);
        for (const CaseResult &r : result.results) {
            INFO(r.replay);
            if (r.status == CaseResult::Status::failed) FAIL_CHECK(r.why);
        }
        // A generator that creates only cases that the layer refuses would prove nothing.
        if (test::most_words() != 0) continue;
        CHECK(result.results.size() >= (layer.contract->n_cases + 12) * device->variants(layer).size());
    }
    const bool on_cpu = driver->device == nullptr; // its fast kernels are of linear, feed_forward, attention and others
    CHECK((checked != 0 || (on_cpu && part == Part::fusions)));
    if (driver->instance != nullptr)
        for (const std::string &message : driver->instance->validation_messages()) FAIL_CHECK(message);
}

} // namespace

TEST_CASE("every variant of every layer agrees with its reference: products", "[driver][products]") {
    check_layers(Part::products);
}

TEST_CASE("every variant of every layer agrees with its reference: layers that replace others", "[driver][fusions]") {
    check_layers(Part::fusions);
}

TEST_CASE("every variant of every layer agrees with its reference: all other layers", "[driver]") {
    check_layers(Part::others);
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
