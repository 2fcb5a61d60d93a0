// Models of sentence-transformers, compared with that package. sentences/make.py wrote them.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace {

const fs::path sentence_folders = test::architectures / "sentences";

void check_vectors(const Tensor &found, const json &wanted) {
    const auto rows = wanted.get<std::vector<std::vector<float>>>();
    REQUIRE(found.shape() == Shape{static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.front().size())});
    for (size_t i = 0; i < found.f32().size(); ++i)
        CHECK_THAT(found.f32()[i], matchers::within_abs(rows[i / rows.front().size()][i % rows.front().size()], 1e-5));
}

// The tiny GGUF file of a sentence encoder, with other bytes after a key of its metadata and the type of its value.
fs::path changed(const TemporaryFolder &folder, const std::string &key, std::string_view value) {
    std::ifstream in(test::architectures / "models" / "gguf_sentences" / "model.gguf", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const size_t at = bytes.find(key);
    REQUIRE(at != std::string::npos);
    bytes.replace(at + key.size() + sizeof(uint32_t), value.size(), value);
    std::ofstream(folder.path() / "model.gguf", std::ios::binary) << bytes;
    return folder.path() / "model.gguf";
}

} // namespace

TEST_CASE("sentences: a GGUF file says how hidden states are pooled, in kinds that are known") {
    const TemporaryFolder folder;
    const auto pooled = [&](char kind) {
        return runtime().load(changed(folder, "bert.pooling_type", std::string_view(&kind, 1)));
    };
    const auto outputs = [&](char kind) {
        Session session = runtime().session(pooled(kind), runtime().device("cpu"));
        const TensorMap inputs{
            {"ids", Tensor::of({1, 3}, std::vector<int32_t>{5, 6, 7})},
            {"lengths", Tensor::of({1}, std::vector<int32_t>{3})},
            {"token_types", Tensor::of({1, 3}, std::vector<int32_t>{0, 0, 0})},
        };
        return session.run("encode", inputs);
    };
    CHECK_FALSE(outputs(0).contains("embedding"));
    const auto first = outputs(2), last = outputs(3);
    for (const auto &[found, row] : {std::pair(&first, 0), {&last, 2}}) {
        const std::span<const float> hidden = found->at("hidden").f32(), vector = found->at("embedding").f32();
        REQUIRE(hidden.size() == 3 * vector.size());
        double squares = 0;
        for (size_t i = 0; i < vector.size(); ++i) squares += std::pow(hidden[row * vector.size() + i], 2);
        for (size_t i = 0; i < vector.size(); ++i)
            CHECK_THAT(vector[i], matchers::within_abs(hidden[row * vector.size() + i] / std::sqrt(squares), 1e-5));
    }
    CHECK_FALSE(outputs(4).contains("embedding")); // of a classifier, which this file has not
    CHECK_THAT(message_of([&] { (void)pooled(5); }),
               contains("'bert.pooling_type': 5 is not supported here; supported: "
                        "0 (none), 1 (mean), 2 (cls) and 3 (last)"));
    CHECK_THAT(message_of([&] { (void)runtime().load(changed(folder, "bert.attention.causal", "\x01")); }),
               contains("'bert.attention.causal': expected false, as 'bert' is supported here"));
}

TEST_CASE("sentences: classes of a GGUF file have its names, and the scores of its graph") {
    Session session = session_of(test::architectures / "models" / "gguf_xlm_roberta_labels" / "model.gguf");
    const std::vector<LabelScore> found = classify(session, {"w7 w9  unheard"}).front();
    const TextIds ids = tokenize(
        runtime().load(test::architectures / "models" / "gguf_xlm_roberta_labels" / "model.gguf"), {"w7 w9  unheard"});
    CHECK(ids.ids.front() == std::vector<int32_t>{2, 7, 9, 1, 3});
    const TensorMap outputs = session.run("encode", {{"ids", Tensor::of({1, 5}, ids.ids.front())},
                                                     {"lengths", Tensor::of({1}, std::vector<int32_t>{5})},
                                                     {"token_types", Tensor::of({1, 5}, std::vector<int32_t>(5, 0))}});
    const std::span<const float> logits = outputs.at("logits").f32();
    REQUIRE(logits.size() == 3);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit);
    const std::vector<std::string> names{"bad", "good", "so so"};
    REQUIRE(found.size() == names.size());
    for (const LabelScore &each : found) {
        const auto at = static_cast<size_t>(std::ranges::find(names, each.label) - names.begin());
        CHECK_THAT(each.score, matchers::within_abs(std::exp(logits[at]) / sum, 1e-5));
    }
}

TEST_CASE("sentences: modules and prompts give the vectors of sentence-transformers, after conversion, too") {
    const json wanted = json_of(sentence_folders / "expected.json");
    const auto texts = wanted["texts"].get<std::vector<std::string>>();
    for (const auto &[name, vectors] : wanted["vectors"].items()) {
        INFO(name);
        const size_t colon = name.find(':');
        const TemporaryFolder folder;
        const fs::path converted = folder.path() / "converted";
        convert(runtime(), sentence_folders / name.substr(0, colon), {}).model.save(converted);
        ReadOptions options{.truncate = true};
        if (colon != std::string::npos) options.prompt = name.substr(colon + 1);
        for (const fs::path &path : {sentence_folders / name.substr(0, colon), converted}) {
            Session session = session_of(path);
            check_vectors(embed(session, texts, options), vectors);
        }
    }
}

