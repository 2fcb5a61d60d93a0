// Folders of T5, Marian and M2M-100 whose tokenizers are SentencePiece models.
#include "catch.hpp"
#include "folders.hpp"

#include "architectures/open.hpp"

#include <lamina/convert.hpp>
#include <lamina/texts.hpp>

using namespace lamina;
using nlohmann::json;
using test::runtime;
namespace fs = std::filesystem;

TEST_CASE("SentencePiece folders: token ids and texts are those of transformers") {
    const json expected = test::json_of(test::architectures / "sentencepiece" / "expected.json");
    for (const char *name : {"t5", "marian", "m2m_100"}) {
        const TemporaryFolder folder;
        test::copy_with_pieces(name, folder);
        const auto model = architectures::open(folder.path());
        REQUIRE(model->generation.has_value());
        for (const auto &[text, ids] :
             expected[name]["encoded"].get<std::vector<std::pair<std::string, model::Ids>>>()) {
            INFO(name << ": " << text);
            CHECK(model->generation->source->encode(text, true) == ids);
        }
        for (const auto &[ids, text] : expected[name]["decoded"].get<std::vector<std::pair<model::Ids, std::string>>>())
            CHECK(model->generation->target->decode(ids, false) == text);
    }
}

TEST_CASE("SentencePiece folders: models generate text from them, also after conversion") {
    for (const char *name : {"t5", "marian", "m2m_100"}) {
        INFO(name);
        const TemporaryFolder folder, converted;
        test::copy_with_pieces(name, folder);
        convert(runtime(), folder.path(), {}).model.save(converted.path() / "model");
        const auto generated = [&](const fs::path &path) {
            GenerateOptions options;
            options.max_length = 8;
            return test::session_of(path).generate({"the cat sat", "a dog"}, options);
        };
        const std::vector<std::string> texts = generated(folder.path());
        CHECK_FALSE((texts[0].empty() && texts[1].empty()));
        CHECK(generated(converted.path() / "model") == texts);
    }
}

TEST_CASE("SentencePiece folders: bad files are refused by name") {
    const TemporaryFolder folder;
    test::copy_with_pieces("marian", folder);
    const auto refusal = [&] { return message_of([&] { (void)architectures::open(folder.path()); }); };
    const std::string vocabulary = folder.read("vocab.json");
    folder.write("vocab.json", R"({"</s>": 0, "a": 1})");
    CHECK_THAT(refusal(), matchers::contains("source.spm: its vocabulary has no token '<unk>'"));
    folder.write("vocab.json", "[]");
    CHECK_THAT(refusal(), matchers::contains("vocab.json"));
    folder.write("vocab.json", vocabulary);
    folder.write("target.spm", "no model");
    CHECK_THAT(refusal(), matchers::contains("target.spm: not a SentencePiece model"));

    const TemporaryFolder many;
    test::copy_with_pieces("m2m_100", many);
    const auto refused = [&](const char *file, const std::string &content) {
        const std::string before = many.read(file);
        many.write(file, content);
        const std::string why = message_of([&] { (void)architectures::open(many.path()); });
        many.write(file, before);
        return why;
    };
    CHECK_THAT(refused("tokenizer_config.json", R"({"src_lang": "xx"})"),
               matchers::contains("/src_lang: expected a language of \"m2m100\", found 'xx'"));
    CHECK_THAT(refused("tokenizer_config.json", R"({"language_codes": "all"})"),
               matchers::contains("expected \"m2m100\" or \"wmt21\", found 'all'"));
    CHECK_THAT(refused("vocab.json", R"({"<unk>": 0})"),
               matchers::contains("vocab.json: expected the token '</s>', which ends texts"));
    CHECK_THAT(refused("sentencepiece.bpe.model", "no model"), matchers::contains("not a SentencePiece model"));
}
