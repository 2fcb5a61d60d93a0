// Words for masks, compared with the pipeline of transformers. masks/make.py wrote the models.
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

const fs::path mask_folders = test::architectures / "masks";

std::string with_mask(std::string text, const std::string &mask) {
    for (size_t at = 0; (at = text.find("{}", at)) != std::string::npos; at += mask.size()) text.replace(at, 2, mask);
    return text;
}

void check_words(const std::vector<MaskedWord> &found, const json &wanted, const std::string &text,
                 const std::string &mask) {
    REQUIRE(found.size() == wanted.size());
    for (size_t m = 0; m < found.size(); ++m) {
        REQUIRE(found[m].words.size() == wanted[m].size());
        for (size_t i = 0; i < wanted[m].size(); ++i) {
            CHECK(found[m].words[i].word == wanted[m][i]["word"].get<std::string>());
            CHECK(found[m].words[i].token == wanted[m][i]["token"].get<int32_t>());
            CHECK_THAT(found[m].words[i].score, matchers::within_abs(wanted[m][i]["score"].get<double>(), 1e-5));
        }
        const TextRange place = found[m].characters;
        const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
        if (ascii) CHECK_THAT(text.substr(place.begin, place.end - place.begin), contains(mask));
    }
}

} // namespace

TEST_CASE("masks: words are those of transformers, alone or with other texts, and after conversion") {
    const json all = json_of(mask_folders / "expected.json");
    CHECK(all["words"].size() == 3);
    for (const auto &[name, wanted] : all["words"].items()) {
        const TemporaryFolder folder;
        convert(runtime(), mask_folders / name, {}).model.save(folder.path() / "converted");
        for (const fs::path &path : {mask_folders / name, folder.path() / "converted"}) {
            const Model model = runtime().load(path);
            const std::string mask = inspect(model).reading->mask;
            CHECK(mask == (name == "bert" ? "[MASK]" : "<mask>"));
            Session session = runtime().session(model, runtime().device("cpu"));
            std::vector<std::string> texts;
            for (const json &text : all["texts"]) texts.push_back(with_mask(text, mask));
            for (const size_t batch : {1, 2, 32}) {
                const auto found = fill_masks(session, texts, {.best = 4, .batch = batch});
                REQUIRE(found.size() == texts.size());
                for (size_t i = 0; i < texts.size(); ++i) {
                    INFO(path << ", batch " << batch << ", text " << i);
                    check_words(found[i], wanted[i], texts[i], mask);
                }
            }
        }
    }
}

TEST_CASE("masks: a text without one is refused, as is a model that finds no words") {
    Session session = session_of(mask_folders / "bert");
    const auto refusal = [&](const std::vector<std::string> &texts, const FillOptions &options) {
        return message_of([&] { (void)fill_masks(session, texts, options); });
    };
    CHECK_THAT(refusal({"a [MASK]", "the fox"}, {}), contains("text 2: no word is missing; expected a text with "
                                                              "'[MASK]' in the place of one"));
    CHECK_THAT(refusal({"a [MASK]"}, {.best = 0}), contains("best: expected at least 1, found 0"));
    CHECK_THAT(refusal({"a [MASK]"}, {.batch = 0}), contains("batch: expected at least 1, found 0"));
    CHECK(fill_masks(session, {}).empty());
    CHECK_THAT(message_of([&] { (void)classify(session, {"the fox"}); }), contains("does not give classes of texts"));
    Session answering = session_of(test::architectures / "answers" / "bert");
    CHECK_THAT(message_of([&] { (void)fill_masks(answering, {"a [MASK]"}); }),
               contains("does not give words that are missing"));
}
