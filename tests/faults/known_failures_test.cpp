// What went wrong elsewhere, and reached users as wrong text: the same kind of fault, planted here, is found before a
// kernel is used. docs/known_failures.md tells of each; its table and this file name the same ones.
#include "../interpreter/edited_layer.hpp"
#include "api/access.hpp"
#include "catch.hpp"
#include "conformance/check.hpp"
#include "faulty_driver.hpp"
#include "places.hpp"

#include <lamina/lamina.hpp>

#include <fstream>
#include <regex>
#include <set>

using namespace lamina;
using Status = CaseResult::Status;

namespace {

// A kernel that a driver compiles to something else than its source says.
struct Miscompiled {
    const char *issue;
    const char *layer, *kernel;
    const char *file, *text, *becomes; // in the kernel's source
    const char *variant, *case_text;   // on lavapipe; nullptr: the interpreter finds what drivers may let pass
    const char *finding;               // a part of it
    const char *case_unharmed;         // one in which nothing is wrong; nullptr: none is asked for
};

const std::vector<Miscompiled> miscompiled{
    // Products of Q4_0 are wrong wherever integers are unpacked.
    {"llama.cpp #17106", "linear", "product_registers_blocks", "common/blocks.glsl",
     "return scale * (bytes_of(q) - (five ? 16.0 : 8.0));", "return scale * (signed_bytes(q) - (five ? 16.0 : 9.0));",
     "baseline", "B=1 T=2 K=64 N=8 weights=q4_0", "y", nullptr},
    // Q4_K is wrong, q8_0 is right.
    {"llama.cpp #16961", "linear", "product_registers_blocks", "common/blocks.glsl",
     "q = nibbles(name##_words[low + part / 2u * 8u + j], part % 2u == 1u);",
     "q = nibbles(name##_words[low + part / 2u * 8u + j], part % 2u == 0u);", "baseline",
     "B=1 T=2 K=256 N=8 weights=q4_k", "y", "B=1 T=2 K=256 N=8 weights=q8_0"},
    // Shared memory that is too small for the tiles of experts.
    {"llama.cpp #17055", "experts", "experts_tiled", "product/tiled.glsl", "x_tile[DEPTH * X_LINE]",
     "x_tile[(DEPTH - 1u) * X_LINE]", nullptr, nullptr, "it accesses x_tile[", nullptr},
    // Wrong only where a dispatch has many workgroups.
    {"llama.cpp #16881", "activation", "activation", "common/workgroup.glsl",
     "gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x",
     "(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) % 16u", "baseline", "B=5 T=1009 activation=tanh", "y",
     "B=3 T=64 activation=silu"},
    // The sum over a subgroup counts half of its invocations.
    {"ollama #13086", "linear", "product_few_rows_subgroup_vec4", "product/few_rows.glsl", "subgroupAdd(sum[r])",
     "subgroupAdd(gl_SubgroupInvocationID % 2u == 0u ? sum[r] : vec4(0.0))", "subgroup", "B=1 T=2 K=2048 N=5 +bias",
     "y", nullptr},
    // Sums are rounded to 16 bits.
    {"ncnn #6818", "linear", "product_registers_vec4", "product/registers.glsl",
     "sum[r] += vec4(dot(v, w0), dot(v, w1), dot(v, w2), dot(v, w3));",
     "{ const vec4 s = sum[r] + vec4(dot(v, w0), dot(v, w1), dot(v, w2), dot(v, w3)); "
     "sum[r] = vec4(unpackHalf2x16(packHalf2x16(s.xy)), unpackHalf2x16(packHalf2x16(s.zw))); }",
     "baseline", "B=4 T=16 K=128 N=128 +bias", "y", nullptr},
    // A kernel that returns before a barrier, and a tanh that overflows to NaN.
    {"executorch #22322", "softmax", "softmax", "common/workgroup_sum.glsl",
     "[PART] = part;\n    barrier();\n    float sum",
     "[PART] = part;\n    if (gl_LocalInvocationID.x >= 32u) return 0.0;\n    barrier();\n    float sum", nullptr,
     nullptr, "it waits at a barrier", nullptr},
    {"executorch #22322", "activation", "activation", "common/tanh.glsl",
     "if (a > 9.1) return sign(x); // closer to 1 than floats are",
     "if (a > 9.1) return (exp(99.0 * a) - 1.0) / "
     "(exp(99.0 * a) + 1.0) * sign(x);",
     "baseline", "B=2 T=63 activation=tanh scale=0.01 x=huge", "nan", nullptr},
};

std::vector<plan::Variant> variant_of(plan::Device &device, const abi::Layer &layer, const std::string &name) {
    std::vector<plan::Variant> out = device.variants(layer);
    std::erase_if(out, [&](const plan::Variant &v) { return v.name != name; });
    return out;
}

CaseResult try_case(plan::Device &device, const abi::Layer &layer, const char *variant, const char *text) {
    const conformance::Case c = conformance::parse_case(*layer.contract, text);
    return check_case(device, layer, c, variant_of(device, layer, variant)).at(0);
}

// Why the layers of a driver with these faults fail; empty if they pass.
std::string fault_of_results(const std::vector<std::string> &layers, const std::string &case_text = "") {
    std::string why_not;
    const auto instance = vulkan::Instance::create({.pipeline_cache = false}, why_not);
    REQUIRE(instance != nullptr);
    const auto device = instance->open(0, test::plugins());
    CheckOptions options;
    options.layers = layers;
    options.variants = {"baseline"};
    options.case_text = case_text;
    options.own_cases_only = true;
    for (const CaseResult &r : conformance::check(*device, options).results)
        if (r.status == Status::failed) return r.why;
    return "";
}

// What `lose` makes of a text that g2p writes: "right" if it is the same after the device was lost and opened anew.
std::string text_after_loss(const std::function<void()> &lose, const SessionOptions &how) {
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    size_t losses = 0;
    options.notify = [&](const std::string &line) { losses += line.find("was lost") != std::string::npos ? 1 : 0; };
    const Runtime runtime(options);
    const Model model = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    Session session = runtime.session(model, runtime.device("vulkan:0"), how);
    const auto before = session.generate({"vulkan"});
    lose();
    const auto after = session.generate({"vulkan"});
    if (losses != 1) return std::to_string(losses) + " losses";
    return before == after ? "right" : "another text";
}

// Faults of a driver that no kernel's source shows, and what is found of each.
struct Misbehaviour {
    const char *issue;
    std::function<std::string(test::Faults &)> found;
    const char *finding; // a part of it
};

const std::vector<Misbehaviour> misbehaviours{
    // A tile of rows is stale in every third run.
    {"executorch #22327",
     [](test::Faults &f) {
         f.lossy_submission = 3;
         return fault_of_results({"linear"}, "B=2 T=65 K=768 N=97 +bias");
     },
     "y["},
    // The same in one run of 23, which one case may miss, and the cases of a layer do not.
    {"executorch #21939",
     [](test::Faults &f) {
         f.lossy_submission = 23;
         return fault_of_results({"linear"});
     },
     ""},
    // Kernels write nothing.
    {"executorch #17299",
     [](test::Faults &f) {
         f.lossy_submission = 1;
         f.loses_all = true;
         return fault_of_results({"linear"}, "B=1 T=1 K=64 N=127 +bias weights=f16");
     },
     "y"},
    // The driver cannot build a kernel.
    {"llama.cpp #28635",
     [](test::Faults &f) {
         test::fail(f, "vkCreateComputePipelines", 1, VK_ERROR_UNKNOWN);
         return fault_of_results({"linear"}, "B=1 T=2 K=256 N=8 weights=q4_k");
     },
     "building its pipeline"},
    // The device is lost in a step of a text, and while a long one is waited for.
    {"llama.cpp #19955",
     [](test::Faults &f) {
         return text_after_loss([&] { test::fail(f, "vkQueueSubmit", 3, VK_ERROR_DEVICE_LOST); }, {});
     },
     "right"},
    {"llama.cpp #27076",
     [](test::Faults &f) {
         SessionOptions how;
         how.cache = DType::f16;
         return text_after_loss([&] { test::fail(f, "vkWaitForFences", 4, VK_ERROR_DEVICE_LOST); }, how);
     },
     "right"},
};

// The first cells of the rows of the page's table of which the last cell has this text.
std::set<std::string> issues_on_page(const std::string &last) {
    std::ifstream page(LAMINA_SOURCE_DIR "/docs/known_failures.md");
    const std::regex row(R"(\| \[([^\]]+)\]\([^)]+\) \|.*\| ([^|]+) \|)");
    std::set<std::string> out;
    std::smatch found;
    for (std::string line; std::getline(page, line);)
        if (std::regex_match(line, found, row) && found[2].str().starts_with(last)) out.insert(found[1]);
    return out;
}

} // namespace

