// Every kernel of every plugin of the build, interpreted on cases that its layer declares.
#include "catch.hpp"
#include "conformance/check.hpp"
#include "kernels.hpp"

#include <limits>
#include <span>

using namespace lamina;
using namespace lamina::conformance;

namespace {

// Checks variants of a layer (all, if none is named); returns how many cases passed.
size_t check_layer(const abi::Layer &layer, plan::Device &device, const std::vector<std::string> &variants,
                   double work) {
    size_t passed = 0;
    for (const std::string &text : test::cases_of(layer, work)) {
        CheckOptions options;
        options.layers = {std::string(layer.id())};
        options.variants = variants;
        options.case_text = text;
        const CheckReport report = check(device, options);
        passed += report.count(CaseResult::Status::passed);
        for (const CaseResult &r : report.results) {
            INFO(r.replay);
            if (r.status == CaseResult::Status::failed) FAIL_CHECK(r.why);
        }
    }
    return passed;
}

} // namespace

TEST_CASE(
    "no kernel has a race, leaves an array or reads what nothing has written, and all agree with the references") {
    const auto device = interpreter::make_device(test::plugins());
    for (const auto &[id, layer] : test::plugins()->layers()) {
        INFO(id);
        CHECK(check_layer(layer, *device, {}, test::most_work) != 0);
        // The smaller cases dispatch all kernels but those that only other devices run.
        const std::vector<std::string> all = test::cases_of(layer, std::numeric_limits<double>::infinity());
        CHECK(test::kernels_in(test::cases_of(layer), layer, *device) == test::kernels_in(all, layer, *device));
    }
}

TEST_CASE("loops that drivers unroll are not counted among those that may be too long") {
    CheckOptions options;
    options.layers = {"attention"};
    options.variants = {"baseline"};
    options.case_text = "B=1 Tq=1 Tk=4096 D=32 heads=1"; // 169,000 rounds, of which drivers leave 4,600
    const CheckReport report = check(*interpreter::make_device(test::plugins()), options);
    REQUIRE(report.results.size() == 1);
    CHECK(report.results.front().why.empty());
    CHECK(report.count(CaseResult::Status::passed) == 1);
}

TEST_CASE("subgroups may have any size") {
    constexpr uint64_t subgroups =
        LAMINA_FEATURE_SUBGROUP_BASIC | LAMINA_FEATURE_SUBGROUP_ARITHMETIC | LAMINA_FEATURE_SUBGROUP_SHUFFLE;
    for (const uint32_t size : {4u, 8u, 64u, 128u}) {
        const auto device = interpreter::make_device(test::plugins(), size);
        size_t passed = 0;
        for (const auto &[id, layer] : test::plugins()->layers()) {
            std::vector<std::string> variants;
            for (const lamina_variant &v : std::span(layer.contract->variants, layer.contract->n_variants))
                if ((v.needs & subgroups) != 0) variants.emplace_back(v.name);
            if (!variants.empty()) passed += check_layer(layer, *device, variants, 1e5);
        }
        CHECK(passed > 20);
    }
}
