// Multi-head attention with projections, built from layers and compared with torch.nn.MultiheadAttention. The files in
// attention/ describe what to build.
#include "system.hpp"

#include "catch.hpp"

#include "api/access.hpp"
#include "cpu/backend.hpp"
#include "model/safetensors.hpp"
#include "places.hpp"
#include "plan/program.hpp"

#include <filesystem>

using namespace lamina;

namespace {

const std::filesystem::path folder = std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "models" / "attention";

std::string inputs_of(const Expected &expected) {
    std::string out;
    for (const auto &[name, tensor] : expected.in) {
        std::string dims;
        for (const int64_t size : tensor.shape()) dims += (dims.empty() ? "" : " ") + std::to_string(size);
        out += (out.empty() ? "\"" : ", \"") + name + R"(": {"dtype": ")" + name_of(tensor.dtype()) +
               R"(", "dims": ")" + dims + "\"}";
    }
    return out;
}

// Masks, lengths and positions: the inputs of the heads besides queries, keys and values.
std::string more_of(const Expected &expected) {
    std::string out;
    for (const auto &[name, tensor] : expected.in)
        if (name != "query" && name != "source" && name != "residual") out += ", \"" + name + "\": \"" + name + "\"";
    return out;
}

ModelDescription block(const Expected &expected, const std::string &params) {
    const std::string source = expected.in.contains("source") ? "source" : "query";
    const std::string residual = expected.in.contains("residual") ? R"(, "inputs": {"residual": "residual"})" : "";
    ModelDescription model;
    model.name = "attention";
    model.json = R"({"format": "lamina/1", "name": "attention", "graphs": {"encode": {"inputs": {)" +
                 inputs_of(expected) + R"(}, "layers": [
        {"name": "attention.query", "type": "linear", "inputs": {"x": "query"}},
        {"name": "attention.key", "type": "linear", "inputs": {"x": ")" +
                 source + R"("}},
        {"name": "attention.value", "type": "linear", "inputs": {"x": ")" +
                 source + R"("}},
        {"name": "attention.heads", "type": "attention", "params": )" +
                 params + R"(, "inputs": {"q": "attention.query", "k": "attention.key", "v": "attention.value")" +
                 more_of(expected) + R"(}},
        {"name": "attention.out", "type": "linear")" +
                 residual + R"(}], "outputs": {"y": "attention.out"}}}})";
    for (const auto &[name, tensor] : expected.weight) model.weights["attention." + name] = tensor;
    return model;
}

std::vector<std::filesystem::path> files() {
    std::vector<std::filesystem::path> out;
    for (const auto &file : std::filesystem::directory_iterator(folder))
        if (file.path().extension() == ".safetensors") out.push_back(file.path());
    return out;
}

} // namespace

TEST_CASE("attention: projections, heads and output agree with PyTorch's module") {
    size_t checked = 0;
    for (const auto &file : files()) {
        INFO(file.string());
        const Expected expected = read_expected(file);
        if (!expected.state.empty()) continue;
        const std::string params = model::open_safetensors(file).metadata.at("params");
        check_on_all_devices(runtime().load(block(expected, params)), expected);
        ++checked;
    }
    CHECK(checked == 10);
}

TEST_CASE("attention: a step with a cache gives the last row of the whole, and adds its keys and values to the cache") {
    const std::filesystem::path file = folder / "cached_step.safetensors";
    const Expected expected = read_expected(file);
    const std::string params = model::open_safetensors(file).metadata.at("params");
    const Model loaded = runtime().load(block(expected, params));
    const model::Model &model = *detail::Access::model(loaded);
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});

    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : expected.in) shapes.inputs[name] = tensor.type();
    shapes.state_length = expected.state.at("key_cache").shape()[1];
    const auto program = cpu::make_backend(plugins, model.weights, nullptr)
                             ->compile(plan::plan_graph(model, model.graphs.at("encode"), *plugins, shapes), {});
    const plan::GraphPlan &plan = program->plan();
    for (const auto &[name, tensor] : expected.in) program->write(plan.inputs.at(name), tensor.bytes());
    for (const auto &[name, tensor] : expected.state)
        program->write(plan.tensor("attention.heads." + name), tensor.bytes());
    program->run();
    const auto check = [&](int32_t index, const Tensor &after) {
        Tensor found(after.type());
        program->read(index, found.bytes());
        CHECK(agree(found, after));
    };
    check(plan.outputs.at("y"), expected.out.at("y"));
    REQUIRE(expected.state_after.size() == 2);
    for (const auto &[name, tensor] : expected.state_after) check(plan.tensor("attention.heads." + name), tensor);
}
