// Published models with their tokenizers: texts in; texts, vectors and classes out.
#include "catch.hpp"
#include "with_tokenizer.hpp"

#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <algorithm>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::runtime;
namespace fs = std::filesystem;

namespace {

using Ids = std::vector<int32_t>;

// The graph's output for one text, without padding.
Tensor alone(Session &session, const std::vector<int32_t> &ids, const std::string &output) {
    const auto length = static_cast<int64_t>(ids.size());
    TensorMap inputs{{"ids", Tensor::of({1, length}, ids)},
                     {"lengths", Tensor::of({1}, std::vector<int32_t>{static_cast<int32_t>(length)})},
                     {"token_types", Tensor(TensorType{DType::i32, {1, length}})}};
    return session.run("encode", inputs).at(output);
}

float logit_of(const char *model, const std::vector<int32_t> &ids) {
    Session session = WithTokenizer(model).session();
    return alone(session, ids, "logits").f32().front();
}

void check_close(std::span<const float> found, std::span<const float> expected) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK_THAT(found[i], matchers::within_abs(expected[i], 1e-5));
}

} // namespace

TEST_CASE("texts: sentence vectors are the same as from token ids, in any batch") {
    const WithTokenizer model("sentences");
    Session session = model.session();
    const std::vector<std::string> texts{"w7 w9 w11 w3", "w5", "w20 w30 w40 w50 w51 w52 w17"};
    const Tensor vectors = embed(session, texts);
    REQUIRE(vectors.shape() == Shape{3, 36});
    check_close(vectors.f32().subspan(0, 36), alone(session, {1, 7, 9, 11, 3, 2}, "embedding").f32());
    check_close(vectors.f32().subspan(36, 36), alone(session, {1, 5, 2}, "embedding").f32());
    const Tensor one_by_one = embed(session, texts, {.batch = 1});
    check_close(one_by_one.f32(), vectors.f32());
    CHECK(embed(session, {}).shape() == Shape{0, 36});
    CHECK_THAT(message_of([&] { (void)classify(session, texts); }),
               contains("does not give classes of texts but the output 'embedding'"));

    std::string longer = "w3";
    for (size_t i = 0; i < 40; ++i) longer += " w4";
    CHECK_THAT(message_of([&] {
                   (void)embed(session, {"w3", longer});
               }),
               contains("text 2: 43 tokens; expected at most 32"));
    const TextIds ids_of = tokenize(test::runtime().load(model.path()), {"w5", longer, "w3"});
    CHECK(ids_of.ids == std::vector<std::vector<int32_t>>{{1, 5, 2}});
    CHECK(ids_of.refused.value().text == 1);
    CHECK_THAT(ids_of.refused->why, contains("43 tokens; expected at most 32"));
    const Tensor cut = embed(session, {longer}, {.truncate = true});
    std::vector<int32_t> ids(32, 4);
    ids[0] = 1, ids[1] = 3, ids[31] = 2;
    check_close(cut.f32(), alone(session, ids, "embedding").f32());
    CHECK(tokenize(test::runtime().load(model.path()), {longer}, {.truncate = true}).ids ==
          std::vector<std::vector<int32_t>>{ids});
}

TEST_CASE("texts: vectors of token ids are those of the texts that they are of; other ids are refused") {
    const WithTokenizer model("sentences");
    Session session = model.session();
    const Tensor vectors = embed(session, {"w7 w9", "w5"});
    check_close(embed_ids(session, {{1, 7, 9, 2}, {1, 5, 2}}).f32(), vectors.f32());
    CHECK(embed_ids(session, {}).shape() == Shape{0, 36});
    std::vector<int32_t> many(40, 4);
    const auto refusal = [&](const std::vector<std::vector<int32_t>> &ids) {
        return message_of([&] { (void)embed_ids(session, ids); });
    };
    CHECK_THAT(refusal({{5}, many}), contains("text 2: 40 tokens; expected at most 32"));
    CHECK_THAT(refusal({{5}, {}}), contains("text 2: no tokens"));
    CHECK_THAT(refusal({{5, 53}}), contains("text 1: token 2: expected an id from 0 to 52, found 53"));
    CHECK_THAT(refusal({{-1}}), contains("text 1: token 1: expected an id from 0 to 52, found -1"));
    const Tensor cut = embed_ids(session, {many}, {.truncate = true});
    check_close(cut.f32(), embed_ids(session, {std::vector<int32_t>(32, 4)}).f32());
}

