// Generation: the effects, and absence of effects, of caches, batches, beams and seeds.
#include "all_scores.hpp"
#include "catch.hpp"

#include "api/access.hpp"
#include "generation/decoder.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "vulkan_devices.hpp"

#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>
#include <lamina/transformer.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

using namespace lamina;
using test::runtime;

namespace {

const std::vector<std::string> words{"a", "vulkan", "transformer", "it", "pronunciation", "q", "lamina", "hello"};

Model g2p() { return runtime().load(std::string(LAMINA_SOURCE_DIR) + "/models/g2p"); }

// An untrained language model over single letters: its scores mean nothing, but they are all different.
ModelDescription language_model_description(Generator::Output output) {
    std::vector<std::string> letters{"<pad>", "<s>", "</s>"};
    for (char c = 'a'; c <= 'z'; ++c) letters.emplace_back(1, c);
    const TransformerLayer layer{.d_model = 32, .heads = 4, .ffn = 64};
    const DecoderOnly model{.embedding = {.d_model = 32, .vocabulary = 29},
                            .decoder = {.layer = layer, .layers = 2},
                            .generator = {.d_model = 32, .vocabulary = 29, .output = output}};
    TextVocabularies text{.target = letters, .target_characters = true, .max_length = 12};
    return build(model, {.name = "letters", .seed = 3, .text = text});
}
Model language_model() { return runtime().load(language_model_description(Generator::Output::logits)); }

// The scores behind each token of a sequence, fed as it is to every row.
std::vector<std::vector<float>> scores_of(Session &session, const std::vector<generation::Ids> &sources,
                                          const generation::Ids &tokens, bool cached) {
    const size_t rows = std::max<size_t>(sources.size(), 2);
    generation::Decoder decoder(detail::Access::state(session), {sources.begin(), sources.end()},
                                {rows, tokens.size(), cached});
    std::vector<std::vector<float>> out;
    for (const int32_t token : tokens) {
        out.push_back(test::all_scores(test::step(decoder, std::vector<generation::Ids>(rows, {token}))));
    }
    return out;
}

void check_close(const std::vector<std::vector<float>> &a, const std::vector<std::vector<float>> &b) {
    REQUIRE(a.size() == b.size());
    for (size_t step = 0; step < a.size(); ++step) {
        INFO("step " << step);
        REQUIRE(a[step].size() == b[step].size());
        double worst = 0;
        for (size_t i = 0; i < a[step].size(); ++i)
            worst = std::max(worst, std::abs(static_cast<double>(a[step][i]) - b[step][i]));
        CHECK(worst < 2e-4);
    }
}

} // namespace

TEST_CASE("cached and uncached decoding give the same scores at every step") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id << " " << device.name);
        Session translator = runtime().session(g2p(), device);
        const std::vector<generation::Ids> sources{{3, 4, 5, 6}, {7, 8, 9, 10, 11, 12, 13, 14, 15}};
        const generation::Ids tokens{1, 20, 31, 42, 5, 66, 17, 8, 29, 30};
        check_close(scores_of(translator, sources, tokens, true), scores_of(translator, sources, tokens, false));
        Session letters = runtime().session(language_model(), device);
        check_close(scores_of(letters, {}, {1, 5, 6, 7, 8, 9, 3, 3, 28}, true),
                    scores_of(letters, {}, {1, 5, 6, 7, 8, 9, 3, 3, 28}, false));
    }
}

TEST_CASE("a beam of one is greedy search, token for token") {
    Session session = runtime().session(g2p(), runtime().device("cpu"));
    detail::SessionState &state = detail::Access::state(session);
    const auto found = session.hypotheses(words);
    const model::TextCodec &letters = *state.model->generation->source;
    const model::TextCodec &phones = *state.model->generation->target;
    for (size_t i = 0; i < words.size(); ++i) {
        INFO(words[i]);
        // Greedy search as one would write it by hand: always the likeliest token.
        generation::Decoder decoder(state, {letters.encode(words[i], true)}, {1, 40, true});
        generation::Ids greedy;
        int32_t token = *phones.id("<s>");
        for (size_t p = 0; p < 32; ++p) {
            const auto scores = test::all_scores(test::step(decoder, {{token}}));
            token = static_cast<int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
            if (token == *phones.id("</s>")) break;
            greedy.push_back(token);
        }
        REQUIRE(found[i].size() == 1);
        CHECK(found[i].front().tokens == greedy);
    }
}

TEST_CASE("a batch gives the same results as its members alone, on every device, greedy and with beams") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = runtime().session(g2p(), device);
        for (const int64_t beams : {1, 3}) {
            INFO(device.id << ", beams " << beams);
            GenerateOptions options;
            options.beams = beams;
            const auto together = session.hypotheses(words, options);
            for (size_t i = 0; i < words.size(); ++i) {
                const auto alone = session.hypotheses({words[i]}, options);
                REQUIRE(together[i].size() == alone[0].size());
                for (size_t h = 0; h < alone[0].size(); ++h) {
                    CHECK(together[i][h].text == alone[0][h].text);
                    CHECK_THAT(together[i][h].score, matchers::within_abs(alone[0][h].score, 1e-3));
                }
            }
        }
    }
}

