// Kernels under GPU-assisted validation: the layers instrument them so that they report every access out of bounds.
// Some drivers compile the instrumented kernels for minutes, so this is a separate test, on lavapipe.
#include "catch.hpp"
#include "conformance/case_graph.hpp"
#include "conformance/check.hpp"
#include "drivers.hpp"
#include "wrong_layer.hpp"

using namespace lamina;
using namespace lamina::conformance;

namespace {

struct Assisted {
    std::shared_ptr<vulkan::Instance> instance;
    std::shared_ptr<vulkan::Device> device; // null if lavapipe is not installed
    std::vector<std::string> remarks;       // messages of the layers about the instrumentation itself

    // Messages of the layers about kernels.
    [[nodiscard]] std::vector<std::string> reports() const {
        const std::vector<std::string> all = instance->validation_messages();
        return {all.begin() + static_cast<std::ptrdiff_t>(remarks.size()), all.end()};
    }
};

Assisted open_lavapipe() {
    const std::filesystem::path manifest = test::manifest_of("lavapipe");
    if (manifest.empty()) {
        test::report_absent("lavapipe", "it is not installed");
        return {};
    }
    test::select(manifest);
    std::string why_not;
    const auto instance = vulkan::Instance::create({.validation = true, .gpu_assisted = true}, why_not);
    INFO(why_not);
    REQUIRE(instance != nullptr);
    const auto device = instance->open(0, test::plugins());
    return {instance, device, instance->validation_messages()};
}

void check_kernels(const Assisted &assisted, const std::string &variant, const std::vector<std::string> &layers) {
    const auto plugins = test::plugins();
    CheckOptions options;
    options.layers = layers;
    options.variants = {variant};
    options.own_cases_only = true;
    const CheckReport report = check(*assisted.device, options);
    CHECK(report.count(CaseResult::Status::passed) > layers.size());
    for (const CaseResult &r : report.results) {
        INFO(r.replay);
        if (r.status == CaseResult::Status::failed) FAIL_CHECK(r.why);
    }
}

} // namespace

TEST_CASE("a kernel that accesses memory outside its bindings is reported", "[.gpu_assisted]") {
    const Assisted assisted = open_lavapipe();
    if (assisted.device == nullptr) return;
    const auto run_with = [&](test::Mistake mistake) {
        const abi::Layer layer = test::layer_norm_with(mistake);
        const CaseGraph graph = make_case_graph(layer, parse_case(*layer.contract, "B=2 T=4 C=64"));
        const auto backend = assisted.device->backend(graph.weights);
        const auto program = backend->compile(graph.plan, {});
        write_values(*program, graph);
        (void)run_case(*program, graph);
    };
    run_with({});
    CHECK(assisted.reports().empty());
    // Newer layers report an access outside of a binding, but let it happen: here it reads memory that exists. Older
    // ones report an access outside of the whole buffer, and prevent it.
    run_with({.bytes_of_x = 1024});
    if (assisted.reports().empty()) run_with({.extra_rows = 64});
    if (assisted.reports().empty() && !assisted.remarks.empty())
        return test::report_absent("lavapipe", "without GPU-assisted validation: " + assisted.remarks.front());
    REQUIRE_FALSE(assisted.reports().empty());
    CHECK_THAT(assisted.reports().front(), matchers::contains("out of bounds"));
}

TEST_CASE("no kernel of a small layer accesses memory outside its buffers", "[.gpu_assisted]") {
    const Assisted assisted = open_lavapipe();
    if (assisted.device == nullptr) return;
    check_kernels(assisted, "baseline",
                  {"layer_norm", "softmax", "log_softmax", "embedding", "positional_encoding", "dropout", "activation",
                   "pooling", "relative_position_bias", "conv1d", "log_mel"});
    for (const std::string &report : assisted.reports()) FAIL_CHECK(report);
}

TEST_CASE("no tiled kernel accesses memory outside its buffers", "[.gpu_assisted][long]") {
    const Assisted assisted = open_lavapipe();
    if (assisted.device == nullptr) return;
    // Without their baselines: LLVM needs many minutes to compile register tiles with a check at every access.
    check_kernels(assisted, "tiled", {"linear", "feed_forward", "attention"});
    for (const std::string &report : assisted.reports()) FAIL_CHECK(report);
}
