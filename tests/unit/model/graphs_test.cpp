#include "model_folder.hpp"

#include "catch.hpp"

#include <functional>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

using Ports = std::map<std::string, std::string, std::less<>>;

// The error for small_model after a change.
std::string refusal(const std::string &from, const std::string &to) {
    return message_of([&] { (void)ModelFolder(changed(from, to)).load(); });
}

// A graph of one input "x" and these layers, which gives its tensor "out".
std::shared_ptr<const Model> with_layers(const std::string &layers, const std::string &out) {
    return ModelFolder(R"({"format": "lamina/1", "name": "m", "graphs": {"g": {
        "inputs": {"x": {"dtype": "f32", "dims": "B C"}}, "layers": [)" +
                       layers + R"(], "outputs": {"y": ")" + out + R"("}}}})")
        .load();
}
std::string layers_refusal(const std::string &layers, const std::string &out = "a") {
    return message_of([&] { (void)with_layers(layers, out); });
}

} // namespace

TEST_CASE("model: a complete folder is read") {
    const ModelFolder folder;
    const auto model = folder.load();
    CHECK(model->name == "small");
    CHECK(model->summary == "for tests");
    CHECK(model->folder == folder.path());
    CHECK(model->weights.entries().size() == 1);
    REQUIRE(model->graphs.size() == 2);
    const Graph &decode = model->graphs.at("decode");
    REQUIRE(decode.inputs.size() == 4);
    CHECK(decode.inputs[0].dims == "B T"); // several spaces count as one
    CHECK(decode.inputs[2].name == "memory");
    CHECK(decode.inputs[2].dtype == DType::f32);
    CHECK(decode.outputs == Ports{{"logits", "generator"}});
    CHECK(decode.nodes[0].weights == Ports{{"table", "embedding.table"}});
    CHECK(std::get<std::string>(decode.nodes[1].params.at("mode")) == "plain");
}

TEST_CASE("model: a repeat is unrolled, and names mean their latest binding") {
    const auto model = ModelFolder().load();
    const auto &nodes = model->graphs.at("encode").nodes;
    REQUIRE(nodes.size() == 6);
    CHECK(nodes[0].inputs == Ports{{"ids", "letters"}});
    CHECK(std::get<double>(nodes[0].params.at("scale")) == 2.5);
    CHECK(nodes[1].name == "0.norm");
    CHECK(nodes[1].inputs == Ports{{"", "embedding"}, {"x", "embedding"}});
    CHECK(nodes[2].name == "0.attention");
    CHECK(nodes[2].inputs == Ports{{"", "0.norm"}, {"k", "embedding"}});
    CHECK(std::get<bool>(nodes[2].params.at("causal")));
    CHECK(nodes[3].inputs.at("x") == "0.attention");
    CHECK(nodes[4].name == "1.attention");
    CHECK(nodes[4].place == "/graphs/encode/layers/1/layers/1");
    CHECK(nodes[4].inputs == Ports{{"", "1.norm"}, {"k", "0.attention"}});
    CHECK(nodes[5].inputs == Ports{{"", "1.attention"}});
    CHECK(model->graphs.at("encode").outputs.at("memory") == "norm");
}

TEST_CASE("model: {i} is filled in wherever a tensor or weight is named") {
    const auto model = with_layers(R"({"repeat": 2, "layers": [
        {"name": "a.{i}", "type": "t", "inputs": {"q": "x"}, "as": "v{i}"},
        {"name": "b.{i}.{i}", "type": "t", "inputs": {"p": "v{i}", "q": "a.{i}"}}]})",
                                   "v1");
    const auto &nodes = model->graphs.at("g").nodes;
    CHECK(nodes[3].name == "b.1.1");
    CHECK(nodes[3].inputs == Ports{{"", "a.1"}, {"p", "a.1"}, {"q", "a.1"}});
    CHECK(model->graphs.at("g").outputs.at("y") == "a.1");
}

TEST_CASE("model: a layer's other outputs are named NODE.PORT") {
    const auto model = with_layers(
        R"({"name": "a.b", "type": "t", "inputs": {"x": "x"}}, {"name": "c", "type": "t", "inputs": {"x": "a.b.scores"}})",
        "a.b.scores");
    CHECK(model->graphs.at("g").nodes[1].inputs.at("x") == "a.b.scores");
    CHECK_THAT(layers_refusal(R"({"name": "a.b", "type": "t", "inputs": {"x": "x"}})", "a.scores"),
               contains("no tensor 'a.scores' here"));
    CHECK_THAT(layers_refusal(R"({"name": "a", "type": "t", "inputs": {"x": "x"}})", "a."),
               contains("no tensor 'a.' here; did you mean 'a'?"));
}

TEST_CASE("model: an error's place is the file and a JSON pointer") {
    const ModelFolder folder(changed("\"k\": \"x\"", "\"k\": \"xx\""));
    CHECK(message_of([&] { (void)folder.load(); }) ==
          (folder.path() / "model.json").string() +
              ": /graphs/encode/layers/1/layers/1/inputs/k: no tensor 'xx' here; did you mean 'x'?");
}