TEST_CASE(
    "beams give distinct hypotheses, best first, with and without a cache, and the best is no worse than greedy") {
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        INFO(device.id);
        Session session = runtime().session(g2p(), device);
        GenerateOptions options;
        options.beams = 4;
        options.length_penalty = 0; // scores are log probabilities
        const auto cached = session.hypotheses(words, options);
        options.hypotheses = 3;
        const auto three = session.hypotheses(words, options);
        options.hypotheses = 0;
        options.cached = false;
        const auto uncached = session.hypotheses(words, options);
        GenerateOptions greedy_options;
        greedy_options.length_penalty = 0;
        const auto greedy = session.hypotheses(words, greedy_options);
        for (size_t i = 0; i < words.size(); ++i) {
            INFO(words[i]);
            REQUIRE(cached[i].size() == 4);
            std::set<std::vector<int32_t>> distinct;
            for (size_t h = 0; h < 4; ++h) {
                CHECK(cached[i][h].text == uncached[i][h].text);
                CHECK(cached[i][h].score == cached[i][h].log_probability);
                if (h != 0) CHECK(cached[i][h].score <= cached[i][h - 1].score);
                distinct.insert(cached[i][h].tokens);
            }
            CHECK(distinct.size() == 4);
            CHECK(three[i].size() == 3);
            CHECK(three[i].back().tokens == cached[i][2].tokens);
            CHECK(cached[i][0].score >= greedy[i][0].score - 1e-6);
        }
    }
}

TEST_CASE("a hypothesis's log probability is the sum of those of its tokens, fed one by one") {
    Session session = runtime().session(g2p(), runtime().device("cpu"));
    detail::SessionState &state = detail::Access::state(session);
    const model::TextCodec &phones = *state.model->generation->target;
    GenerateOptions options;
    options.beams = 3;
    options.length_penalty = 1;
    const auto found = session.hypotheses({"transformer"}, options);
    REQUIRE(found[0].size() == 3);
    for (const Hypothesis &h : found[0]) {
        const auto source = state.model->generation->source->encode("transformer", true);
        generation::Decoder decoder(state, {source}, {1, 40, true});
        generation::Ids fed = h.tokens;
        fed.insert(fed.begin(), *phones.id("<s>"));
        double sum = 0;
        for (size_t p = 0; p < fed.size(); ++p) {
            const auto scores = test::all_scores(test::step(decoder, {{fed[p]}}));
            const int32_t next = p + 1 < fed.size() ? fed[p + 1] : *phones.id("</s>");
            sum += scores[static_cast<size_t>(next)]; // the model gives log probabilities
        }
        CHECK_THAT(h.log_probability, matchers::within_abs(sum, 1e-3));
        CHECK_THAT(h.score, matchers::within_abs(sum / static_cast<double>(fed.size()), 1e-3));
    }
}

TEST_CASE("sampling: a seed determines the text; with temperature near 0 or top_k 1 it is greedy") {
    Session session = runtime().session(g2p(), runtime().device("cpu"));
    const auto greedy = session.generate(words);
    GenerateOptions options;
    options.temperature = 1.5;
    options.seed = 7;
    const auto first = session.generate(words, options);
    CHECK(session.generate(words, options) == first);
    CHECK(session.generate({words.front()}, options).front() == first.front()); // whatever the batch
    options.seed = 8;
    CHECK(session.generate(words, options) != first);
    options.top_k = 1;
    CHECK(session.generate(words, options) == greedy);
    options.top_k = 0;
    options.top_p = 1e-9;
    CHECK(session.generate(words, options) == greedy);
    options.top_p = 1;
    options.temperature = 1e-3;
    CHECK(session.generate(words, options) == greedy);
}

TEST_CASE("sampling: beams that compete depend on the seed alone; with temperature near 0 they are beam search") {
    Session session = runtime().session(g2p(), runtime().device("cpu"));
    GenerateOptions options;
    options.beams = 4;
    const auto searched = session.generate(words, options);
    options.beams_compete = true;
    CHECK(session.generate(words, options) == searched); // without a temperature they always do
    options.temperature = 2;
    options.seed = 7;
    const auto first = session.generate(words, options);
    CHECK(session.generate(words, options) == first);
    CHECK(session.generate({words.front()}, options).front() == first.front()); // whatever the batch
    options.seed = 8;
    CHECK(session.generate(words, options) != first);
    options.temperature = 1e-4;
    CHECK(session.generate(words, options) == searched);
}

TEST_CASE("a batch of prompts of different lengths gives the same continuations as each alone") {
    const std::vector<std::string> prompts{"a", "lamina", "xyz", "thequickbrownfox"};
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = runtime().session(language_model(), device);
        for (const int64_t beams : {1, 3}) {
            INFO(device.id << ", beams " << beams);
            GenerateOptions options;
            options.beams = beams;
            const auto together = session.hypotheses(prompts, options);
            options.cached = false;
            const auto uncached = session.hypotheses(prompts, options);
            for (size_t i = 0; i < prompts.size(); ++i) {
                REQUIRE(!together[i].empty());
                CHECK(!together[i][0].tokens.empty());
                CHECK(together[i][0].text == uncached[i][0].text);
                options.cached = true;
                CHECK(together[i][0].text == session.hypotheses({prompts[i]}, options)[0][0].text);
            }
        }
    }
}

