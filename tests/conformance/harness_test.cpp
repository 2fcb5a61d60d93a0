// Tests of the harness itself: it must catch every wrong result. Needs no Vulkan.
#include "conformance/check.hpp"
#include "conformance/kernel_cases.hpp"
#include "cpu/backend.hpp"
#include "interpreter/device.hpp"
#include "mutation.hpp"

#include "catch.hpp"
#include "drivers.hpp"

#include <lamina/plugin/product_numbers.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

using namespace lamina;
using namespace lamina::conformance;

namespace {

// How often each mutation of a layer was caught.
using Tally = std::map<std::string, std::map<MutationResult::Outcome, size_t>>;

// Whether atol lets an error of ten times rtol pass, because a row has only small values.
bool hidden_by_atol(const Verdict &verdict, const lamina_tolerance &tolerance) {
    return 9 * (verdict.limit - tolerance.atol) <= tolerance.atol;
}

Tally tally_of(const abi::Layer &layer) {
    Tally tally;
    CheckOptions options;
    const lamina_tolerance tolerance = tolerance_of(*layer.contract, LAMINA_F32);
    for (const Case &c : cases_of(layer, options).cases) {
        if (!c.values.empty()) continue; // with zeros or tiny values, atol lets any small error pass
        for (const MutationResult &m : try_mutations(test::plugins(), layer, c)) {
            ++tally[m.mutation][m.outcome];
            INFO(layer.id() << " \"" << to_string(c) << "\": " << m.mutation);
            CHECK((m.outcome != MutationResult::Outcome::missed || hidden_by_atol(m.verdict, tolerance)));
        }
    }
    return tally;
}

// A backend whose programs return the right result after `change`, which also gets the number of the run.
class ChangedProgram final : public plan::Program {
  public:
    using Change = std::function<void(size_t run, std::span<std::byte>)>;
    ChangedProgram(std::unique_ptr<plan::Program> inner, Change change, std::string overrun)
        : plan::Program(inner->plan(), plan::ProgramOptions{}), inner_(std::move(inner)), change_(std::move(change)),
          overrun_(std::move(overrun)) {}
    [[nodiscard]] std::string overrun() override { return overrun_; }
    [[nodiscard]] std::string variant(size_t) const override { return "baseline"; }

  private:
    void set(int32_t tensor, std::span<const std::byte> bytes) override { inner_->write(tensor, bytes); }
    void execute() override { inner_->run(), ++runs_; }
    void execute_timed(plan::RunTimes &) override { execute(); }
    void get(int32_t tensor, uint64_t, std::span<std::byte> bytes) override { // checks read whole tensors
        inner_->read(tensor, bytes);
        change_(runs_, bytes);
    }
    void copy_states(plan::Program &, std::span<const plan::StateCopy>) override {} // cases take no states

    std::unique_ptr<plan::Program> inner_;
    Change change_;
    std::string overrun_;
    size_t runs_ = 0;
};

struct ChangedBackend final : plan::Backend {
    std::vector<plan::MemoryNeed> need(const plan::GraphPlan &plan) override { return inner->need(plan); }
    std::unique_ptr<plan::Backend> inner;
    ChangedProgram::Change change;
    std::string overrun;
    std::unique_ptr<plan::Program> compile(plan::GraphPlan plan, const plan::ProgramOptions &) override {
        return std::make_unique<ChangedProgram>(inner->compile(std::move(plan), {}), change, overrun);
    }
};

// A device that runs the references and then changes the result.
struct ChangedDevice final : public plan::Device {
    explicit ChangedDevice(ChangedProgram::Change how, std::string found = {})
        : change(std::move(how)), overrun(std::move(found)) {}
    ChangedProgram::Change change;
    std::string overrun;
    std::string only = "baseline"; // its variant
    plan::Refusal refusal;

    [[nodiscard]] const std::shared_ptr<const abi::Registry> &plugins() const override {
        static const auto all = test::plugins();
        return all;
    }
    [[nodiscard]] std::string id() const override { return "cpu"; }
    [[nodiscard]] std::string name() const override { return "changed"; }
    [[nodiscard]] std::vector<plan::Variant> variants(const abi::Layer &) const override {
        return {{only, LAMINA_F32, only == "baseline"}};
    }
    [[nodiscard]] plan::Refusal why_not(const abi::LayerCall &, const std::string &) override { return refusal; }
    [[nodiscard]] std::unique_ptr<plan::Backend> backend(model::Weights weights) override {
        auto backend = std::make_unique<ChangedBackend>();
        backend->inner = cpu::make_backend(test::plugins(), std::move(weights), nullptr);
        backend->change = change, backend->overrun = overrun;
        return backend;
    }
};

CaseResult only_result(plan::Device &device, size_t soak = 0) {
    CheckOptions options;
    options.soak = soak;
    options.layers = {"layer_norm"};
    options.case_text = "B=2 T=3 C=37 +weight +bias seed=9";
    const CheckReport report = check(device, options);
    REQUIRE(report.results.size() == 1);
    return report.results.front();
}

CaseResult only_changed(const ChangedProgram::Change &change, const std::string &overrun = {}) {
    ChangedDevice device(change, overrun);
    return only_result(device);
}

void leave(size_t, std::span<std::byte>) {}

float &float_at(std::span<std::byte> bytes, size_t index) { return reinterpret_cast<float *>(bytes.data())[index]; }

} // namespace

