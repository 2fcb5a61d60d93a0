// Matchers for Catch2, version 2 or 3, that compare GPU kernels with their references. The test of a layer is three
// lines:
//
//     TEST_CASE("rms_norm agrees with its reference on every device") {
//         CHECK_THAT("rms_norm", lamina::testing::agrees_on_every_device());
//     }
//
// Plugins are found in $LAMINA_PLUGIN_PATH, which lamina_add_layer_test() sets, and in Lamina's own folder.
#pragma once

#include <lamina/proof.hpp>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#include <catch2/matchers/catch_matchers.hpp>
namespace lamina::testing {
template <class T> using Matcher = Catch::Matchers::MatcherBase<T>;
}
#else
#include <catch2/catch.hpp>
namespace lamina::testing {
template <class T> using Matcher = Catch::MatcherBase<T>;
}
#endif

#include <string>
#include <utility>
#include <vector>

// How Catch2 prints them.
namespace Catch {

template <> struct StringMaker<lamina::Tensor> {
    static std::string convert(const lamina::Tensor &tensor) {
        std::string out = lamina::name_of(tensor.dtype());
        out += ' ' + lamina::to_string(tensor.shape());
        if (tensor.dtype() == lamina::DType::f32) out += shown(tensor.f32());
        if (tensor.dtype() == lamina::DType::i32) out += shown(tensor.i32());
        return out;
    }

  private:
    template <class Values> static std::string shown(const Values &values) {
        constexpr size_t most = 12;
        std::string out = ":";
        for (size_t i = 0; i < values.size() && i < most; ++i) out += ' ' + Detail::stringify(values[i]);
        return values.size() > most ? out + " ..." : out;
    }
};

template <> struct StringMaker<lamina::Model> {
    static std::string convert(const lamina::Model &model) { return "model " + model.name(); }
};

} // namespace Catch

namespace lamina::testing {

// The runtime that the matchers use. It keeps nothing in ~/.cache, so that every test run proves everything itself.
[[nodiscard]] inline const Runtime &runtime() {
    static const Runtime made({.cache = false});
    return made;
}

// ---- Layers ----

// Matches a layer (by id) if every variant agrees with the reference, on the layer's own cases and on generated ones.
// Does not match if no kernel ran.
class AgreesOnDevices : public Matcher<std::string> {
  public:
    explicit AgreesOnDevices(std::vector<std::string> ids) : ids_(std::move(ids)) {}

    bool match(const std::string &layer) const override {
        size_t passed = 0, failed = 0;
        faults_.clear();
        for (const Device &device : devices()) {
            const CheckReport report = check(runtime(), device, {.layers = {layer}});
            passed += report.count(CaseResult::Status::passed);
            for (const CaseResult &result : report.results)
                if (result.status == CaseResult::Status::failed && ++failed <= most_shown)
                    faults_ += "\n" + result.replay + "\n    " + result.why;
            for (const std::string &name : report.unproved()) {
                ++failed;
                faults_ += "\n" + name + ": it skipped every case on " + device.id;
            }
        }
        if (failed > most_shown) faults_ += "\nand " + std::to_string(failed - most_shown) + " more cases fail";
        if (passed + failed == 0) faults_ = "\nno kernel ran, so nothing is proved. " + why_not();
        return failed == 0 && passed != 0;
    }

    std::string describe() const override {
        return "agrees with its reference on " + (ids_.empty() ? "every device" : joined(ids_)) + faults_;
    }

  private:
    static constexpr size_t most_shown = 5;

    [[nodiscard]] std::vector<Device> devices() const {
        std::vector<Device> out;
        for (const std::string &id : ids_) out.push_back(runtime().device(id));
        if (ids_.empty())
            for (Device &device : runtime().devices())
                if (device.unusable.empty()) out.push_back(std::move(device));
        return out;
    }
    [[nodiscard]] static std::string why_not() {
        const std::string none = runtime().no_vulkan();
        return none.empty() ? "On the CPU a layer without a fast kernel runs as its reference: name a Vulkan device"
                            : none;
    }
    [[nodiscard]] static std::string joined(const std::vector<std::string> &words) {
        std::string out;
        for (const std::string &word : words) out += (out.empty() ? "" : ", ") + word;
        return out;
    }

