// Models of types that a file describes.
#include "catch.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>

#include <fstream>
#include <sstream>

using namespace lamina;
using matchers::contains;
namespace fs = std::filesystem;

namespace {

const fs::path source = LAMINA_SOURCE_DIR, example = source / "examples" / "seed_oss",
               seed_oss = source / "tests" / "architectures" / "described" / "seed_oss";
const std::string file = "seed_oss.model.json.jinja";

std::string text_of(const fs::path &path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

Runtime runtime_with(const fs::path &folder) {
    RuntimeOptions options;
    options.plugin_folders = {folder, LAMINA_PLUGIN_DIR};
    options.cache = false;
    return Runtime(options);
}

std::string replaced(std::string text, const std::string &what, const std::string &by) {
    const size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

// Why the model is refused when its type is described with this change.
std::string refused_description(const std::string &what, const std::string &by) {
    const TemporaryFolder folder;
    folder.write(file, replaced(text_of(example / file), what, by));
    try {
        (void)runtime_with(folder.path()).load(seed_oss);
    } catch (const Error &e) {
        CHECK((e.code() == ErrorCode::input || e.code() == ErrorCode::plugin));
        return e.what();
    }
    return "";
}

} // namespace

TEST_CASE("described: the example computes what transformers computes") {
    const Runtime runtime = runtime_with(example);
    const Model loaded = runtime.load(seed_oss);
    CHECK(compare_with_record(runtime, loaded, runtime.device("cpu"), seed_oss / "golden.safetensors").agrees());
    CHECK_THAT(inspect(loaded).notes.front(), contains((example / file).string()));
}

TEST_CASE("described: without its file, the type is unknown, and how to describe it is said") {
    CHECK_THROWS_WITH(runtime_with(LAMINA_PLUGIN_DIR).load(seed_oss),
                      contains("'seed_oss' is not supported") && contains("seed_oss.model.json.jinja"));
}

TEST_CASE("described: what is wrong with a description is named") {
    CHECK_THAT(refused_description("config.mlp_bias", "config.other"), contains("mlp_bias") && contains("unknown key"));
    CHECK_THAT(refused_description("| default(heads", "| nothing | default(heads"),
               contains(file) && contains("'nothing'"));
    CHECK_THAT(refused_description("\"causal\": true}},", "\"causal\": true}}"), contains("as written for this model"));
    CHECK_THAT(refused_description("{\"graphs\": {", "{\"graph\": {"), contains("'graph'"));
    CHECK_THAT(refused_description("\"type\": \"rms_norm\"", "\"type\": \"rms_nrm\""), contains("rms_nrm"));
    CHECK_THAT(refused_description("model.layers.0.self_attn.' ~ name", "model.' ~ name"),
               contains("q_proj has no bias"));
    CHECK_THAT(refused_description("{\"logits\": \"lm_head\"}", "{\"logits\": \"lm_haed\"}"), contains("lm_haed"));
}

TEST_CASE("described: settings are named as config.NAME or in a comment, not by any word of the template") {
    CHECK_THAT(refused_description("hidden_size", "the width"),
               contains("/hidden_size: unknown key") && contains(": name it in ") && contains(file));
    CHECK_THAT(refused_description("config.mlp_bias | default(false)", "mlp_bias | default(false)"),
               contains("/mlp_bias: unknown key"));
}

TEST_CASE("described: weights may be parts of others, and other weights have to be read") {
    const auto with_weights = [](const std::string &weights) {
        return refused_description("{\"graphs\": {", "{\"weights\": " + weights + ", \"graphs\": {");
    };
    // All rows of a matrix, in two parts, of which no layer reads one.
    CHECK_THAT(with_weights(R"({"half": {"of": "lm_head.weight", "rows": [0, 20]}})"), contains("lm_head"));
    CHECK_THAT(with_weights(R"({"half": {"of": "lm_haed.weight"}})"), contains("the file has no such weight"));
    CHECK_THAT(with_weights(R"({"half": {"of": "lm_head.weight", "rows": [0, 54]}})"), contains("/rows/1"));
    CHECK_THAT(with_weights(R"({"half": {"of": "model.norm.weight", "transposed": true}})"),
               contains("expected a matrix"));
    CHECK_THAT(with_weights(R"({"half": {"of": "lm_head.weight", "columns": 3}})"), contains("'columns'"));

    // The table twice over: transposed, and back.
    const TemporaryFolder folder;
    std::string text = replaced(text_of(example / file), "{\"graphs\": {", R"({"weights": {
        "turned": {"of": "lm_head.weight", "transposed": true}, "whole": {"of": "turned", "transposed": true},
        "scores": {"of": "whole", "rows": [0, 53]}}, "graphs": {)");
    text = replaced(text, "{{ 'model.embed_tokens' if config.tie_word_embeddings else 'lm_head' }}.weight", "scores");
    folder.write(file, replaced(text, "The shapes", "tie_word_embeddings is false. The shapes"));
    const Runtime runtime = runtime_with(folder.path());
    const Model loaded = runtime.load(seed_oss);
    CHECK(compare_with_record(runtime, loaded, runtime.device("cpu"), seed_oss / "golden.safetensors").agrees());
}

TEST_CASE("described: graphs have the names that texts need, and what is not JSON is shown") {
    CHECK_THAT(refused_description("{\"decode\": {", "{\"decoder\": {"), contains("'decoder'"));
    CHECK_THAT(
        refused_description("{\"eps\": {{ eps }}}},\n        {%- for part", "{\"eps\": }},\n        {%- for part"),
        contains("\"params\": {\"eps\": }'"));
}

TEST_CASE("described: what sentence-transformers makes of hidden states needs them") {
    const TemporaryFolder folder;
    const fs::path sentences = folder.path() / "sentences";
    fs::copy(seed_oss, sentences, fs::copy_options::recursive);
    folder.write("sentences/modules.json", R"([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
    fs::create_directory(sentences / "1_Pooling");
    folder.write("sentences/1_Pooling/config.json",
                 R"({"word_embedding_dimension": 36, "pooling_mode_mean_tokens": true})");
    CHECK_THROWS_WITH(runtime_with(example).load(sentences),
                      contains("expected a graph 'encode' with the output 'hidden'") && contains(file));
}