TEST_CASE("logits, log probabilities and probabilities give the same hypotheses") {
    using Output = Generator::Output;
    GenerateOptions options;
    options.beams = 4;
    const auto of = [&](Output output) {
        return runtime()
            .session(runtime().load(language_model_description(output)), runtime().device("cpu"))
            .hypotheses({"lamina", "b"}, options);
    };
    const auto expected = of(Output::logits);
    for (const Output output : {Output::log_probabilities, Output::probabilities}) {
        const auto found = of(output);
        for (size_t i = 0; i < expected.size(); ++i)
            for (size_t h = 0; h < expected[i].size(); ++h) {
                CHECK(found[i][h].tokens == expected[i][h].tokens);
                CHECK_THAT(found[i][h].log_probability, matchers::within_abs(expected[i][h].log_probability, 1e-4));
            }
    }
}

TEST_CASE("probabilities declared as logits are refused") {
    ModelDescription model = language_model_description(Generator::Output::probabilities);
    const size_t at = model.json.find("\"probabilities\": \"probabilities\",");
    REQUIRE(at != std::string::npos);
    model.json.replace(at, 15, "\"logits\"");
    CHECK_THAT(message_of([&] { (void)runtime().load(model); }),
               matchers::contains(
                   "/generation/logits: expected logits, found the probabilities of layer 'generator.softmax'"));
}

TEST_CASE("NaN scores end the generation with an error") {
    ModelDescription model = language_model_description(Generator::Output::logits);
    model.weights.at("generator.bias").f32()[5] = std::numeric_limits<float>::quiet_NaN();
    Session session = runtime().session(runtime().load(model), runtime().device("cpu"));
    CHECK_THAT(message_of([&] { (void)session.generate({"a"}); }),
               matchers::contains("graph 'decode' gave nan for token 5 at position 1 on cpu"));
}

TEST_CASE("max_length limits the output, and an empty text gives an empty output") {
    Session session = runtime().session(g2p(), runtime().device("cpu"));
    GenerateOptions options;
    options.max_length = 3;
    const auto found = session.hypotheses({"transformer", "", "a"}, options);
    CHECK(found[0].front().tokens.size() == 3);
    CHECK(found[1].empty());
    CHECK(found[2].front().tokens.size() <= 3);
    CHECK(session.generate({"", "a"}).front().empty());
}

TEST_CASE("invalid options and texts are refused with what was expected") {
    Session session = runtime().session(g2p(), runtime().device("cpu"));
    const auto with = [&](const std::function<void(GenerateOptions &)> &change) {
        GenerateOptions options;
        change(options);
        return message_of([&] { (void)session.generate({"a"}, options); });
    };
    CHECK_THAT(with([](auto &o) { o.beams = 0; }), matchers::contains("beams: expected 1 to 1024, found 0"));
    CHECK_THAT(with([](auto &o) { o.hypotheses = 2; }), matchers::contains("hypotheses: expected"));
    CHECK_THAT(with([](auto &o) { o.temperature = -1; }), matchers::contains("temperature"));
    CHECK_THAT(with([](auto &o) { o.temperature = std::nan(""); }), matchers::contains("temperature"));
    CHECK_THAT(with([](auto &o) { o.top_p = 0; }), matchers::contains("top_p"));
    CHECK_THAT(with([](auto &o) { o.batch = 0; }), matchers::contains("batch"));
    CHECK_THAT(message_of([&] { (void)session.generate({"ok", "naïve"}); }), matchers::contains("text 2"));
}

TEST_CASE("a comparison covers a prompt as a block, and what follows token by token, with caches of either dtype") {
    const Model model = language_model();
    for (const Device &device : test::devices_of_each_kind(runtime()))
        for (const DType cache : {DType::f32, DType::f16}) {
            INFO(device.id << ", " << name_of(cache));
            CompareOptions options;
            options.texts = {"pronunciation", "lamina"};
            options.cache = cache;
            const Comparison found = compare(runtime(), model, device, options);
            INFO(found.summary());
            CHECK(found.agrees());
            size_t prompt = 0, after = 0;
            for (const LayerComparison &layer : found.layers) ++(layer.prompt ? prompt : after);
            CHECK(prompt > 0);
            CHECK(after > prompt); // with the layers that only scores need
            CHECK(found.layers.front().prompt);
            CHECK_FALSE(found.layers.front().step);
            REQUIRE(found.layers.back().step);
            CHECK(*found.layers.back().step >= 8); // the block has 8 tokens
        }
    CompareOptions short_text;
    short_text.texts = {"a"};
    for (const LayerComparison &layer :
         compare(runtime(), model, test::devices_of_each_kind(runtime()).front(), short_text).layers)
        CHECK_FALSE(layer.prompt); // <s>, then the only letter
}