TEST_CASE("texts: those that are too long are cut on the side that the tokenizer's files name") {
    const auto words_of = [](const std::string &word, size_t count, const std::string &last) {
        std::string out;
        for (size_t i = 1; i < count; ++i) out += word + " ";
        return out + last;
    };
    const WithTokenizer model("bert_texts", {{"id2label", {{"0", "dull"}, {"1", "fine"}, {"2", "odd"}}}});
    const auto score_of = [&](const std::string &first, const std::string &second, bool truncate) {
        Session session = model.session();
        const ReadOptions options{.truncate = truncate};
        const auto found =
            second.empty() ? classify(session, {first}, options) : classify_pairs(session, {{first, second}}, options);
        return found.front().front().score;
    };
    // What transformers keeps of 40 tokens, and of 40 and 41: 30, and 14 and 15.
    const std::string first = "w7 " + words_of("w3", 39, "w8"), second = "w9 " + words_of("w4", 40, "w10");
    const double left = score_of(words_of("w3", 30, "w8"), "", false),
                 left_pair = score_of(words_of("w3", 14, "w8"), words_of("w4", 15, "w10"), false);
    const double right = score_of("w7 " + words_of("w3", 29, "w3"), "", false),
                 right_pair = score_of("w7 " + words_of("w3", 13, "w3"), "w9 " + words_of("w4", 14, "w4"), false);
    const auto is_cut = [&](double one, double pair) {
        CHECK_THAT(score_of(first, "", true), matchers::within_abs(one, 1e-6));
        CHECK_THAT(score_of(first, second, true), matchers::within_abs(pair, 1e-6));
    };
    REQUIRE(std::abs(left - right) > 1e-4);
    REQUIRE(std::abs(left_pair - right_pair) > 1e-4);
    is_cut(right, right_pair);
    json file = json::parse(tokenizer(true));
    file["truncation"] = {{"direction", "Left"}, {"max_length", 32}, {"strategy", "LongestFirst"}, {"stride", 0}};
    model.write("tokenizer.json", file.dump());
    is_cut(left, left_pair);
    model.write("tokenizer_config.json", R"({"truncation_side": "right", "padding_side": "left"})"); // decides
    is_cut(right, right_pair);
    model.write("tokenizer_config.json", R"({"truncation_side": "left"})");
    is_cut(left, left_pair);
    model.write("tokenizer_config.json", R"({"truncation_side": "both"})");
    CHECK_THAT(message_of([&] { (void)model.session(); }), contains("tokenizer_config.json") &&
                                                               contains("truncation_side") &&
                                                               contains("expected left or right, found 'both'"));
}

TEST_CASE("texts: classes have the config's labels, with softmax, sigmoid or plain scores by problem type") {
    const json names{{"id2label", {{"0", "dull"}, {"1", "fine"}, {"2", "odd"}}}};
    const WithTokenizer model("bert_texts", names);
    Session session = model.session();
    const Tensor logits = alone(session, {1, 7, 9, 2}, "logits");
    const auto found = classify(session, {"w7 w9"}).front();
    REQUIRE(found.size() == 3);
    double sum = 0;
    for (const LabelScore &each : found) sum += each.score;
    CHECK_THAT(sum, matchers::within_abs(1, 1e-9));
    CHECK(std::ranges::is_sorted(found, std::ranges::greater{}, &LabelScore::score));
    const auto best = std::ranges::max_element(logits.f32()) - logits.f32().begin();
    CHECK(found.front().label == std::array{"dull", "fine", "odd"}[static_cast<size_t>(best)]);
    const auto raw = classify(session, {"w7 w9"}, {.raw_scores = true}).front();
    CHECK(raw.front().label == found.front().label);
    CHECK_THAT(raw.front().score, matchers::within_abs(logits.f32()[static_cast<size_t>(best)], 1e-5));

    json several = names;
    several["problem_type"] = "multi_label_classification";
    Session of_several = WithTokenizer("bert_texts", several).session();
    const auto each_alone = classify(of_several, {"w7 w9"}).front();
    for (const LabelScore &each : each_alone) {
        const size_t at = each.label == "dull" ? 0 : each.label == "fine" ? 1 : 2;
        CHECK_THAT(each.score, matchers::within_abs(1 / (1 + std::exp(-logits.f32()[at])), 1e-5));
    }
    several["problem_type"] = "ranking";
    CHECK_THAT(message_of([&] { (void)WithTokenizer("bert_texts", several).session(); }),
               contains("/problem_type: 'ranking' is not supported"));
}

