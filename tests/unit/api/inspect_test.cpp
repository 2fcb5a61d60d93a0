// Descriptions of models, and how texts become inputs.
#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include "catch.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cmath>

using namespace lamina;

namespace {

const Runtime &shared_runtime() {
    static const Runtime instance({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false});
    return instance;
}

Model g2p() { return shared_runtime().load(LAMINA_SOURCE_DIR "/models/g2p"); }

const ModelLayer &layer(const ModelGraph &graph, const std::string &name) {
    const auto found = std::ranges::find(graph.layers, name, &ModelLayer::name);
    REQUIRE(found != graph.layers.end());
    return *found;
}

} // namespace

TEST_CASE("inspect: a loaded model is described in full, and outlives itself") {
    const ModelContents model =
        inspect(Runtime({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false}).load(LAMINA_SOURCE_DIR "/models/g2p"));
    CHECK(model.name == "g2p");
    CHECK_FALSE(model.fault);
    CHECK(model.weights.at("generator.weight").type.shape == Shape{72, 160});
    CHECK(std::ranges::all_of(model.weights, [](const auto &weight) { return weight.second.used; }));

    const ModelGraph &encode = model.graphs.at("encode"), &decode = model.graphs.at("decode");
    REQUIRE(encode.inputs.size() == 2);
    const bool letters_first = encode.inputs.front().name == "letters";
    const ModelTensor &letters = encode.inputs[letters_first ? 0 : 1];
    CHECK((letters.dtype == DType::i32 && letters.dims == "B S"));
    CHECK(decode.outputs.at("log_probabilities") == "generator.log_softmax");
    CHECK(layer(decode, "generator.log_softmax").outputs.front().dims == "B T 72");

    const ModelLayer &heads = layer(encode, "encoder.0.attention.heads");
    CHECK(heads.type == "attention");
    CHECK(std::get<double>(heads.params.at("heads")) == 5);
    REQUIRE(heads.inputs.size() == 4);
    CHECK((heads.inputs[0].port == "q" && heads.inputs[0].tensor == "encoder.0.attention.query"));
    CHECK(heads.outputs.front().name == "encoder.0.attention.heads");
    const ModelLayer &query = layer(encode, "encoder.0.attention.query");
    REQUIRE(query.inputs.size() == 1); // the layer before it, which model.json does not mention
    CHECK((query.inputs[0].port == "x" && query.inputs[0].tensor == "encoder.0.norm_attention"));
    CHECK(query.weights.front().tensor == "encoder.0.attention.query.weight");

    REQUIRE(model.generation);
    CHECK(model.generation->encode == "encode");
    CHECK((model.generation->source.split == TextFormat::Split::characters && model.generation->source.entries == 28));
    CHECK((model.generation->target.split == TextFormat::Split::words &&
           model.generation->end == std::vector<std::string>{"</s>"}));
}

TEST_CASE("inspect: a folder that does not load is described, with the error of load()") {
    const TemporaryFolder folder;
    (void)folder.write("model.json", R"({"format": "lamina/1", "name": "odd", "graphs": {"run":
        {"inputs": {"x": {"dtype": "f32", "dims": "B T 3"}},
         "layers": [{"name": "p", "type": "softmax", "inputs": {"x": "x"}},
                    {"name": "e", "type": "positional_encoding"},
                    {"name": "q", "type": "softmax"}],
         "outputs": {"q": "q"}}}})");
    const ModelContents model = inspect(shared_runtime(), folder.path());
    const std::string refusal = message_of([&] { (void)shared_runtime().load(folder.path()); });
    REQUIRE(model.fault);
    CHECK(model.fault->what() == refusal);
    CHECK_THAT(refusal, matchers::contains("/graphs/run/layers/1"));
    const ModelGraph &graph = model.graphs.at("run");
    CHECK(layer(graph, "p").outputs.front().dims == "B T 3");
}