TEST_CASE("every kernel of a product meets every activation, which generated cases alone do not see to", "[harness]") {
    const abi::Layer &layer = test::plugins()->layer("feed_forward");
    const auto interpreted = interpreter::make_device(test::plugins());
    plan::Device &device = *interpreted;
    std::map<uint32_t, std::set<uint32_t>> met; // by kernel: the activations that it is specialized for
    const auto add = [&](const Case &c, const plan::Variant &variant) {
        for (const plan::Pipeline &pipeline : device.pipelines(call_of(layer, c), variant.name)) {
            const std::map<uint32_t, uint32_t> constants(pipeline.constants.begin(), pipeline.constants.end());
            if (constants.contains(LAMINA_OF_MATRIX_K)) continue; // then LAMINA_OF_ACTIVATION is another
            const auto activation = constants.find(LAMINA_OF_ACTIVATION);
            if (activation != constants.end() && activation->second != LAMINA_NONE)
                met[pipeline.kernel].insert(activation->second);
        }
    };
    const std::vector<Case> cases = cases_of(layer, CheckOptions{}).cases;
    for (const Case &c : cases)
        for (const plan::Variant &variant : device.variants(layer)) add(c, variant);
    const auto all_met = [](const auto &entry) { return entry.second.size() == 5; };
    CHECK_FALSE(std::ranges::all_of(met, all_met));
    const size_t kernels = met.size();
    CHECK(kernels > 10);
    for (const KernelCase &k : kernel_cases(layer, device, cases)) add(k.c, k.variant);
    CHECK(met.size() == kernels);
    for (const auto &[kernel, activations] : met) {
        INFO("kernel " << kernel);
        CHECK(activations.size() == LAMINA_LAST_ACTIVATION);
    }
}

TEST_CASE("every kind of wrong result is caught, for every layer", "[harness]") {
    // Mutations of the result that change something for any layer with rows that differ.
    const std::vector<std::string> everywhere{"all zeros",
                                              "the last row never written",
                                              "the last row left from the one before",
                                              "every row shifted by one",
                                              "the last 16 columns zero",
                                              "two blocks of columns swapped",
                                              "the sign of a row turned",
                                              "one element off by ten times the tolerance",
                                              "one NaN",
                                              "one infinity"};
    for (const auto &[id, layer] : test::plugins()->layers()) {
        if (!gives_floats(layer)) continue;
        const Tally tally = tally_of(layer);
        for (const std::string &mutation : everywhere) {
            INFO(id << ": " << mutation);
            REQUIRE(tally.contains(mutation));
            CHECK(tally.at(mutation).contains(MutationResult::Outcome::caught));
        }
        const bool exact = tolerance_of(*layer.contract, LAMINA_F32).rtol == 0;
        INFO(id << ": scaled by 1 + 10 rtol");
        CHECK(tally.at("scaled by 1 + 10 rtol").contains(MutationResult::Outcome::caught) == !exact);
    }
}