TEST_CASE("model: the files that it names must exist") {
    const ModelFolder folder;
    std::filesystem::remove(folder.path() / "letters.txt");
    CHECK_THAT(message_of([&] { (void)folder.load(); }), contains("letters.txt: No such file"));
}

TEST_CASE("model: a folder without weights is a model without weights") {
    const ModelFolder folder(changed(R"(, "weights": {"table": "embedding.table"})", ""));
    std::filesystem::remove(folder.path() / "model.safetensors");
    CHECK(folder.load()->weights.entries().empty());
    CHECK(folder.load()->weights.file().empty());
    const ModelFolder mapped;
    std::filesystem::remove(mapped.path() / "model.safetensors");
    CHECK_THAT(message_of([&] { (void)mapped.load(); }),
               contains("no tensor 'embedding.table': there is no model.safetensors beside model.json"));
    folder.write("model.safetensors", "short");
    CHECK_THAT(message_of([&] { (void)folder.load(); }), contains("model.safetensors: not a safetensors file"));
}

TEST_CASE("model: the format is stated and known") {
    CHECK_THAT(refusal(R"("format": "lamina/1", )", ""),
               contains(R"(model.json: the key 'format' is missing; expected "format": "lamina/1")"));
    CHECK_THAT(refusal("lamina/1", "lamina/2"), contains("/format: expected \"lamina/1\", found 'lamina/2'"));
    CHECK_THAT(refusal("\"summary\"", "\"sumary\""), contains("unknown key 'sumary'; did you mean 'summary'?"));
    CHECK_THAT(refusal("\"small\"", "\"sm all\""), contains("/name: 'sm all' cannot be a name"));
    CHECK_THAT(refusal("\"name\": \"small\", ", ""), contains("model.json: the key 'name' is missing"));
    CHECK_THAT(message_of([] { (void)ModelFolder(R"({"format": "lamina/1", "name": "m", "graphs": {}})").load(); }),
               contains("/graphs: expected at least one graph"));
}

TEST_CASE("model: inputs of graphs have a dtype and dims") {
    CHECK_THAT(refusal("\"f32\"", "\"f16\""),
               contains("/graphs/decode/inputs/memory/dtype: expected \"f32\" or \"i32\", found 'f16'"));
    CHECK_THAT(
        refusal("B S 4", "B S*2"),
        contains("/graphs/decode/inputs/memory/dims: expected names and numbers, like \"B T 160\", found 'S*2'"));
    CHECK_THAT(refusal("B S 4", "B S 4000000000"), contains("found '4000000000'"));
    CHECK_THAT(refusal("B S 4", " "), contains("expected 1 to 8 axes, found 0"));
    CHECK_THAT(refusal("B S 4", "a b c d e f g h i"), contains("expected 1 to 8 axes, found 9"));
    CHECK_THAT(refusal("\"letters\": {", "\"let ters\": {"), contains("'let ters' cannot be a name"));
}

TEST_CASE("model: layers have a name of their own") {
    CHECK_THAT(refusal("\"out.embedding\"", "\"norm\""),
               contains("/graphs/decode/layers/0/name: a second layer called 'norm'"));
    CHECK_THAT(refusal("\"{i}.norm\"", "\"n\""),
               contains("/layers/1/layers/0/name: a second layer called 'n'; write {i} where"));
    CHECK_THAT(refusal("\"generator\", \"type\"", "\"generator{i}\", \"type\""),
               contains("'generator{i}' cannot be a name") && contains("{i} belongs in a repeat"));
    CHECK_THAT(refusal("\"generator\", \"type\"", "\"\", \"type\""), contains("'' cannot be a name"));
    CHECK_THAT(refusal("\"generator\", \"type\"", "\"memory\", \"type\""),
               contains("/name: 'memory' is an input of the graph"));
    CHECK_THAT(refusal("\"name\": \"generator\", ", ""),
               contains("/graphs/decode/layers/2: the key 'name' is missing"));
    CHECK_THAT(refusal(", \"type\": \"linear\"", ""), contains("/graphs/decode/layers/2: the key 'type' is missing"));
    CHECK_THAT(refusal("\"type\": \"linear\"", "\"typ\": \"linear\""), contains("did you mean 'type'?"));
}

TEST_CASE("model: names of variables must be unique") {
    CHECK_THAT(refusal("\"as\": \"x\"", "\"as\": \"lengths\""),
               contains("/layers/0/as: 'lengths' is an input of the graph"));
    CHECK_THAT(layers_refusal(R"({"name": "a", "type": "t", "inputs": {"x": "x"}, "as": "a"})"),
               contains("/layers/0/as: 'a' is the name of a layer"));
    CHECK_THAT(
        layers_refusal(R"({"name": "b", "type": "t", "inputs": {"x": "x"}, "as": "a"}, {"name": "a", "type": "t"})"),
        contains("/layers/1/name: 'a' already names a tensor"));
    CHECK_THAT(layers_refusal(R"({"name": "b", "type": "t", "inputs": {"x": "x"}, "as": "a b"})"),
               contains("/as: 'a b' cannot be a name"));
}