TEST_CASE("inspect: a layer without a plugin is an error with its place") {
    const TemporaryFolder folder;
    (void)folder.write("model.json", R"({"format": "lamina/1", "name": "odd", "graphs": {"run":
        {"inputs": {"x": {"dtype": "f32", "dims": "C"}},
         "layers": [{"name": "p", "type": "sofmtax", "inputs": {"x": "x"}}], "outputs": {"p": "p"}}}})");
    CHECK_THAT(message_of([&] { (void)inspect(shared_runtime(), folder.path()); }),
               matchers::contains("/graphs/run/layers/0: layer 'p': ") && matchers::contains("'softmax'?"));
}

TEST_CASE("tokenize: ids of all texts before the first that the model cannot take, and why") {
    const TextIds good = tokenize(g2p(), {"ab", ""});
    CHECK_FALSE(good.refused);
    REQUIRE(good.ids.size() == 2);
    CHECK(good.ids[0].size() == 2);
    CHECK(good.ids[1].empty());

    const TextIds bad = tokenize(g2p(), {"ab", "a7", "b"});
    REQUIRE(bad.ids.size() == 1);
    CHECK(bad.ids[0] == good.ids[0]);
    REQUIRE(bad.refused);
    CHECK(bad.refused->text == 1);
    CHECK_THAT(bad.refused->why, matchers::contains("column 2: '7'"));
}

TEST_CASE("token_ids, detokenize: texts of any length as ids of what a model reads, ids of what it writes as texts") {
    const std::string longest(5000, 'a');
    CHECK_FALSE(tokenize(g2p(), {"vulkan"}).refused);
    CHECK(token_ids(g2p(), "vulkan") == tokenize(g2p(), {"vulkan"}).ids.front());
    CHECK(token_ids(g2p(), longest).size() == longest.size());
    CHECK(token_ids(g2p(), "").empty());
    CHECK_THAT(message_of([&] { (void)token_ids(g2p(), "a7"); }), matchers::contains("column 2: '7'"));
    const std::vector<TokenText> read = token_texts(g2p()), written = token_texts(g2p(), true);
    for (const int32_t id : token_ids(g2p(), "v")) CHECK(read.at(static_cast<size_t>(id)).bytes == "v");
    CHECK(written.size() == inspect(g2p()).generation->target.entries);

    Session session = shared_runtime().session(g2p(), shared_runtime().device("cpu"));
    const Hypothesis answer = session.hypotheses({"vulkan"}).front().front();
    CHECK(detokenize(g2p(), answer.tokens) == answer.text);
    for (const int32_t id : answer.tokens) CHECK(written.at(static_cast<size_t>(id)).bytes.starts_with(' '));
    CHECK(detokenize(g2p(), answer.tokens, false) == answer.text);
    CHECK(detokenize(g2p(), {}).empty());
    CHECK_THAT(message_of([&] { (void)detokenize(g2p(), std::vector<int32_t>{5000}); }),
               matchers::contains("no token has the id 5000"));
    CHECK_THAT(message_of([&] { (void)detokenize(g2p(), std::vector<int32_t>{5000}, false); }),
               matchers::contains("no token has the id 5000"));
}

TEST_CASE("graph_runs: running the whole decoder on its own output gives that output") {
    Session session = shared_runtime().session(g2p(), shared_runtime().device("cpu"));
    const std::vector<Hypothesis> answer = session.hypotheses({"vulkan"}).front();
    const std::vector<GraphRun> runs = graph_runs(session, {"", "vulkan"});
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].graph == "encode");
    CHECK(runs[0].inputs.at("letters").shape() == Shape{1, 6});

    const std::vector<int32_t> &tokens = answer.front().tokens;
    const TensorMap out = session.run(runs[1].graph, runs[1].inputs);
    const Tensor &scores = out.at("log_probabilities");
    REQUIRE(scores.shape()[1] == static_cast<int64_t>(tokens.size()) + 1); // the start, and each token
    for (size_t t = 0; t < tokens.size(); ++t) {
        const auto row = scores.f32().subspan(t * 72, 72);
        CHECK(std::ranges::max_element(row) - row.begin() == tokens[t]);
    }
}
