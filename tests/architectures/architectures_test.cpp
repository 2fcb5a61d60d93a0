// Models in Hugging Face and GGUF format, compared with the results of transformers. make.py wrote models/.
#include "catch.hpp"
#include "places.hpp"
#include "vulkan_devices.hpp"

#include "model/safetensors.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>

#include <algorithm>
#include <cmath>

using namespace lamina;
namespace fs = std::filesystem;

namespace {

const fs::path models = fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "models";

struct Golden {
    std::string graph;
    TensorMap inputs, outputs;
};

Tensor copy_of(const model::Weight &weight) {
    Tensor out(weight.type);
    std::ranges::copy(weight.bytes, out.bytes().begin());
    return out;
}

Golden golden_of(const fs::path &path) {
    const model::Safetensors file = model::open_safetensors(path);
    Golden golden{file.metadata.at("graph"), {}, {}};
    for (const auto &[name, weight] : file.weights.entries()) {
        const size_t dot = name.find('.');
        (name.substr(0, dot) == "in" ? golden.inputs : golden.outputs).emplace(name.substr(dot + 1), copy_of(weight));
    }
    return golden;
}

// In the order in which the graphs run.
std::vector<Golden> goldens_of(const fs::path &folder) {
    std::vector<Golden> goldens{golden_of(folder / "golden.safetensors")};
    if (const fs::path decode = folder / "golden_decode.safetensors"; fs::exists(decode))
        goldens.push_back(golden_of(decode));
    return goldens;
}

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

void computes_the_same(const std::string &device) {
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    const Runtime runtime(options);
    size_t count = 0;
    for (const auto &entry : fs::directory_iterator(models)) {
        INFO(device << ", " << entry.path().filename().string());
        const fs::path gguf = entry.path() / "model.gguf";
        const Model model = runtime.load(fs::exists(gguf) ? gguf : entry.path());
        Session session = runtime.session(model, runtime.device(device));
        const ModelContents contents = inspect(model);
        TensorMap encoded; // outputs of the first graph
        for (Golden &golden : goldens_of(entry.path())) {
            INFO(golden.graph);
            for (const ModelTensor &input : contents.graphs.at(golden.graph).inputs)
                if (encoded.contains(input.name)) golden.inputs.emplace(input.name, encoded.at(input.name));
            TensorMap outputs = session.run(golden.graph, golden.inputs);
            encoded = outputs;
            for (const auto &[name, expected] : golden.outputs) {
                INFO(name);
                REQUIRE(outputs.contains(name));
                if (golden.graph == "encode") clear_padding(outputs.at(name), golden.inputs);
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
