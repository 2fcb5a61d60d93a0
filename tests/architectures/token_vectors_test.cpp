// Models that give a vector for each token, such as ColBERT: as sentence-transformers reads and scores with them.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <fstream>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path models_of_tokens = test::architectures / "token_vectors";

void check_vectors(const std::vector<Tensor> &found, const json &expected) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        REQUIRE(found[i].shape() == Shape{int64_t(expected[i].size()), int64_t(expected[i][0].size())});
        size_t at = 0;
        for (const json &row : expected[i])
            for (const json &value : row) {
                CAPTURE(at);
                CHECK_THAT(found[i].f32()[at++], matchers::within_abs(value.get<double>(), 2e-5));
            }
    }
}

// What a copy of a model says when it is loaded, with a file that is another.
std::string loading_error(const char *model, const std::string &file, const json &content) {
    const TemporaryFolder folder;
    fs::copy(models_of_tokens / model, folder.path(), fs::copy_options::recursive);
    std::ofstream(folder.path() / file) << content;
    return message_of([&] { (void)test::runtime().load(folder.path()); });
}

} // namespace

TEST_CASE("token vectors: queries, documents and their scores are those of sentence-transformers") {
    const json expected = test::json_of(models_of_tokens / "expected.json");
    const auto queries = expected["queries"].get<std::vector<std::string>>(),
               documents = expected["documents"].get<std::vector<std::string>>();
    const std::string model = GENERATE("fixed", "least", "plain", "ended", "pylate", "stanford");
    const bool converted = GENERATE(false, true);
    CAPTURE(model, converted);
    const TemporaryFolder folder;
    if (converted) convert(test::runtime(), models_of_tokens / model).model.save(folder.path() / "model");
    Session session = test::session_of(converted ? folder.path() / "model" : models_of_tokens / model);
    const json &wanted = expected["models"][model];
    check_vectors(embed_tokens(session, queries, {.truncate = true, .prompt = "query"}), wanted["query"]);
    check_vectors(embed_tokens(session, documents, {.truncate = true, .prompt = "document"}), wanted["document"]);
    check_vectors(embed_tokens(session, documents, {.batch = 1, .truncate = true}), wanted["document"]);

    std::vector<TextPair> pairs;
    for (const std::string &query : queries)
        for (const std::string &document : documents) pairs.push_back({query, document});
    const auto scores = classify_pairs(session, pairs, {.truncate = true});
    REQUIRE(scores.size() == pairs.size());
    for (size_t i = 0; i < scores.size(); ++i) {
        CAPTURE(i);
        const double score = wanted["scores"][i / documents.size()][i % documents.size()];
        REQUIRE(scores[i].size() == 1);
        CHECK_THAT(scores[i].front().score, matchers::within_abs(score, 2e-5 * std::max(1.0, score)));
    }
}

TEST_CASE("token vectors: what such a model is, and what it does not do") {
    const Model model = test::runtime().load(models_of_tokens / "fixed");
    const TextReading reading = *inspect(model).reading;
    CHECK(reading.gives == TextReading::Gives::token_vectors);
    CHECK(reading.prompts == decltype(reading.prompts){{"document", "my "}, {"query", "fox: "}});
    Session session = test::session_of(models_of_tokens / "fixed");
    CHECK(embed_tokens(session, {}).empty());
    CHECK_THAT(message_of([&] { (void)embed(session, {"fox"}); }),
               contains("does not give vectors of texts but a vector for each token"));
    CHECK_THAT(message_of([&] { (void)embed_tokens(session, {"fox"}, {.prompt = "passage"}); }),
               contains("prompt: expected query or document, found 'passage'"));
    CHECK_THAT(message_of([&] {
                   (void)classify_pairs(session, {{"fox", "dog"}}, {.prompt = "query"});
               }),
               contains("prompt: expected none"));
    Session dense = test::session_of(test::architectures / "sentences" / "dense");
    CHECK_THAT(message_of([&] { (void)embed_tokens(dense, {"fox"}); }),
               contains("does not give vectors of tokens but the output 'embedding'"));
}

TEST_CASE("token vectors: a text that is too long for its role is refused, or cut") {
    Session session = test::session_of(models_of_tokens / "fixed");
    const std::string longer = "the quick brown fox jumps over the lazy dog and the cat sat on the mat";
    CHECK(embed_tokens(session, {longer}, {.prompt = "query"}).front().shape() == Shape{12, 8}); // as all queries
    Session least = test::session_of(models_of_tokens / "least");
    CHECK_THAT(message_of([&] {
                   (void)classify_pairs(least, {{"fox", "dog"}, {longer, "dog"}});
               }),
               contains("queries: text 2: 18 tokens; expected at most 10"));
    CHECK_THAT(message_of([&] { (void)embed_tokens(session, {longer}); }), contains("expected at most 16"));
    CHECK(embed_tokens(session, {longer}, {.truncate = true}).front().shape() == Shape{16, 8});
    const Model model = test::runtime().load(models_of_tokens / "fixed");
    CHECK(tokenize_pairs(model, {{"fox", "dog"}}).ids.front().size() == 12 + 4);
    CHECK_THAT(tokenize_pairs(model, {{"fox", longer}}).refused.value().why,
               contains("the document: ") && contains("expected at most 16"));
}

TEST_CASE("token vectors: a folder of PyLate need not say what it is, and may leave out all tokens of a document") {
    const TemporaryFolder folder;
    fs::copy(models_of_tokens / "pylate", folder.path(), fs::copy_options::recursive);
    const fs::path file = folder.path() / "config_sentence_transformers.json";
    json settings = test::json_of(file);
    settings.erase("model_type");
    settings["skiplist_words"] = {"[CLS]", "[SEP]", "[D] ", "fox"};
    std::ofstream(file) << settings;
    Session session = test::session_of(folder.path());
    CHECK(embed_tokens(session, {"fox"}).front().shape() == Shape{0, 8});
    CHECK(embed_tokens(session, {"fox"}, {.prompt = "query"}).front().shape() == Shape{11, 8});
    const auto scores = classify_pairs(session, {{"fox", "fox"}, {"fox", "dog"}});
    CHECK(scores[0].front().score == -11e9);
    CHECK(scores[1].front().score > 0);
}

TEST_CASE("token vectors: files that are not understood are refused with what they say") {
    const json modules = test::json_of(models_of_tokens / "fixed" / "modules.json");
    json pooled = modules;
    pooled.push_back(
        {{"idx", 4}, {"name", "4"}, {"path", ""}, {"type", "x.modules.token_pooling.HierarchicalTokenPooling"}});
    CHECK_THAT(loading_error("fixed", "modules.json", pooled),
               contains("'HierarchicalTokenPooling' is not supported for vectors of tokens"));
    CHECK_THAT(loading_error("fixed", "2_MultiVectorMask/config.json", {{"keep_only_token_ids", {3}}}),
               contains("keep_only_token_ids") && contains("expected null"));
    const auto expansion = [](const json &value) {
        return loading_error("fixed", "sentence_bert_config.json", {{"query_expansion", value}});
    };
    CHECK_THAT(expansion({{"strategy", "most"}, {"length", 9}}), contains("expected fixed or min, found 'most'"));
    CHECK_THAT(expansion({{"strategy", "min"}, {"length", 0}}), contains("length"));
    CHECK_THAT(expansion({{"strategy", "min"}, {"length", 8}, {"token", "no such"}}),
               contains("queries are filled with the token 'no such', which the tokenizer does not have"));
}