TEST_CASE("texts: a decoder classifies by the last token that is no padding, even where a text ends with it") {
    const auto best = [](const json &padding, const char *text) {
        Session session = WithTokenizer("llama_texts", {{"pad_token_id", padding}}).session();
        return classify(session, {text, "w5 w3 w2 w1"}).front().front().score;
    };
    CHECK(best(0, "w7 w9 w0 w0") == best(0, "w7 w9"));
    CHECK(best(0, "w7 w9 w0 w3") != best(0, "w7 w9 w3"));
    CHECK(best(nullptr, "w7 w9 w0 w0") != best(nullptr, "w7 w9"));
}

TEST_CASE("texts: each token of a text has its class") {
    Session session = WithTokenizer("bert_tokens").session();
    const Tensor logits = alone(session, {1, 7, 9, 11, 2}, "logits");
    const auto found = label_tokens(session, {"w7 w9  w11", "w3"});
    REQUIRE(found[0].size() == 3);
    CHECK(found[1].size() == 1);
    for (size_t i = 0; i < 3; ++i) {
        const auto row = logits.f32().subspan((i + 1) * 5, 5);
        const auto best = std::ranges::max_element(row) - row.begin();
        CHECK(found[0][i].labels.front().label == "LABEL_" + std::to_string(best));
        CHECK(found[0][i].labels.size() == 5);
    }
    CHECK(found[0][2].token == "w11");
    CHECK((found[0][2].characters == TextRange{7, 10}));
}

TEST_CASE("texts: the head is that of the class in config.json, whatever else the file holds") {
    const WithTokenizer model("bert_tokens_pooled");
    Session session = model.session();
    const auto found = label_tokens(session, {"w7 w9  w11", "w3"});
    REQUIRE(found[0].size() == 3);
    CHECK(found[0][0].labels.size() == 5);
    double sum = 0;
    for (const LabelScore &each : found[0][2].labels) sum += each.score;
    CHECK_THAT(sum, matchers::within_abs(1, 1e-6));
}

TEST_CASE("texts: a single class has the sigmoid of its score, or the score itself in regression") {
    json one{{"id2label", {{"0", "relevant"}}}};
    const float logit = logit_of("bert_score", {1, 7, 9, 2});
    const auto score = [&](const char *type) {
        if (type != nullptr) one["problem_type"] = type;
        Session session = WithTokenizer("bert_score", one).session();
        const auto labels = classify(session, {"w7 w9"}).front();
        REQUIRE(labels.size() == 1);
        CHECK(labels.front().label == "relevant");
        return labels.front().score;
    };
    const double sigmoid = 1 / (1 + std::exp(-double{logit}));
    CHECK_THAT(score(nullptr), matchers::within_abs(sigmoid, 1e-5));
    CHECK_THAT(score("single_label_classification"), matchers::within_abs(sigmoid, 1e-5));
    CHECK_THAT(score("multi_label_classification"), matchers::within_abs(sigmoid, 1e-5));
    CHECK_THAT(score("regression"), matchers::within_abs(logit, 1e-5));
}

TEST_CASE("texts: the activation that a cross-encoder's makers chose decides its scores") {
    const float logit = logit_of("bert_score", {1, 7, 9, 2});
    const auto score = [](const json &change) {
        Session session = WithTokenizer("bert_score", change).session();
        return classify(session, {"w7 w9"}).front().front().score;
    };
    const char *identity = "torch.nn.modules.linear.Identity", *sigmoid = "torch.nn.modules.activation.Sigmoid";
    const double probability = 1 / (1 + std::exp(-double{logit}));
    CHECK_THAT(score({{"sentence_transformers", {{"activation_fn", identity}, {"version", "4.1.0"}}}}),
               matchers::within_abs(logit, 1e-5));
    CHECK_THAT(score({{"sentence_transformers", {{"activation_fn", sigmoid}}}}),
               matchers::within_abs(probability, 1e-5));
    CHECK_THAT(score({{"sbert_ce_default_activation_function", identity}}), matchers::within_abs(logit, 1e-5));
    CHECK_THAT(message_of([&] {
                   (void)score({{"sbert_ce_default_activation_function", "torch.nn.ReLU"}});
               }),
               contains("/sbert_ce_default_activation_function: 'torch.nn.ReLU' is not supported"));
}