    std::vector<std::string> ids_; // empty: every usable device
    mutable std::string faults_;   // of the last match
};

// On every usable Vulkan device, including software drivers, and with the CPU's fast kernels.
[[nodiscard]] inline AgreesOnDevices agrees_on_every_device() { return AgreesOnDevices({}); }
// On one device. Matching throws Error(no_device) if it is absent.
[[nodiscard]] inline AgreesOnDevices agrees_on(const std::string &device) { return AgreesOnDevices({device}); }

// The first output of one layer. `params` is JSON as in model.json: R"({"eps": 0})". Inputs and weights are named by
// port. By default the layer's reference computes it, so that you can compare it with numbers worked out by hand.
[[nodiscard]] inline Tensor output_of(const std::string &layer, const std::string &params, const TensorMap &inputs,
                                      const TensorMap &weights = {}, const std::string &device = "reference") {
    ModelDescription model{"a model of " + layer + " alone", {}, {}, {}};
    std::string graph_inputs, ports;
    for (const auto &[port, tensor] : inputs) {
        const std::string comma = ports.empty() ? "" : ", ", name = '"' + port + '"';
        std::string dims;
        for (const int64_t size : tensor.shape()) {
            dims += dims.empty() ? "" : " ";
            dims += std::to_string(size);
        }
        graph_inputs += comma + name + R"(: {"dtype": ")" + name_of(tensor.dtype()) + R"(", "dims": ")" + dims + "\"}";
        ports += comma + name + ": " + name;
    }
    for (const auto &[port, tensor] : weights) model.weights["layer." + port] = tensor;
    model.json = R"({"format": "lamina/1", "name": ")" + layer + R"(", "graphs": {"main": {"inputs": {)" +
                 graph_inputs + R"(}, "layers": [{"name": "layer", "type": ")" + layer + R"(", "inputs": {)" + ports +
                 R"(}, "params": )" + params + R"(}], "outputs": {"output": "layer"}}}})";
    Session session = runtime().session(runtime().load(model), runtime().device(device));
    return session.run("main", inputs).at("output");
}

// ---- Tensors ----

// Matches a tensor of the same type and shape if max|difference| <= rtol * max|expected| + atol in every row, with NaN
// and infinities in the same places.
class CloseTo : public Matcher<Tensor> {
  public:
    CloseTo(Tensor expected, double rtol, double atol)
        : expected_(std::move(expected)), tolerance_{rtol, atol, LAMINA_F32, 0} {}

    bool match(const Tensor &tensor) const override {
        const Verdict verdict = compare(tensor, expected_, tolerance_, "");
        why_ = tensor.type() == expected_.type() ? verdict.text() : "different type or shape";
        return verdict.passed;
    }
    std::string describe() const override {
        return "is close to " + Catch::StringMaker<Tensor>::convert(expected_) + "\n" + why_;
    }

  private:
    Tensor expected_;
    lamina_tolerance tolerance_;
    mutable std::string why_;
};

[[nodiscard]] inline CloseTo close_to(const Tensor &expected, double rtol, double atol = 0) {
    return {expected, rtol, atol};
}

// ---- Models ----

// Matches a model if every layer, given what the references computed on the CPU, agrees with its own reference on the
// device.
class SameAsCpu : public Matcher<Model> {
  public:
    SameAsCpu(std::string device, CompareOptions options) : device_(std::move(device)), options_(std::move(options)) {}

    bool match(const Model &model) const override {
        const Comparison comparison = compare(runtime(), model, runtime().device(device_), options_);
        summary_ = comparison.summary();
        return comparison.agrees() && !comparison.layers.empty();
    }
    std::string describe() const override {
        return "agrees with its layers' references on " + device_ + "\n" + summary_;
    }

  private:
    std::string device_;
    CompareOptions options_;
    mutable std::string summary_;
};

// The model must be loaded by runtime(). A model that does not take text needs the inputs of one graph.
[[nodiscard]] inline SameAsCpu same_as_cpu(const std::string &device, const TensorMap &inputs = {}) {
    return {device, {.inputs = inputs}};
}

} // namespace lamina::testing
