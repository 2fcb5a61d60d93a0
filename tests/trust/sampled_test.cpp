// Comparisons in which references compute only some rows.
#include "catch.hpp"
#include "wrong_layers.hpp"

#include <algorithm>

using namespace lamina;
using namespace test;

namespace {

constexpr int64_t rows = 2000, columns = 5;

Runtime runtime_for(const TemporaryFolder &cache) {
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    RuntimeOptions options;
    options.plugin_folders = {WRONG_EXECUTOR, WRONG_PLUGINS, LAMINA_PLUGIN_DIR};
    return Runtime(options);
}

// Three layers; the reference of the second one takes long.
Model planted(const Runtime &runtime) {
    return runtime.load(ModelDescription{.name = "planted",
                                         .json = R"({"format": "lamina/1", "name": "planted", "summary": "",
        "graphs": {"run": {"inputs": {"x": {"dtype": "f32", "dims": "R C"}},
                           "layers": [{"name": "first", "type": "dropout", "inputs": {"x": "x"}},
                                      {"name": "second", "type": "planted"}, {"name": "third", "type": "dropout"}],
                           "outputs": {"y": "third"}}}})",
                                         .weights = {{"second.table", Tensor(TensorType{DType::f32, {1000, 1000}})}},
                                         .vocabularies = {}});
}

// The executor's kernel is wrong in this row; -1: in none.
CompareOptions fault_in(int64_t row) {
    CompareOptions options;
    options.inputs["x"] = ramp(rows, columns);
    options.inputs["x"].f32()[0] = static_cast<float>(row);
    return options;
}

} // namespace

TEST_CASE("compare: a sample of a large layer's rows names a kernel that is wrong in the last of them") {
    const TemporaryFolder cache;
    const Runtime runtime = runtime_for(cache);
    const Comparison right = compare(runtime, planted(runtime), runtime.device("cpu"), fault_in(-1));
    CHECK(right.agrees());
    REQUIRE(right.layers.size() == 3);
    CHECK(right.layers[0].compared_rows == rows); // little work
    CHECK(right.layers[1].rows == rows);
    CHECK(right.layers[1].compared_rows == 256);
    CHECK(right.sampled() == 1);
    CHECK_THAT(right.summary(), matchers::contains("all 3 layers") && matchers::contains("1 of them in a sample"));

    const Comparison wrong = compare(runtime, planted(runtime), runtime.device("cpu"), fault_in(rows - 1));
    REQUIRE(wrong.first_wrong() != nullptr);
    CHECK(wrong.first_wrong()->layer == "second");
    CHECK(wrong.first_wrong()->own.index.front() == rows - 1);
    CHECK(wrong.layers[2].own.passed); // given the same input
}

TEST_CASE("compare: all rows, if asked for, show what no sample has on the device that it is made with") {
    const TemporaryFolder cache;
    const Runtime runtime = runtime_for(cache);
    CompareOptions options = fault_in(1234);
    CHECK(compare(runtime, planted(runtime), runtime.device("cpu"), options).agrees());
    options.all_rows = true;
    const Comparison all = compare(runtime, planted(runtime), runtime.device("cpu"), options);
    REQUIRE(all.first_wrong() != nullptr);
    CHECK(all.first_wrong()->layer == "second");
    CHECK(all.first_wrong()->own.index.front() == 1234);
    CHECK(all.first_wrong()->compared_rows == rows);
    CHECK(all.sampled() == 0);
}

TEST_CASE("compare: on a GPU, rows in which it differs from the CPU's kernel are compared beside the sample") {
    const TemporaryFolder cache;
    const Runtime runtime = runtime_for(cache);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    CompareOptions options = fault_in(1234); // of the CPU's kernel: the device is right there
    options.variants["planted"] = "baseline";
    const Comparison right = compare(runtime, planted(runtime), *device, options);
    CHECK(right.layers[1].own.passed);
    CHECK(right.layers[1].compared_rows == 257);
    options.variants["planted"] = "fast";
    const Comparison wrong = compare(runtime, planted(runtime), *device, options);
    REQUIRE(wrong.first_wrong() != nullptr);
    CHECK(wrong.first_wrong()->layer == "second");
    CHECK(wrong.first_wrong()->own.index.front() >= 1500);
}
