#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include "model/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("compare: every layer of both graphs on the CPU's fast kernels agrees with the references") {
    const Finished f = run_lamina({"compare", g2p(), "vulkan", "--device", "cpu", "--json"});
    REQUIRE(f.status == 0);
    const json comparison = json::parse(f.out);
    CHECK(comparison["agrees"] == true);
    CHECK(comparison["device"]["id"] == "cpu");
    CHECK_THAT(comparison["summary"].get<std::string>(), matchers::contains("agree with the reference"));
    REQUIRE(comparison["layers"].size() == 96);
    for (const json &layer : comparison["layers"]) {
        INFO(layer["layer"]);
        CHECK(layer["own"]["passed"] == true);
        CHECK(layer["own"]["ratio"].get<double>() <= 1);
    }
}

TEST_CASE("compare: the table has a line a layer and a closing line") {
    const Finished f = run_lamina({"compare", g2p(), "a", "--device", "cpu"});
    REQUIRE(f.status == 0);
    const auto lines = lines_of(f.out);
    REQUIRE(lines.size() == 99); // head, 96 layers, an empty line, the summary
    CHECK_THAT(lines[1], matchers::contains("encoder.embedding"));
    CHECK_THAT(lines.back(), matchers::contains("all 96 layers on cpu"));
}

TEST_CASE("compare: repeating says how likely a rare fault would have been missed") {
    const Finished f = run_lamina({"compare", g2p(), "a", "--device", "cpu", "--repeat", "6"});
    REQUIRE(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("ran 6 times") && matchers::contains("1 of 2 runs"));
}

TEST_CASE("compare --svg: what agrees looks calm, and a column is as wide as its longest name") {
    const TemporaryFolder folder;
    const Finished f =
        run_lamina({"compare", g2p(), "a", "--device", "cpu", "--svg", (folder.path() / "map.svg").string()});
    REQUIRE(f.status == 0);
    size_t longest = 0;
    double type_at = 0;
    for (const std::string &line : lines_of(folder.read("map.svg"))) {
        if (line.starts_with("<rect") && line.find("width=\"108\"") != std::string::npos) { // of a layer
            const size_t colour = line.find("fill=\"#") + 7;
            for (size_t i = 0; i < 3; ++i) CHECK(std::stoi(line.substr(colour + 2 * i, 2), nullptr, 16) > 0xb0); // pale
        }
        if (type_at != 0 && line.starts_with("<text x=\"20\""))
            longest = std::max(longest, line.rfind('<') - line.find('>') - 1);
        if (line.ends_with(">type</text>")) type_at = std::stod(line.substr(line.find("x=\"") + 3));
    }
    CHECK(longest > 20);
    CHECK(type_at > 20 + 7.0 * static_cast<double>(longest));
}

TEST_CASE("compare: --all-rows compares all rows, and each layer says how many it has") {
    const Finished f = run_lamina({"compare", g2p(), "a", "--device", "cpu", "--all-rows", "--json"});
    REQUIRE(f.status == 0);
    const json comparison = json::parse(f.out);
    for (const json &layer : comparison["layers"]) {
        CHECK(layer["rows"].get<int>() > 0);
        CHECK(layer["compared_rows"] == layer["rows"]);
    }
}

TEST_CASE("compare: invalid arguments are refused") {
    const auto refused = [](const std::vector<std::string> &arguments, const std::string &why) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({"compare", g2p(), "a", "--input", "x=x.npy"}, "cannot be used together");
    refused({"compare", g2p(), "a", "--graph", "encode"}, "needs --input");
    refused({"compare", g2p(), "a", "--device", "cpu", "--reference", "cpu"}, "nothing to compare");
    refused({"compare", g2p(), "a", "--against", "gpu"}, "--against");
}

namespace {

const fs::path architectures = fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures";

// A copy of a model whose config.json has another value for a key.
fs::path changed(const TemporaryFolder &folder, const std::string &model, const char *key, const json &value) {
    fs::copy(architectures / "models" / model, folder.path() / model);
    json config = json::parse(std::ifstream(folder.path() / model / "config.json"));
    config[key] = value;
    folder.write(model + "/config.json", config.dump());
    return folder.path() / model;
}

std::string record(const std::string &model) { return (architectures / "records" / (model + ".safetensors")).string(); }

} // namespace

