// Preparations of plans: they run once for all programs of a session, and again on a reopened device.
#include "../temporary_folder.hpp"
#include "catch.hpp"
#include "conformance/case_graph.hpp"
#include "conformance/verdict.hpp"
#include "faulty_driver.hpp"
#include "model/safetensors.hpp"
#include "places.hpp"
#include "small_model.hpp"

#include <lamina/lamina.hpp>

#include <optional>

using namespace lamina;

namespace {

const char *const one_descriptor_set_a_dispatch = "vkAllocateDescriptorSets";

// A linear layer with weights in blocks, computed by the variant that packs them, for any number of rows.
class Packing {
  public:
    Packing() : plugins_(test::SmallModel().plugins), instance_(test::validated_instance()) {
        backend_ = instance_->open(0, plugins_)->backend(graph(1).weights);
    }

    [[nodiscard]] std::unique_ptr<plan::Program> compile(int64_t rows, const std::string &variant = "packed") const {
        plan::ProgramOptions options;
        options.variants = {variant};
        return backend_->compile(graph(rows).plan, options);
    }
    // Whether a program for this many rows agrees with the reference.
    [[nodiscard]] bool is_right(plan::Program &program, int64_t rows) const {
        const conformance::CaseGraph of_case = graph(rows);
        write_values(program, of_case);
        const Tensor expected = conformance::reference_of(plugins_, of_case, {}).front();
        return compare(run_case(program, of_case).front(), expected, {1e-5, 1e-6, LAMINA_F32, 0}, "y").passed;
    }
    [[nodiscard]] std::string messages() const { return test::messages_of(*instance_); }

  private:
    [[nodiscard]] conformance::CaseGraph graph(int64_t rows) const {
        const abi::Layer &linear = plugins_->layer("linear");
        const std::string text = "T=" + std::to_string(rows) + " K=64 N=67 weights=q8_0";
        return make_case_graph(linear, conformance::parse_case(*linear.contract, text));
    }

    std::shared_ptr<const abi::Registry> plugins_;
    std::shared_ptr<vulkan::Instance> instance_;
    std::unique_ptr<plan::Backend> backend_;
};

} // namespace

TEST_CASE("preparation: programs of different shapes share prepared memory, which is filled once") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const Packing packing;
    std::unique_ptr<plan::Program> few, many;
    const auto dispatches = [&](std::unique_ptr<plan::Program> &program, int64_t rows) {
        return test::calls_of(*faults, one_descriptor_set_a_dispatch, [&] { program = packing.compile(rows); });
    };
    CHECK(dispatches(few, 3) == 2); // packs the weights, and computes
    CHECK(dispatches(many, 20) == 1);
    CHECK(packing.is_right(*few, 3));
    CHECK(packing.is_right(*many, 20));

    few.reset();
    CHECK(dispatches(few, 5) == 1); // the other one still holds it
    few.reset(), many.reset();
    CHECK(dispatches(few, 5) == 2);
    CHECK(packing.is_right(*few, 5));
    CHECK(packing.messages() == "");
}

TEST_CASE("preparation: weights that only a preparation reads do not stay on the device") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const Packing packing;
    const auto blocks = [&] { return faults->alive["vkAllocateMemory"]; };
    const auto made_by = [&](const std::string &variant) {
        const int64_t before = blocks();
        const auto program = packing.compile(3, variant);
        return blocks() - before;
    };
    CHECK(made_by("packed") == made_by("baseline")); // the packed weights replace those of the file
}

TEST_CASE("preparation: it is repeated if the device is lost during it or later") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const TemporaryFolder folder;
    Tensor weight(TensorType{DType::f32, {67, 63}}); // rows of no whole 16 bytes
    for (size_t i = 0; i < weight.f32().size(); ++i) weight.f32()[i] = static_cast<float>(i % 11) - 5;
    model::write_safetensors(folder.path() / "model.safetensors", {{"out.weight", weight}});
    folder.write("model.json", R"({"format": "lamina/1", "name": "one", "graphs": {"main": {
        "inputs": {"x": {"dtype": "f32", "dims": "T 63"}},
        "layers": [{"name": "out", "type": "linear", "inputs": {"x": "x"}}], "outputs": {"y": "out"}}}})");
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    const Runtime runtime(options);
    const Model model = runtime.load(folder.path());
    const auto session_on = [&](const std::string &device) {
        SessionOptions session;
        if (device != "cpu") session.variants["linear"] = "packed";
        return runtime.session(model, runtime.device(device), session);
    };
    const auto run = [&](Session &session, int64_t rows) {
        Tensor x(TensorType{DType::f32, {rows, 63}});
        for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 5);
        return session.run("main", {{"x", x}}).at("y");
    };
    Session cpu = session_on("cpu");
    const auto check = [&](Session &session, int64_t rows) {
        const lamina_tolerance tolerance{1e-5, 1e-6, LAMINA_F32, 0};
        CHECK(compare(run(session, rows), run(cpu, rows), tolerance, "y").passed);
    };
    Session first = session_on("vulkan:0");
    check(first, 3);
    std::optional<Session> fresh;
    const auto begin = [&] { check(fresh.emplace(session_on("vulkan:0")), 3); };
    const uint64_t all = test::calls_of(*faults, "vkQueueSubmit", begin);
    for (uint64_t n = 1; n <= all; ++n) {
        test::fail(*faults, "vkQueueSubmit", n, VK_ERROR_DEVICE_LOST);
        begin();
        check(*fresh, 20);
        check(first, 20); // whose device that was
        check(first, 3);
    }
    test::heal(*faults);
}