TEST_CASE("texts: as many labels as classes are required") {
    const auto refusal = [](const char *name, const json &labels) {
        return message_of([&] { (void)WithTokenizer(name, {{"id2label", labels}}).session(); });
    };
    CHECK_THAT(refusal("bert_tokens", {{"0", "a"}, {"1", "b"}}),
               contains("classifier.weight' has the shape (5, 36)") && contains("(2, 36)"));
    CHECK_THAT(refusal("bert_score", {{"0", "a"}, {"1", "b"}}),
               contains("classifier.weight' has the shape (1, 36)") && contains("(2, 36)"));
}

TEST_CASE("texts: a language model in a Hugging Face folder continues them with the likeliest tokens") {
    const WithTokenizer model("llama", {{"eos_token_id", 52}});
    Session session = model.session();
    GenerateOptions options;
    options.max_length = 9;
    const Hypothesis found = session.hypotheses({"w7 w9 w11"}, options).front().front();
    std::vector<int32_t> ids{7, 9, 11};
    std::string text;
    for (size_t i = 0; i < 9; ++i) {
        const auto length = static_cast<int64_t>(ids.size());
        const Tensor logits =
            session.run("decode", {{"ids", Tensor::of({1, length}, ids)}, {"position", Tensor({DType::i32, {1}})}})
                .at("logits");
        const auto last = logits.f32().last(words);
        ids.push_back(static_cast<int32_t>(std::ranges::max_element(last) - last.begin()));
        if (ids.back() == 52) break;
        text += " w" + std::to_string(ids.back());
    }
    CHECK(found.text == text);
    const TextGeneration generation = *inspect(runtime().load(model.path())).generation;
    CHECK(generation.end == std::vector<std::string>{"w52"});
    CHECK(generation.source.split == TextFormat::Split::tokenizer);
    CHECK_THAT(message_of([&] { (void)session.generate({""}); }),
               contains("text 1: empty, and the model has no token"));
    std::string longer = "w3";
    for (size_t i = 0; i < 64; ++i) longer += " w4"; // the model was trained for 64
    CHECK_THAT(message_of([&] { (void)session.generate({longer}); }), contains("65 tokens; expected at most 64"));
}

TEST_CASE("texts: conversations use the model's chat template, in whichever file it is") {
    const std::vector<ChatMessage> messages{{"user", "w7 w9"}, {"assistant", "w3"}, {"user", "w11"}};
    const WithTokenizer model("llama");
    CHECK_THAT(message_of([&] { (void)chat_prompt(runtime().load(model.path()), messages); }),
               contains("has no chat template"));
    const std::string text = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% "
                             "endfor %}{% if add_generation_prompt %}w40{% endif %}";
    const std::string expected = "w1user: w7 w9w2assistant: w3w2user: w11w2w40";
    json config{{"bos_token", "w1"}, {"eos_token", {{"content", "w2"}, {"lstrip", false}}}, {"chat_template", text}};
    model.write("tokenizer_config.json", config.dump());
    CHECK(chat_prompt(runtime().load(model.path()), messages) == expected);
    const std::map<std::string, std::string> tools{{"tools", R"([{"name": "look"}])"}}, none{{"tools", "null"}};
    config["chat_template"] = {{{"name", "tool_use"}, {"template", "with {{ tools[0].name }}"}},
                               {{"name", "default"}, {"template", text}}};
    model.write("tokenizer_config.json", config.dump());
    CHECK(chat_prompt(runtime().load(model.path()), messages) == expected);
    CHECK(chat_prompt(runtime().load(model.path()), messages, none) == expected);
    CHECK(chat_prompt(runtime().load(model.path()), messages, tools) == "with look");
    model.write("chat_template.jinja", "{{ messages[0]['content'] }}");
    CHECK(chat_prompt(runtime().load(model.path()), messages, tools) == "w7 w9"); // it is for all
    fs::create_directory(model.path() / "additional_chat_templates");
    model.write("additional_chat_templates/tool_use.jinja", "other {{ tools[0].name }}");
    const TemporaryFolder folder;
    convert(runtime(), model.path(), {}).model.save(folder.path() / "converted");
    for (const fs::path &path : {model.path(), folder.path() / "converted"}) {
        CHECK(chat_prompt(runtime().load(path), messages) == "w7 w9");
        CHECK(chat_prompt(runtime().load(path), messages, tools) == "other look");
    }
}