TEST_CASE("a layer that ignores an optional port, a flag or a mask is caught", "[harness]") {
    const auto caught = [](const char *layer, const char *text, const char *mutation) {
        const abi::Layer &l = test::plugins()->layer(layer);
        for (const MutationResult &m : try_mutations(test::plugins(), l, parse_case(*l.contract, text)))
            if (m.mutation == mutation) return m.outcome == MutationResult::Outcome::caught;
        return false;
    };
    CHECK(caught("attention", "B=2 Tq=9 Tk=9 D=8 heads=4 causal=1 +v", "another 'causal'"));
    CHECK(caught("attention", "B=2 Tq=9 Tk=9 D=8 heads=4 causal=1 +v", "'v' left out"));
    CHECK(caught("attention", "B=2 Tq=5 Tk=7 D=8 heads=2 +v +score_bias", "'score_bias' left out"));
    CHECK(caught("attention", "B=3 Tq=9 Tk=9 D=8 heads=4 +v +key_lengths", "'key_lengths' left out"));
    CHECK(caught("attention", "B=3 Tq=9 Tk=9 D=8 heads=4 +v +key_lengths", "'key_lengths' off by one"));
    CHECK(caught("attention", "B=2 Tq=5 Tk=5 D=8 heads=2 +v +keep_mask", "'keep_mask' left out"));
    CHECK(caught("attention", "B=2 Tq=5 Tk=5 D=8 heads=2 +v +key_mask", "'key_mask' left out"));
    CHECK(caught("attention", "B=3 Tq=9 Tk=9 D=8 heads=2 window=2 +v +first_keys", "'first_keys' left out"));
    CHECK(caught("attention", "B=3 Tq=9 Tk=9 D=8 heads=2 window=2 +v +first_keys", "'first_keys' off by one"));
    CHECK(caught("attention", "B=3 Tq=9 Tk=9 D=8 heads=2 +v +query_lengths", "'query_lengths' left out"));
    CHECK(caught("attention", "B=3 Tq=9 Tk=9 D=8 heads=2 +v +query_lengths", "'query_lengths' off by one"));
    CHECK(caught("attention", "B=8 Tq=2 Tk=2 M=40 D=8 heads=2 causal=1 +v +position +key_cache +value_cache",
                 "'position' off by one"));
    CHECK(caught("attention", "B=2 Tq=5 Tk=7 D=8 heads=2 R=3 +v +distance_bias", "'distance_bias' left out"));
    for (const char *mutation :
         {"all zeros", "the last row never written", "the last row left from the one before",
          "every row shifted by one", "the last 16 columns zero", "two blocks of columns swapped",
          "the sign of a row turned", "one element off by ten times the tolerance", "one NaN", "one infinity"})
        CHECK(caught("attention", "B=2 Tq=3 Tk=3 M=9 D=12 heads=2 +v +position +key_cache +value_cache key_cache=f16",
                     (mutation + std::string(", in a state of halves")).c_str()));
    CHECK(caught("activation", "B=2 T=37 activation=gelu", "another 'activation'"));
    CHECK(caught("conv1d", "B=2 S=9 Cin=7 Cout=16 K=3 padding=1 +bias", "'bias' left out"));
    CHECK(caught("conv1d", "B=2 S=9 Cin=7 Cout=16 K=3 padding=1 +bias", "halves of 'weight' swapped"));
    CHECK(caught("embedding", "B=2 T=7 V=31 C=16", "'ids' off by one"));
    CHECK(caught("embedding", "B=2 T=7 V=31 C=16 +residual", "'residual' left out"));
    CHECK(caught("feed_forward", "B=2 T=7 C=16 H=48 activation=gelu +up_bias", "another 'activation'"));
    CHECK(caught("layer_norm", "B=2 T=7 C=16 +residual", "'residual' left out"));
    CHECK(caught("linear", "B=2 T=7 K=31 N=17 +bias +residual", "'bias' left out"));
    CHECK(caught("linear", "B=2 T=7 K=31 N=17 +bias +residual", "'residual' left out"));
    CHECK(caught("linear", "B=2 T=7 K=31 N=18", "halves of 'weight' swapped"));
    CHECK(caught("positional_encoding", "B=2 T=7 C=16 +offset", "'offset' off by one"));
    CHECK(caught("positional_encoding", "B=2 T=7 C=16", "another 'layout'"));
    CHECK(caught("pooling", "B=4 T=7 C=16 +lengths", "'lengths' off by one"));
    CHECK(caught("pooling", "B=4 T=7 C=16 +lengths", "another 'kind'"));
    CHECK(caught("pooling", "B=4 T=7 C=16 +lengths", "another 'normalize'"));
    CHECK(caught("relative_position_bias", "buckets=32 heads=4", "another 'bidirectional'"));
    CHECK(caught("relative_position_bias", "buckets=32 heads=4", "halves of 'table' swapped"));
    CHECK(caught("rms_norm", "B=2 T=7 C=16 +residual", "'residual' left out"));
}

TEST_CASE("a mutation that softmax cancels is known to change nothing", "[harness]") {
    const abi::Layer &attention = test::plugins()->layer("attention");
    const Case c = parse_case(*attention.contract, "B=1 Tq=5 Tk=1 D=8 heads=2 +v +score_bias");
    for (const MutationResult &m : try_mutations(test::plugins(), attention, c))
        if (m.mutation == "'score_bias' left out") CHECK(m.outcome == MutationResult::Outcome::unchanged);
}

TEST_CASE("a correct result passes, with the command that runs it again", "[harness]") {
    const CaseResult result = only_changed(leave);
    CHECK(result.status == CaseResult::Status::passed);
    CHECK(result.verdict.compared == 2 * 3 * 37);
    CHECK(result.replay == "lamina check layer_norm --device cpu --variant baseline --case "
                           "'B=2 C=37 T=3 +bias +weight seed=9'");
}

