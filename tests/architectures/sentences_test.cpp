// Models of sentence-transformers, compared with that package. sentences/make.py wrote them.
#include "architectures/pair_text.hpp"
#include "catch.hpp"
#include "with_tokenizer.hpp"

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

TEST_CASE("sentences: a reranker in a GGUF file reads two texts within its template") {
    const fs::path file = test::architectures / "models" / "gguf_asked_of_qwen3" / "model.gguf";
    Session session = session_of(file);
    const std::vector<TextPair> pairs{{"w7", "w9"}, {"w8", "w9"}, {"w7", "w10"}};
    const auto scores = classify_pairs(session, pairs);
    REQUIRE(scores.size() == 3);
    for (const auto &each : scores) REQUIRE(each.size() == 1);
    CHECK(scores[1].front().score != scores[0].front().score);
    CHECK(scores[2].front().score != scores[0].front().score);
    ReadOptions prompted;
    prompted.prompt_text = "w11";
    CHECK(classify_pairs(session, pairs, prompted).front().front().score != scores[0].front().score);
}

TEST_CASE("sentences: places of a template in a GGUF file") {
    CHECK(architectures::pair_block("a\n<Instruct>: b\nc {query} d{document}", "here").in_one_line() ==
          R"({"plain":["a\n<Instruct>: b\nc ",{"of":"first"}," d",{"of":"second"}],)"
          R"("prompted":["a\n<Instruct>: ",{"of":"prompt"},"\nc ",{"of":"first"}," d",{"of":"second"}]})");
    CHECK(architectures::pair_block("{document}{query}!", "here").in_one_line() ==
          R"({"plain":[{"of":"second"},{"of":"first"},"!"]})");
    CHECK(architectures::pair_block("<Instruct>: {query}\n{document}", "here").in_one_line() ==
          R"({"plain":["<Instruct>: ",{"of":"first"},"\n",{"of":"second"}]})");
    CHECK_THAT(message_of([] { (void)architectures::pair_block("{query}", "here"); }),
               contains("here: expected a place '{document}'"));
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

TEST_CASE("sentences: a text whose vector is not finite is an error that names it") {
    ModelDescription model = convert(runtime(), sentence_folders / "dense", {}).model;
    const std::vector<std::string> texts{"the fox", "jumps"};
    const auto ids = tokenize(runtime().load(model), texts).ids;
    const auto own = std::ranges::find_if(ids[1], [&](int32_t id) { return std::ranges::count(ids[0], id) == 0; });
    REQUIRE(own != ids[1].end());
    const auto table = std::ranges::find_if(
        model.weights, [](const auto &weight) { return weight.first.find("word_embeddings") != std::string::npos; });
    REQUIRE(table != model.weights.end());
    const auto width = static_cast<size_t>(table->second.shape().back());
    std::ranges::fill(table->second.f32().subspan(static_cast<size_t>(*own) * width, width),
                      std::numeric_limits<float>::quiet_NaN());
    Session session = runtime().session(runtime().load(model), runtime().device("cpu"));
    CHECK(embed(session, {texts[0]}).shape().front() == 1);
    CHECK_THAT(message_of([&] { (void)embed(session, texts); }), contains("text 2: ") && contains("NaN"));
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
        const size_t colon = name.find(':');
        const TemporaryFolder folder;
        const fs::path original = sentence_folders / name.substr(0, colon), converted = folder.path() / "converted";
        convert(runtime(), original, {}).model.save(converted);
        ReadOptions options{.truncate = true};
        if (colon != std::string::npos) options.prompt = name.substr(colon + 1);
        for (const fs::path &path : {original, converted}) {
            Session session = session_of(path);
            const auto found = classify_pairs(session, pairs, options);
            REQUIRE(found.size() == rows.size());
            for (size_t i = 0; i < found.size(); ++i)
                for (const LabelScore &each : found[i]) {
                    const auto label = static_cast<size_t>(std::stoi(each.label.substr(each.label.find('_') + 1)));
                    CHECK_THAT(each.score, matchers::within_abs(rows[i][label].get<double>(), 1e-5));
                }
        }
    }
    Session session = session_of(sentence_folders / "ranker");
    CHECK_THAT(message_of([&] { (void)classify_pairs(session, pairs); }), contains("expected at most 24"));
}

TEST_CASE("sentences: a sparse vector has a weight for each token, which its model says") {
    for (const char *name : {"sparse", "sparse_older"}) {
        const TextReading reading = *inspect(runtime().load(sentence_folders / name)).reading;
        CHECK(reading.sparse);
        CHECK(reading.gives == TextReading::Gives::embedding);
    }
    CHECK_FALSE(inspect(runtime().load(sentence_folders / "dense")).reading->sparse);
}