TEST_CASE("texts: a chat template knows the tokens that the files name, in transformers' order") {
    const WithTokenizer model("llama");
    const auto prompt = [&] { return chat_prompt(runtime().load(model.path()), {{"user", "w7"}}); };
    json config{{"chat_template", "{{ bos_token }}|{{ eos_token }}|{{ bos_token is defined }}"}};
    model.write("tokenizer_config.json", config.dump());
    CHECK(prompt() == "||False");
    model.write("special_tokens_map.json", R"({"bos_token": {"content": "w1", "lstrip": false}, "eos_token": "w2"})");
    CHECK(prompt() == "w1|w2|True");
    config["bos_token"] = "w3";
    model.write("tokenizer_config.json", config.dump());
    CHECK(prompt() == "w1|w2|True");
    config["added_tokens_decoder"] = {{"1", {{"content", "w1"}}}}; // all tokens are listed here
    model.write("tokenizer_config.json", config.dump());
    CHECK(prompt() == "w3||True");
    config.erase("added_tokens_decoder");
    model.write("tokenizer_config.json", config.dump());
    model.write("special_tokens_map.json", R"({"bos_token": null})");
    CHECK(prompt() == "||False");
    config["chat_template"] = "{{ bos_token + messages[0].content }}";
    model.write("tokenizer_config.json", config.dump());
    CHECK_THAT(message_of(prompt), contains("bos_token"));
}

TEST_CASE("texts: a model that sees uses its processor's chat template") {
    const WithTokenizer model("llama");
    const auto prompt = [&] { return chat_prompt(runtime().load(model.path()), {{"user", "w7"}}); };
    model.write("tokenizer_config.json", R"({"chat_template": "tokenizer's {{ messages[0].content }}"})");
    model.write("chat_template.json", R"({"chat_template": "json {{ messages[0].content }}"})");
    CHECK(prompt() == "tokenizer's w7");
    model.write("preprocessor_config.json", "{}");
    CHECK(prompt() == "json w7");
    model.write("chat_template.jinja", "jinja {{ messages[0].content }}");
    CHECK(prompt() == "json w7");
    model.write("processor_config.json", R"({"chat_template": "processor's {{ messages[0].content }}"})");
    CHECK(prompt() == "processor's w7");
    std::filesystem::remove(model.path() / "preprocessor_config.json");
    model.write("processor_config.json", R"({"chat_template": null})");
    CHECK(prompt() == "json w7");
    model.write("chat_template.json", R"({"chat_template": 5})");
    CHECK_THAT(message_of(prompt), contains("chat_template.json: /chat_template: expected"));
    std::filesystem::remove(model.path() / "chat_template.json");
    CHECK(prompt() == "jinja w7");
    std::filesystem::remove(model.path() / "chat_template.jinja");
    CHECK(prompt() == "tokenizer's w7");
}

TEST_CASE("texts: a model suggests how to sample from it, and after conversion, too") {
    const WithTokenizer model("llama");
    const auto suggested = [&] { return suggested_options(runtime().load(model.path())); };
    CHECK(suggested().temperature == 0); // no file says anything
    CHECK(suggested().repetition_penalty == 1);
    json settings{{"do_sample", true}, {"temperature", 0.7}, {"top_p", 0.8}, {"min_p", 0.05}, {"top_k", 20}};
    settings["repetition_penalty"] = 1.05;
    model.write("generation_config.json", settings.dump());
    const TemporaryFolder folder;
    convert(runtime(), model.path(), {}).model.save(folder.path() / "converted");
    for (const GenerateOptions &found : {suggested(), suggested_options(runtime().load(folder.path() / "converted"))}) {
        CHECK(found.temperature == 0.7);
        CHECK(found.top_p == 0.8);
        CHECK(found.min_p == 0.05);
        CHECK(found.top_k == 20);
        CHECK(found.repetition_penalty == 1.05);
        CHECK(found.max_length == 0);
    }
    model.write("generation_config.json", R"({"do_sample": true})");
    CHECK(suggested().temperature == 1);
    CHECK(suggested().top_k == 50); // as transformers does
    settings["do_sample"] = false;
    model.write("generation_config.json", settings.dump());
    CHECK(suggested().temperature == 0);
    CHECK(suggested().top_k == 0);
    CHECK(suggested().repetition_penalty == 1.05);
    settings["do_sample"] = true, settings["top_p"] = 1.5, settings["top_k"] = -1;
    model.write("generation_config.json", settings.dump());
    CHECK(suggested().temperature == 0.7);
    CHECK(suggested().top_p == 1); // what makes no sense is left out
    CHECK(suggested().top_k == 0);
    CHECK_THAT(message_of([&] { (void)suggested_options(runtime().load(WithTokenizer("sentences").path())); }),
               contains("does not generate text"));
}

TEST_CASE("texts: tokens are of types if the tokenizer gives models any") {
    const WithTokenizer model("bert_texts", {{"id2label", {{"0", "dull"}, {"1", "fine"}, {"2", "odd"}}}});
    const auto scores_of = [](const fs::path &path) {
        Session session = test::session_of(path);
        std::map<std::string, double> out;
        const auto found = classify_pairs(session, {{"w7", "w9"}}, {.raw_scores = true});
        for (const LabelScore &each : found.front()) out[each.label] = each.score;
        return std::array{out.at("dull"), out.at("fine"), out.at("odd")};
    };
    Session session = model.session();
    const Tensor untyped = alone(session, {1, 7, 2, 9, 2}, "logits");
    const auto is_untyped = [&](const std::array<double, 3> &scores) {
        for (size_t i = 0; i < scores.size(); ++i)
            if (std::abs(scores[i] - untyped.f32()[i]) > 1e-5) return false;
        return true;
    };
    CHECK_FALSE(is_untyped(scores_of(model.path())));
    model.write("tokenizer_config.json", R"({"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]})");
    CHECK_FALSE(is_untyped(scores_of(model.path())));
    model.write("tokenizer_config.json", R"({"model_input_names": ["input_ids", "attention_mask"]})");
    CHECK(is_untyped(scores_of(model.path())));
    const TemporaryFolder folder;
    convert(runtime(), model.path(), {}).model.save(folder.path() / "converted");
    CHECK(is_untyped(scores_of(folder.path() / "converted")));
}