TEST_CASE("compare --with: models agree with what transformers recorded of them") {
    size_t count = 0;
    for (const auto &file : fs::directory_iterator(architectures / "records")) {
        const std::string model = file.path().stem();
        INFO(model);
        const Finished f = run_lamina(
            {"compare", (architectures / "models" / model).string(), "-d", "cpu", "--with", record(model), "--json"});
        INFO(f.err);
        REQUIRE(f.status == 0);
        const json comparison = json::parse(f.out);
        CHECK(comparison["agrees"] == true);
        CHECK(comparison["layers"].size() >= 8); // hidden states, not only the outputs
        ++count;
    }
    CHECK(count >= 6);
}

TEST_CASE("compare --with: the first layer that differs from the record is named") {
    const TemporaryFolder folder;
    const fs::path model = changed(folder, "llama", "rms_norm_eps", 0.25);
    const Finished f = run_lamina({"compare", model.string(), "-d", "cpu", "--with", record("llama")});
    CHECK(f.status == 7);
    CHECK_THAT(f.out, matchers::contains("layer 'model.layers.0.input_layernorm' of graph 'decode' is the first that "
                                         "differs from transformers"));
}

TEST_CASE("compare --with: a record with lengths of other texts, or with nothing that the model has, is refused") {
    using lamina::Tensor;
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "record.safetensors";
    const std::vector<int32_t> ids{5, 6, 7, 8, 9, 10}, kinds(6, 0);
    const auto compared = [&](const Tensor &lengths) {
        lamina::model::write_safetensors(file,
                                         {{"in.encode.ids", Tensor::of({2, 3}, ids)},
                                          {"in.encode.lengths", lengths},
                                          {"in.encode.token_types", Tensor::of({2, 3}, kinds)},
                                          {"out.encode.another", Tensor::of({1}, std::vector<float>{1})}},
                                         {{"graphs", "encode"}});
        const std::string bert = (architectures / "models" / "bert").string();
        return run_lamina({"compare", bert, "-d", "cpu", "--with", file.string()});
    };
    for (const std::vector<int32_t> &lengths : {std::vector<int32_t>{}, {3}, {3, 2, 1}}) {
        const Finished f = compared(Tensor::of({static_cast<int64_t>(lengths.size())}, lengths));
        CHECK(f.status == 3);
        CHECK_THAT(f.err, matchers::contains("'lengths' is i32 (" + std::to_string(lengths.size()) + ")") &&
                              matchers::contains("expected i32 (2), a number for each text"));
    }
    const Finished floats = compared(Tensor::of({2}, std::vector<float>{3, 2}));
    CHECK_THAT(floats.err, matchers::contains("'lengths' is f32 (2); expected i32 (2)"));
    const Finished nothing = compared(Tensor::of({2}, std::vector<int32_t>{3, 2}));
    CHECK(nothing.status == 7);
    CHECK_THAT(nothing.out, matchers::contains("the model has nothing of what another program recorded"));
}

TEST_CASE("compare --with: what is no record, or is of another model, is refused") {
    const std::string llama = (architectures / "models" / "llama").string();
    const Finished other = run_lamina({"compare", llama, "-d", "cpu", "--with", record("bert")});
    CHECK(other.status == 3);
    CHECK_THAT(other.err, matchers::contains("has no graph 'encode'"));
    const Finished none = run_lamina({"compare", llama, "-d", "cpu", "--with", llama + "/model.safetensors"});
    CHECK(none.status == 3);
    CHECK_THAT(none.err, matchers::contains("model.safetensors: its metadata names no graphs. Expected a record"));
    const Finished absent = run_lamina({"compare", llama, "-d", "cpu", "--with", "transfomers"});
    CHECK(absent.status == 2);
    CHECK_THAT(absent.err, matchers::contains("--with transfomers: no such file; expected 'transformers'"));
    const Finished python = run_lamina({"compare", llama, "-d", "cpu", "--with", "transformers"},
                                       {.environment = {{"LAMINA_PYTHON", "/nowhere/python"}}});
    CHECK(python.status == 1);
    CHECK_THAT(python.err, matchers::contains("'/nowhere/python' cannot be run; expected a Python with the packages"));
}
