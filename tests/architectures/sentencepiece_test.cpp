// Folders of T5 and Marian whose tokenizers are SentencePiece models.
#include "catch.hpp"
#include "folders.hpp"

#include "architectures/open.hpp"

#include <lamina/convert.hpp>
#include <lamina/texts.hpp>

using namespace lamina;
using nlohmann::json;
using test::runtime;
namespace fs = std::filesystem;

namespace {

// The tiny model of this name with the SentencePiece files that make.py trained.
void copy_model(const std::string &name, const TemporaryFolder &folder) {
    fs::copy(test::architectures / "models" / name, folder.path(), fs::copy_options::recursive);
    fs::copy(test::architectures / "sentencepiece" / name, folder.path());
}

} // namespace

TEST_CASE("SentencePiece folders: token ids and texts are those of transformers") {
    const json expected = test::json_of(test::architectures / "sentencepiece" / "expected.json");
    for (const char *name : {"t5", "marian"}) {
        const TemporaryFolder folder;
        copy_model(name, folder);
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
    for (const char *name : {"t5", "marian"}) {
        INFO(name);
        const TemporaryFolder folder, converted;
        copy_model(name, folder);
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
    copy_model("marian", folder);
    const auto refusal = [&] { return message_of([&] { (void)architectures::open(folder.path()); }); };
    const std::string vocabulary = folder.read("vocab.json");
    folder.write("vocab.json", R"({"</s>": 0, "a": 1})");
    CHECK_THAT(refusal(), matchers::contains("source.spm: its vocabulary has no token '<unk>'"));
    folder.write("vocab.json", "[]");
    CHECK_THAT(refusal(), matchers::contains("vocab.json"));
    folder.write("vocab.json", vocabulary);
    folder.write("target.spm", "no model");
    CHECK_THAT(refusal(), matchers::contains("target.spm: not a SentencePiece model"));
}
