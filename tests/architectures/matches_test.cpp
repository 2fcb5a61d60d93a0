// Labels of texts, compared with the pipeline of transformers. matches/make.py wrote the model.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/texts.hpp>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace {

const fs::path match_folder = test::architectures / "matches";

// The model with other names of its three classes.
Session with_classes(const TemporaryFolder &folder, const json &names) {
    fs::copy(match_folder / "bert", folder.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    json config = json_of(match_folder / "bert" / "config.json");
    config["id2label"] = json::object(), config["label2id"] = json::object();
    for (size_t i = 0; i < names.size(); ++i)
        config["id2label"][std::to_string(i)] = names[i], config["label2id"][names[i].get<std::string>()] = i;
    std::ofstream(folder.path() / "config.json") << config;
    return session_of(folder.path());
}

} // namespace

TEST_CASE("matches: labels have the scores of transformers, one of them or several, in a sentence of any kind") {
    const json all = json_of(match_folder / "expected.json");
    const auto texts = all["texts"].get<std::vector<std::string>>();
    const TemporaryFolder folder;
    Session usual = session_of(match_folder / "bert"),
            other = with_classes(folder, {"entailment", "neutral", "contradiction"});
    CHECK(all["cases"].size() == 8);
    for (const json &each : all["cases"]) {
        INFO(each);
        MatchOptions options{.multi_label = each["multi_label"], .batch = 5};
        if (const std::string sentence = each["sentence"]; !sentence.empty()) options.sentence = sentence;
        const auto labels = each["labels"].get<std::vector<std::string>>();
        const auto found = match_texts(each["first"].get<bool>() ? other : usual, texts, labels, options);
        REQUIRE(found.size() == texts.size());
        for (size_t i = 0; i < found.size(); ++i) {
            REQUIRE(found[i].size() == labels.size());
            for (const LabelScore &label : found[i])
                CHECK_THAT(label.score, matchers::within_abs(each["scores"][i][label.label].get<double>(), 1e-5));
            for (size_t j = 1; j < labels.size(); ++j) CHECK(found[i][j - 1].score >= found[i][j].score);
        }
    }
    CHECK(match_texts(usual, {}, {"a"}).empty());
    CHECK(match_texts(usual, {"a"}, {}).front().empty());
}

TEST_CASE("matches: a model that says nothing of what follows is refused, as is a sentence without a place") {
    const TemporaryFolder folder;
    Session other = with_classes(folder, {"bad", "good", "so so"});
    CHECK_THAT(message_of([&] { (void)match_texts(other, {"a"}, {"b"}); }),
               contains("does not say whether a text follows from another: expected a class whose name begins with "
                        "'entail', and another one; found 'bad', 'good', 'so so'"));
    Session usual = session_of(match_folder / "bert");
    CHECK_THAT(message_of([&] { (void)match_texts(usual, {"a"}, {"b"}, {.sentence = "It is."}); }),
               contains("sentence: expected {} where a label belongs, found 'It is.'"));
    Session vectors = session_of(test::architectures / "sentences" / "dense");
    CHECK_THAT(message_of([&] { (void)match_texts(vectors, {"a"}, {"b"}); }),
               contains("does not give classes of texts"));
    const std::string text(400, 'a');
    CHECK_THAT(
        message_of([&] { (void)match_texts(usual, {"a " + text + text}, {"the cat " + std::string(200, '.')}); }),
        contains("expected at most 64"));
}