TEST_CASE("a wrong element fails the case and is named", "[harness]") {
    const CaseResult result =
        only_changed([](size_t, std::span<std::byte> bytes) { float_at(bytes, 3 * 37 + 37 + 5) += 0.25F; });
    CHECK(result.status == CaseResult::Status::failed);
    CHECK_THAT(result.why, matchers::contains("y[1, 1, 5]: expected "));
    CHECK_THAT(result.why, matchers::contains("off by 0.25"));
}

TEST_CASE("a NaN fails the case", "[harness]") {
    const CaseResult result = only_changed(
        [](size_t, std::span<std::byte> bytes) { float_at(bytes, 7) = std::numeric_limits<float>::quiet_NaN(); });
    CHECK(result.status == CaseResult::Status::failed);
    CHECK_THAT(result.why, matchers::contains("found nan"));
}

TEST_CASE("a second run that gives different bits fails, however small the difference", "[harness]") {
    const CaseResult result = only_changed([](size_t run, std::span<std::byte> bytes) {
        float &value = float_at(bytes, 7);
        if (run == 2) value = std::nextafter(value, 100.0F);
    });
    CHECK(result.status == CaseResult::Status::failed);
    CHECK_THAT(result.why, matchers::contains("different bits"));
}

TEST_CASE("a fault that appears now and then is found by soaking, and the odds of missing one are said", "[harness]") {
    ChangedDevice device([](size_t run, std::span<std::byte> bytes) {
        if (run == 40) float_at(bytes, 7) += 1.0F;
    });
    CHECK(only_result(device).status == CaseResult::Status::passed);
    CHECK(only_result(device, 37).status == CaseResult::Status::passed);
    const CaseResult soaked = only_result(device, 38);
    CHECK(soaked.status == CaseResult::Status::failed);
    CHECK_THAT(soaked.why, matchers::contains("run 40 of the same program"));
    CHECK(odds_of_missing(300) == "a fault in 1 of 100 runs would have been missed with probability 0.049");
    CHECK(odds_of_missing(1) == "a fault in 1 of 2 runs would have been missed with probability 0.5");
}

TEST_CASE("a write outside a tensor fails the case, even if every value is right", "[harness]") {
    const CaseResult result = only_changed(leave, "'y'");
    CHECK(result.status == CaseResult::Status::failed);
    CHECK_THAT(result.why, matchers::contains("it wrote outside 'y'"));
}

TEST_CASE("a variant that does not support a case is skipped; a baseline that does not has failed", "[harness]") {
    ChangedDevice device(leave);
    device.refusal = {"C is odd"};
    CHECK(only_result(device).status == CaseResult::Status::failed);
    device.only = "tiled";
    const CaseResult result = only_result(device);
    CHECK(result.status == CaseResult::Status::skipped);
    CHECK(result.why == "C is odd");
    CheckReport report;
    report.results = {result};
    CHECK_FALSE(report.passed()); // skipped is not passed
}

TEST_CASE("a variant that skips every case is unproved, unless the device or the build lacks what it needs",
          "[harness]") {
    ChangedDevice device(leave);
    device.only = "tiled";
    device.refusal = {"C is odd"};
    CheckReport report;
    report.results = {only_result(device), only_result(device)};
    CHECK(report.unproved() == std::vector<std::string>{"layer_norm, tiled"});
    device.refusal.missing = true;
    report.results.back() = only_result(device);
    CHECK(report.unproved().empty());
}

TEST_CASE("a kernel that throws is a failed case, and the check goes on", "[harness]") {
    ChangedDevice device(
        [](size_t, std::span<std::byte>) { throw Error(ErrorCode::failure, "the driver made no pipeline of it"); });
    CHECK_THAT(only_result(device).why, matchers::contains("made no pipeline"));
}

TEST_CASE("a lost or full device fails no case: the check ends with the command that runs the case again",
          "[harness]") {
    for (const ErrorCode code : {ErrorCode::device_lost, ErrorCode::memory}) {
        ChangedDevice device([=](size_t, std::span<std::byte>) { throw Error(code, "gone."); });
        CHECK_THAT(message_of([&] { (void)only_result(device); }),
                   matchers::contains("gone. Replay: lamina check layer_norm"));
    }
}

TEST_CASE("a layer or variant that does not exist is refused by name", "[harness]") {
    ChangedDevice device(leave);
    CheckOptions options;
    options.layers = {"layer_nrom"};
    CHECK_THAT(message_of([&] { (void)check(device, options); }), matchers::contains("layer_norm"));
    options.layers = {"layer_norm"};
    options.variants = {"basline"};
    CHECK_THAT(message_of([&] { (void)check(device, options); }), matchers::contains("did you mean 'baseline'"));
}