TEST_CASE("model: layers use only earlier tensors") {
    CHECK_THAT(refusal("\"ids\": \"letters\"", "\"ids\": \"norm\""),
               contains("/graphs/encode/layers/0/inputs/ids: no tensor 'norm' here"));
    CHECK_THAT(refusal("\"ids\": \"phones\"", "\"ids\": \"letters\""),
               contains("no tensor 'letters' here")); // it belongs to another graph
    CHECK_THAT(layers_refusal(R"({"name": "a", "type": "t", "inputs": {"x": "a"}})"), contains("no tensor 'a' here"));
    CHECK_THAT(layers_refusal(R"({"name": "a", "type": "t"})"),
               contains("/layers/0: the first layer of a graph has no layer before it"));
    CHECK_THAT(layers_refusal(R"({"name": "a", "type": "t", "inputs": {"": "x"}})"),
               contains("expected the name of an input of the layer"));
}

TEST_CASE("model: mapped weights exist and have a usable dtype") {
    CHECK_THAT(
        refusal("\"embedding.table\"", "\"embeding.table\""),
        contains("/weights/table: no tensor 'embeding.table' in model.safetensors; did you mean 'embedding.table'?"));
    const ModelFolder folder;
    const std::string header = R"({"embedding.table":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})";
    folder.write("model.safetensors",
                 std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} + header + "12345678");
    CHECK_THAT(message_of([&] { (void)folder.load(); }),
               contains("/weights/table: tensor 'embedding.table' is F64; expected f32, f16, bf16, i32, q8_0, q4_0, "
                        "q4_1, q5_0, q5_1, q4_k, q5_k, q6_k, q2_k, q3_k, iq4_nl, iq4_xs, i8_k or i4_k"));
}

TEST_CASE("model: parameters are numbers, strings or truth values") {
    CHECK_THAT(refusal("\"heads\": 2", "\"heads\": [2]"),
               contains("/params/heads: expected a number, a string, true or false, found a list with 1 entry"));
    CHECK_THAT(refusal("\"heads\": 2", "\"heads\": null"),
               contains("/params/heads: expected a number, a string, true or false, found null"));
}

TEST_CASE("model: a repeat is limited and has no other keys") {
    CHECK_THAT(refusal("\"repeat\": 2", "\"repeat\": 0"),
               contains("/layers/1/repeat: expected a whole number from 1 to 1024, found 0"));
    CHECK_THAT(refusal("\"repeat\": 2", "\"repeat\": 1025"), contains("found 1025"));
    CHECK_THAT(refusal("\"repeat\": 2", "\"repeat\": 2, \"name\": \"r\""), contains("unknown key 'name'"));
    CHECK_THAT(layers_refusal(R"({"repeat": 2, "layers": []})"),
               contains("/layers/0/layers: expected at least one layer"));
    CHECK_THAT(layers_refusal(R"({"repeat": 2, "layers": [{"repeat": 2, "layers": []}]})"),
               contains("/layers/0/layers/0: a repeat inside a repeat"));
}

TEST_CASE("model: a model cannot unroll without end") {
    std::string layers;
    for (int r = 0; r < 65; ++r)
        layers += std::string(r == 0 ? "" : ",") + R"({"repeat": 1024, "layers": [{"name": "r)" + std::to_string(r) +
                  R"(.{i}", "type": "t", "inputs": {"x": "x"}}]})";
    CHECK_THAT(layers_refusal(layers), contains("more than 65536 layers"));
    std::string params;
    for (int p = 0; p < 65; ++p) params += (p == 0 ? "\"p" : ", \"p") + std::to_string(p) + "\": 1";
    CHECK_THAT(layers_refusal(R"({"name": "a", "type": "t", "inputs": {"x": "x"}, "params": {)" + params + "}}"),
               contains("/params: more than 64 entries"));
}

TEST_CASE("model: outputs are made by layers") {
    CHECK_THAT(refusal("\"memory\": \"norm\"", "\"memory\": \"nrom\""),
               contains("/graphs/encode/outputs/memory: no tensor 'nrom' here; did you mean 'norm'?"));
    CHECK_THAT(refusal("\"memory\": \"norm\"", "\"memory\": \"letters\""),
               contains("'letters' is an input of the graph; expected a layer's output"));
    CHECK_THAT(refusal("\"memory\": \"norm\"", "\"embedding\": \"norm\""),
               contains("output 'embedding' has the name of a layer and is 'norm'"));
    CHECK_THAT(refusal("{\"memory\": \"norm\"}", "{}"), contains("/outputs: a graph needs an output"));
}