TEST_CASE("sentences: a reranker with a chat template reads pairs, and what it is told may be any text") {
    Session session = session_of(sentence_folders / "asked");
    const std::vector<TextPair> pairs{{"a fox", "the dog"}};
    CHECK(inspect(runtime().load(sentence_folders / "asked")).reading->pairs);
    CHECK(inspect(runtime().load(sentence_folders / "asked")).reading->default_prompt == "fox");
    CHECK_FALSE(inspect(runtime().load(sentence_folders / "ranker")).reading->pairs);
    const auto score = [&](const ReadOptions &options) {
        return classify_pairs(session, pairs, options).front().front().score;
    };
    CHECK(score({.prompt_text = "a quick fox"}) == score({}));
    CHECK(score({.prompt_text = "lazy dogs"}) == score({.prompt = ""})); // as its template has it
    CHECK(score({.prompt_text = "lazy dogs"}) != score({}));
    CHECK_THAT(message_of([&] { (void)classify(session, {"a fox"}); }), contains("expected pairs of texts (--pairs)"));
    CHECK_THAT(message_of([&] {
                   (void)classify_pairs(session, {{"a fox", std::string(200, 'x')}});
               }),
               contains("expected at most 140"));
}

TEST_CASE("sentences: scores of a reranker that is asked have the factor of its logits") {
    for (const auto &[name, key, inverse] : {std::tuple("granite", "logits_scaling", true),
                                             {"cohere", "logit_scale", false},
                                             {"falcon_h1", "lm_head_multiplier", false},
                                             {"granite_hybrid", "logits_scaling", true}}) {
        INFO(name);
        const auto score = [&, name = name, key = key](double factor) {
            const WithTokenizer folder(name, {{key, factor}});
            folder.write("modules.json",
                         R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                             {"idx": 1, "name": "1", "path": "1_LogitScore",
                              "type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}])");
            folder.write("sentence_bert_config.json", R"({"transformer_task": "text-generation"})");
            fs::create_directory(folder.path() / "1_LogitScore");
            folder.write("1_LogitScore/config.json", R"({"true_token_id": 7, "false_token_id": 5})");
            Session session = folder.session();
            return classify_pairs(session, {{"w3 w4", "w8 w9"}}, {.raw_scores = true}).front().front().score;
        };
        const double once = score(1.5), twice = score(3);
        CHECK(std::abs(once) > 1e-3);
        CHECK_THAT(twice / once, matchers::within_abs(inverse ? 0.5 : 2, 1e-3));
    }
}

TEST_CASE("sentences: a reranker whose chat template takes no system message is asked without a prompt") {
    const TemporaryFolder folder;
    fs::copy(sentence_folders / "asked", folder.path(), fs::copy_options::recursive);
    (void)folder.write("chat_template.jinja",
                       "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('none') }}{% endif %}"
                       "{{ m.content }} {% endfor %}");
    const std::vector<TextPair> pairs{{"a fox", "the dog"}};
    CHECK_THAT(message_of([&] { (void)session_of(folder.path()); }), contains("none")); // it has a default prompt
    fs::remove(folder.path() / "config_sentence_transformers.json");
    Session session = session_of(folder.path());
    CHECK(classify_pairs(session, pairs).front().size() == 1);
    CHECK_THAT(message_of([&] { (void)classify_pairs(session, pairs, {.prompt_text = "a quick fox"}); }),
               contains("prompt: expected none"));
}

TEST_CASE("sentences: a prompt of a reranker without a chat template is put before the query") {
    const TemporaryFolder folder;
    fs::copy(sentence_folders / "ranker", folder.path(), fs::copy_options::recursive);
    (void)folder.write("config_sentence_transformers.json",
                       R"({"prompts": {"fox": "lazy fox "}, "default_prompt_name": "fox"})");
    Session plain = session_of(sentence_folders / "ranker"), prompted = session_of(folder.path());
    const auto score = [](Session &session, const std::string &query, const ReadOptions &options = {}) {
        return classify_pairs(session, {{query, "a dog"}}, options).front().front().score;
    };
    CHECK(score(prompted, "jumps") == score(plain, "lazy fox jumps"));
    CHECK(score(prompted, "jumps", {.prompt = ""}) == score(plain, "jumps"));
    CHECK(score(plain, "jumps") != score(plain, "lazy fox jumps"));
}

TEST_CASE("sentences: a reranker that cannot be asked as its folder says is refused") {
    const auto refusal = [](const char *file, const std::function<std::string(const std::string &)> &change) {
        const TemporaryFolder folder;
        fs::copy(sentence_folders / "asked", folder.path(), fs::copy_options::recursive);
        std::ifstream in(folder.path() / file);
        const std::string content{std::istreambuf_iterator<char>(in), {}};
        (void)folder.write(file, change(content));
        return message_of([&] { (void)runtime().load(folder.path()); });
    };
    const auto replaced = [](const std::string &part, const std::string &by) {
        return [=](std::string content) {
            const size_t at = content.find(part);
            REQUIRE(at != std::string::npos);
            return content.replace(at, part.size(), by);
        };
    };
    CHECK_THAT(refusal("1_LogitScore/config.json", replaced("41", "100000")),
               contains("1_LogitScore/config.json: expected ids of tokens from 0 to"));
    CHECK_THAT(refusal("1_LogitScore/config.json", replaced("17", "-1")), contains("found -1"));
    CHECK_THAT(refusal("1_LogitScore/config.json", replaced("causal_logits", "logits")),
               contains("/module_input_name"));
    CHECK_THAT(refusal("sentence_bert_config.json", replaced("text-generation", "feature-extraction")),
               contains("behind a single Transformer with the transformer_task text-generation"));
    const std::string document = R"("document") | map(attribute="content") | first)";
    CHECK_THAT(refusal("chat_template.jinja", replaced(document, document + " | trim")),
               contains("its chat template changes texts that it writes"));
    CHECK_THAT(refusal("chat_template.jinja", replaced("\"document\"", "\"user\"")),
               contains("its chat template leaves out the document"));
    CHECK_THAT(refusal("sentence_bert_config.json",
                       replaced("{", R"({"processing_kwargs": {"chat_template": {"chat_template": "x"}},)")),
               contains("/processing_kwargs/chat_template/chat_template: is not supported"));
}

TEST_CASE("sentences: what a model folder says of pairs, prompts and sparse vectors must make sense") {
    const auto refusal = [](const char *name, const std::function<void(json &)> &change) {
        const TemporaryFolder folder;
        convert(runtime(), sentence_folders / name, {}).model.save(folder.path() / "model");
        json model = json_of(folder.path() / "model" / "model.json");
        change(model["reading"]);
        std::ofstream(folder.path() / "model" / "model.json") << model.dump();
        return message_of([&] { (void)runtime().load(folder.path() / "model"); });
    };
    CHECK(refusal("asked", [](json &) {}).empty());
    CHECK_THAT(refusal("asked",
                       [](json &r) {
                           r["pair"]["plain"] = {"x", {{"of", "first"}}};
                       }),
               contains("/reading/pair/plain: expected a place for each text"));
    CHECK_THAT(refusal("asked",
                       [](json &r) {
                           r["pair"]["plain"][1] = {{"of", "third"}};
                       }),
               contains("/reading/pair/plain/1/of: expected first, prompt or second, found 'third'"));
    CHECK_THAT(refusal("asked", [](json &r) { r["pair"].erase("prompted"); }), contains("prompted"));
    CHECK_THAT(refusal("asked", [](json &r) { r["sparse"] = true; }), contains("only an embedding is sparse"));
    CHECK_THAT(refusal("sparse", [](json &r) { r["pair"] = json::object(); }),
               contains("only a model that gives classes of texts reads pairs like this"));
}

TEST_CASE("sentences: what a folder of sentence-transformers has and Lamina does not is named") {
    std::string name = "dense";
    const auto refusal = [&](const char *file, const std::function<void(json &)> &change) {
        const TemporaryFolder folder;
        fs::copy(sentence_folders / name, folder.path(), fs::copy_options::recursive);
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
               contains("'LSTM' is not supported"));
    CHECK_THAT(refusal("config_sentence_transformers.json", [](json &c) { c["default_prompt_name"] = "x"; }),
               contains("/default_prompt_name"));
    name = "sparse";
    CHECK_THAT(refusal("1_SpladePooling/config.json", [](json &c) { c["pooling_strategy"] = "sum"; }),
               contains("/pooling_strategy: 'sum' is not supported; supported: max"));
    CHECK_THAT(refusal("1_SpladePooling/config.json", [](json &c) { c["activation_function"] = "gelu"; }),
               contains("/activation_function: 'gelu' is not supported; supported: log1p_relu and relu"));
    const char *const order = "an MLMTransformer, or a Transformer with the transformer_task fill-mask, then";
    CHECK_THAT(refusal("sentence_bert_config.json", [](json &c) { c.erase("transformer_task"); }), contains(order));
    CHECK_THAT(refusal("modules.json", [](json &c) { c[1]["type"] = "sentence_transformers.models.Pooling"; }),
               contains(order));
    CHECK_THAT(refusal("modules.json",
                       [](json &c) {
                           c.push_back({{"type", "sentence_transformers.models.Normalize"}, {"path", "2_Normalize"}});
                       }),
               contains(order));
}