TEST_CASE("sentences: a prompt is chosen by its name") {
    Session session = session_of(sentence_folders / "dense");
    CHECK(inspect(runtime().load(sentence_folders / "dense")).reading->prompts.at("query") == "the fox: ");
    CHECK(inspect(runtime().load(sentence_folders / "older")).reading->default_prompt == "query");
    const Tensor plain = embed(session, {"the fox: jumps"}), prompted = embed(session, {"jumps"}, {.prompt = "query"});
    CHECK(std::ranges::equal(plain.f32(), prompted.f32()));
    CHECK_THAT(message_of([&] { (void)embed(session, {"jumps"}, {.prompt = "quary"}); }),
               contains("prompt: the model has none that is called 'quary'; did you mean 'query'"));
}

TEST_CASE("sentences: a prompt may be a text, which counts for a model as one with a name does") {
    for (const char *name : {"dense", "several"}) {
        INFO(name);
        Session session = session_of(sentence_folders / name);
        const auto prompts = inspect(runtime().load(sentence_folders / name)).reading->prompts;
        REQUIRE_FALSE(prompts.empty());
        for (const auto &[called, text] : prompts) {
            const Tensor by_text = embed(session, {"jumps"}, {.prompt_text = text});
            CHECK(std::ranges::equal(by_text.f32(), embed(session, {"jumps"}, {.prompt = called}).f32()));
        }
    }
    Session session = session_of(sentence_folders / "older"); // which has a prompt by default
    const Tensor plain = embed(session, {"jumps"}, {.prompt_text = ""});
    CHECK(std::ranges::equal(plain.f32(), embed(session, {"jumps"}, {.prompt = ""}).f32()));
    CHECK_FALSE(std::ranges::equal(plain.f32(), embed(session, {"jumps"}).f32()));
    CHECK_THAT(message_of([&] { (void)embed(session, {"jumps"}, {.prompt = "query", .prompt_text = "q"}); }),
               contains("expected the name of a prompt, or its text; found both, 'query' and 'q'"));
}

TEST_CASE("sentences: no texts give no vectors, of the width that the model's vectors have") {
    Session session = session_of(sentence_folders / "dense");
    CHECK(embed(session, {}).shape() == Shape{0, embed(session, {"jumps"}).shape().at(1)});
}

TEST_CASE("sentences: pairs of texts have the scores of transformers, cut like its own if they are too long") {
    const json wanted = json_of(sentence_folders / "expected.json");
    std::vector<TextPair> pairs;
    for (const json &pair : wanted["pairs"]) pairs.push_back({pair[0], pair[1]});
    for (const auto &[name, rows] : wanted["scores"].items()) {
        INFO(name);
        Session session = session_of(sentence_folders / name);
        const auto found = classify_pairs(session, pairs, {.truncate = true});
        REQUIRE(found.size() == rows.size());
        for (size_t i = 0; i < found.size(); ++i)
            for (const LabelScore &each : found[i]) {
                const auto label = static_cast<size_t>(std::stoi(each.label.substr(each.label.find('_') + 1)));
                CHECK_THAT(each.score, matchers::within_abs(rows[i][label].get<double>(), 1e-5));
            }
    }
    Session session = session_of(sentence_folders / "ranker");
    CHECK_THAT(message_of([&] { (void)classify_pairs(session, pairs); }), contains("expected at most 24"));
}

TEST_CASE("sentences: what a folder of sentence-transformers has and Lamina does not is named") {
    const auto refusal = [](const char *file, const std::function<void(json &)> &change) {
        const TemporaryFolder folder;
        fs::copy(sentence_folders / "dense", folder.path(), fs::copy_options::recursive);
        json content = json_of(folder.path() / file);
        change(content);
        (void)folder.write(file, content.dump());
        return message_of([&] { (void)runtime().load(folder.path()); });
    };
    CHECK_THAT(refusal("1_Pooling/config.json", [](json &c) { c["pooling_mode"] = "median"; }),
               contains("/pooling_mode: 'median' is not supported; supported: cls, lasttoken, max, mean, "));
    CHECK_THAT(refusal("1_Pooling/config.json", [](json &c) { c["pooling_mode"] = json::array(); }),
               contains("/pooling_mode: expected at least one kind of pooling"));
    CHECK_THAT(refusal("2_Dense/config.json", [](json &c) { c["activation_function"] = "torch.nn.modules.X"; }),
               contains("/activation_function: 'torch.nn.modules.X' is not supported"));
    CHECK_THAT(refusal("2_Dense/config.json", [](json &c) { c["bias"] = false; }), contains("2_Dense.linear.bias"));
    CHECK_THAT(refusal("modules.json", [](json &c) { c[2]["type"] = "sentence_transformers.models.LSTM"; }),
               contains("'sentence_transformers.models.LSTM' is not supported"));
    CHECK_THAT(refusal("config_sentence_transformers.json", [](json &c) { c["default_prompt_name"] = "x"; }),
               contains("/default_prompt_name"));
}
