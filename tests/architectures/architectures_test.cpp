// Models in Hugging Face and GGUF format, compared with the results of transformers. make.py wrote models/.
#include "catch.hpp"
#include "places.hpp"
#include "vulkan_devices.hpp"

#include "comparison/record.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>

#include <algorithm>
#include <cmath>

using namespace lamina;
namespace fs = std::filesystem;

namespace {

const fs::path models = fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "models";

// Rows after the end of a sequence have no meaning: they are zeros in the file.
void clear_padding(Tensor &tensor, const TensorMap &inputs) {
    const auto lengths = inputs.find("lengths");
    if (lengths == inputs.end() || tensor.shape().size() != 3) return;
    const auto time = static_cast<size_t>(tensor.shape()[1]), width = static_cast<size_t>(tensor.shape()[2]);
    for (size_t b = 0; b < lengths->second.i32().size(); ++b) {
        const auto end = static_cast<size_t>(lengths->second.i32()[b]);
        std::ranges::fill(tensor.f32().subspan((b * time + end) * width, (time - end) * width), 0.0F);
    }
}

// The largest difference, relative to the largest value.
double difference(const Tensor &found, const Tensor &expected) {
    REQUIRE(found.shape() == expected.shape());
    double largest = 0, worst = 0;
    for (size_t i = 0; i < expected.f32().size(); ++i) {
        const double e = expected.f32()[i], f = found.f32()[i];
        largest = std::max(largest, std::abs(e));
        worst = std::isfinite(f) ? std::max(worst, std::abs(f - e)) : INFINITY;
    }
    return worst / largest;
}

Runtime plain_runtime() {
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    return Runtime(options);
}

Model load(const Runtime &runtime, const fs::path &folder) {
    const fs::path gguf = folder / "model.gguf";
    return runtime.load(fs::exists(gguf) ? gguf : folder);
}

void computes_the_same(const std::string &device) {
    const Runtime runtime = plain_runtime();
    size_t count = 0;
    for (const auto &entry : fs::directory_iterator(models)) {
        INFO(device << ", " << entry.path().filename().string());
        const Model model = load(runtime, entry.path());
        Session session = runtime.session(model, runtime.device(device));
        const ModelContents contents = inspect(model);
        TensorMap encoded; // outputs of the first graph
        comparison::Record golden = comparison::Record::read(entry.path() / "golden.safetensors");
        for (auto &[graph, inputs, results] : golden.graphs) {
            INFO(graph);
            for (const ModelTensor &input : contents.graphs.at(graph).inputs)
                if (encoded.contains(input.name)) inputs.emplace(input.name, encoded.at(input.name));
            TensorMap outputs = session.run(graph, inputs);
            encoded = outputs;
            for (const auto &[name, expected] : results) {
                INFO(name);
                REQUIRE(outputs.contains(name));
                if (graph == "encode" && name != "image_hidden") clear_padding(outputs.at(name), inputs);
                CHECK(difference(outputs.at(name), expected) < 1e-4);
            }
        }
        ++count;
    }
    CHECK(count > 20);
}

} // namespace

TEST_CASE("architectures: references compute what transformers computes") { computes_the_same("reference"); }
TEST_CASE("architectures: the CPU computes what transformers computes") { computes_the_same("cpu"); }
TEST_CASE("architectures: every Vulkan driver computes what transformers computes") {
    for (const Device &device : test::vulkan_devices(Runtime())) computes_the_same(device.id);
}

TEST_CASE("architectures: what transformers computes is a record that a comparison repeats") {
    const Runtime runtime = plain_runtime();
    for (const auto &entry : fs::directory_iterator(models)) {
        INFO(entry.path().filename().string());
        const fs::path golden = entry.path() / "golden.safetensors";
        size_t results = 0;
        const comparison::Record record = comparison::Record::read(golden);
        for (const comparison::Record::Graph &graph : record.graphs) results += graph.outputs.size();
        const RecordComparison found =
            compare_with_record(runtime, load(runtime, entry.path()), runtime.device("cpu"), golden);
        CHECK(found.layers.size() == results);
        CHECK(found.agrees());
    }
}
