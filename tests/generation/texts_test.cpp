// The texts that a model accepts: their length, empty texts, and their numbering.
#include "catch.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>
#include <lamina/transformer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace lamina;
using test::runtime;

namespace {

const std::vector<std::string> six_words{"<s>", "</s>", "to", "be", "or", "not"};
constexpr TransformerLayer small{.d_model = 16, .heads = 2, .ffn = 16};

ModelDescription translator(int64_t max_len) {
    return build(EncoderDecoder{.source_embedding = {.d_model = 16, .vocabulary = 6, .max_len = max_len},
                                .encoder = {.layer = small, .layers = 1},
                                .target_embedding = {.d_model = 16, .vocabulary = 6, .max_len = max_len},
                                .decoder = {.layer = small.with_source_attention(), .layers = 1},
                                .generator = {.d_model = 16, .vocabulary = 6}},
                 {.seed = 3, .text = TextVocabularies{.source = six_words, .target = six_words, .max_length = 3}});
}

ModelDescription writer(int64_t max_len) {
    return build(DecoderOnly{.embedding = {.d_model = 16, .vocabulary = 6, .max_len = max_len},
                             .decoder = {.layer = small, .layers = 1},
                             .generator = {.d_model = 16, .vocabulary = 6}},
                 {.seed = 1, .text = TextVocabularies{.target = six_words, .max_length = max_len - 1}});
}

Session session_of(const ModelDescription &model) {
    return runtime().session(runtime().load(model), runtime().device("cpu"));
}

} // namespace

TEST_CASE("texts: a source may be at most as long as the model's positions") {
    Session session = session_of(translator(4));
    CHECK(session.generate({"to", "to be", "to be or not"}).size() == 3);
    CHECK_THAT(message_of([&] {
                   (void)session.generate({"to", "to be or not to", "be"});
               }),
               matchers::contains("text 2: 5 tokens; expected at most 4: shorten the text"));
}

TEST_CASE("texts: what an encoder reads in a batch may be as long as the batch was made for") {
    Session session = session_of(translator(20));
    Batch batch(session, {.slots = 2, .length = 4});
    (void)batch.add("to be or not");
    for (const auto &add : {std::function([&] { (void)batch.add("to be or not to"); }), std::function([&] {
                                (void)batch.add_ids({2, 3, 4, 5, 2});
                            })})
        CHECK_THAT(message_of(add), matchers::contains("a text of 5 tokens: expected at most 4"));
    while (!batch.empty()) (void)batch.step();
}

TEST_CASE("texts: the positions left after a prompt limit the output") {
    Session session = session_of(writer(10));
    GenerateOptions options;
    options.hypotheses = 1;
    options.length_penalty = 0;
    for (const std::string prompt : {"to be or", "to be or not to be or not to"}) { // 3 and 9 tokens behind the start
        options.cached = true;
        const auto cached = session.hypotheses({prompt}, options);
        options.cached = false;
        CHECK(session.hypotheses({prompt}, options)[0][0].tokens == cached[0][0].tokens);
        const size_t given = prompt.size() > 10 ? 9 : 3;
        CHECK(cached[0][0].tokens.size() <= 10 - given); // the last one is not fed back
    }
    CHECK_THAT(message_of([&] {
                   (void)session.generate({"to", "to be or not to be or not to be"});
               }),
               matchers::contains("text 2: 10 tokens; expected at most 9"));
}

TEST_CASE("texts: an empty prompt is continued, an empty source gives an empty output") {
    Session writing = session_of(writer(10));
    const auto found = writing.hypotheses({"", "to"});
    REQUIRE(found[0].size() == 1);
    CHECK(found[0][0].tokens == writing.hypotheses({""})[0][0].tokens);
    CHECK(session_of(translator(10)).hypotheses({"", "to"})[0].empty());
}

TEST_CASE("texts: passing texts in parts gives the same samples as all at once") {
    Session session = session_of(translator(10));
    GenerateOptions options;
    options.temperature = 2;
    options.seed = 5;
    const std::vector<std::string> texts{"to be", "to be", "to be", "to be", "to be"};
    const auto at_once = session.generate(texts, options);
    CHECK(std::count(at_once.begin(), at_once.end(), at_once[0]) != 5);
    for (options.first = 0; options.first < texts.size(); ++options.first)
        CHECK(session.generate({texts[options.first]}, options)[0] == at_once[options.first]);
}

TEST_CASE("texts: a truncated candidate is ranked by its tokens, without an end token") {
    Session session = session_of(translator(10));
    GenerateOptions options;
    options.beams = 4;
    options.max_length = 2;
    size_t cut = 0, ended = 0;
    const auto found = session.hypotheses({"to be or not"}, options);
    for (const Hypothesis &h : found[0]) {
        const bool full = h.tokens.size() == 2 && std::abs(h.score * 2 - h.log_probability) < 1e-9;
        const auto with_end = static_cast<double>(h.tokens.size() + 1);
        if (full)
            ++cut;
        else if (std::abs(h.score * with_end - h.log_probability) < 1e-9)
            ++ended;
    }
    CHECK(cut > 0);
    CHECK(cut + ended == 4);
}

TEST_CASE("texts: a decoder need not take the lengths of its source") {
    ModelDescription model = translator(10);
    auto json = nlohmann::ordered_json::parse(model.json);
    auto &decode = json["graphs"]["decode"];
    decode["inputs"].erase("source_lengths");
    std::string text = json.dump();
    const std::string taken = ",\"key_lengths\":\"source_lengths\"";
    const size_t at = text.rfind(taken); // that of the decoder's attention to the source
    REQUIRE(at != std::string::npos);
    model.json = text.erase(at, taken.size());
    Session session = session_of(model);
    CHECK(session.generate({"to be", "to be or not"}).size() == 2);
    GenerateOptions uncached;
    uncached.cached = false;
    CHECK(session.generate({"to be"}, uncached) == session.generate({"to be"}));
    CHECK(compare(runtime(), runtime().load(model), runtime().device("cpu")).agrees());
}

TEST_CASE("texts: a comparison makes sample texts from the model's tokens") {
    for (const ModelDescription &model : {translator(10), translator(4), writer(10)})
        CHECK(compare(runtime(), runtime().load(model), runtime().device("cpu")).agrees());
}