TEST_CASE("texts: decoded texts are cleaned up where transformers does it") {
    // w8, w10, w11 and w12 have other texts.
    const auto detokenized = [](const char *name, bool bpe, const json &settings) {
        const WithTokenizer model(name);
        json file = json::parse(tokenizer(false));
        json &vocabulary = file["model"]["vocab"];
        for (const auto &[old, token] : {std::pair{"w8", "."}, {"w10", "do"}, {"w11", "n't"}, {"w12", "not"}}) {
            vocabulary[token] = vocabulary[old];
            vocabulary.erase(old);
        }
        if (bpe) file["model"] = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}};
        model.write("tokenizer.json", file.dump());
        model.write("tokenizer_config.json", settings.dump());
        const TemporaryFolder folder;
        convert(runtime(), model.path(), {}).model.save(folder.path() / "converted");
        const Ids ids{7, 10, 12, 10, 11, 8};
        const std::string out = detokenize(runtime().load(model.path()), ids);
        CHECK(detokenize(runtime().load(folder.path() / "converted"), ids) == out);
        return out;
    };
    const std::string plain = "w7 do not do n't .", clean = "w7 do not don't.";
    json settings{{"clean_up_tokenization_spaces", true}};
    for (const char *name : {"t5", "sentences"}) {
        CHECK(detokenized(name, false, json::object()) == plain);
        CHECK(detokenized(name, false, {{"clean_up_tokenization_spaces", false}}) == plain);
        CHECK(detokenized(name, false, settings) == clean);
    }
    CHECK(detokenized("t5", true, settings) == plain);
    settings["clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"] = true;
    CHECK(detokenized("t5", true, settings) == clean);
}

TEST_CASE("texts: a converted model takes the same texts") {
    for (const char *name : {"llama", "sentences", "t5"}) {
        INFO(name);
        const WithTokenizer model(name);
        const TemporaryFolder folder;
        convert(runtime(), model.path(), {}).model.save(folder.path() / "converted");
        Session before = model.session();
        Session after = test::session_of(folder.path() / "converted");
        const std::vector<std::string> texts{"w7 w9 w11", "w30"};
        if (std::string(name) == "sentences")
            check_close(embed(after, texts).f32(), embed(before, texts).f32());
        else
            CHECK(after.generate(texts) == before.generate(texts));
    }
}

TEST_CASE("a tokenizer.json may have as many megabytes as those of large vocabularies") {
    const WithTokenizer model("llama");
    model.write("tokenizer.json", tokenizer(false) + std::string(size_t{36} << 20, ' '));
    CHECK(token_ids(test::runtime().load(model.path()), "w3 w4", false) == std::vector<int32_t>{3, 4});
}