TEST_CASE("known failures: kernels that are miscompiled as elsewhere fail their cases") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    std::string why_not;
    const auto instance = vulkan::Instance::create({.pipeline_cache = false}, why_not);
    REQUIRE(instance != nullptr);
    const auto device = instance->open(0, test::plugins());
    for (const Miscompiled &m : miscompiled) {
        INFO(m.issue << ": " << m.text << " -> " << m.becomes);
        const abi::Layer &layer = test::plugins()->layer(m.layer);
        const test::EditedLayer edited(layer, m.kernel, test::edit(m.file, m.text, m.becomes));
        if (m.case_text == nullptr) {
            CHECK_THAT(edited.fault(), matchers::contains(m.finding));
            continue;
        }
        CHECK(try_case(*device, layer, m.variant, m.case_text).status == Status::passed);
        const CaseResult result = try_case(*device, edited.layer(), m.variant, m.case_text);
        CHECK(result.status == Status::failed);
        CHECK_THAT(result.why, matchers::contains(m.finding));
        if (m.case_unharmed == nullptr) continue;
        CHECK(try_case(*device, edited.layer(), m.variant, m.case_unharmed).status == Status::passed);
    }
}

TEST_CASE("known failures: a driver that misbehaves as elsewhere is found out, or does no harm") {
    for (const Misbehaviour &m : misbehaviours) {
        test::Faults *const faults = test::faulty_driver();
        if (faults == nullptr) return;
        INFO(m.issue);
        const std::string found = m.found(*faults);
        CHECK(found != "");
        CHECK_THAT(found, matchers::contains(m.finding));
    }
}

TEST_CASE("known failures: the page's table says which faults are planted") {
    std::set<std::string> planted;
    for (const Miscompiled &m : miscompiled) planted.insert(m.issue);
    for (const Misbehaviour &m : misbehaviours) planted.insert(m.issue);
    CHECK(issues_on_page("yes") == planted);
    CHECK(issues_on_page("no").size() == 1);
}
