// Small tokenizers of every kind, compared with the PyPI package tokenizers on a sample of texts
// (tools/tokenizer_fixtures.py). tools/tokenizer_oracle.py makes the full comparison.
#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "catch.hpp"
#include "places.hpp"
#include "tokenizer/parts.hpp"

#include <lamina/tokenizer.hpp>

#include <filesystem>
#include <random>

using namespace lamina;

namespace {

const std::filesystem::path folder = LAMINA_SOURCE_DIR "/tests/unit/tokenizer/fixtures";

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (const std::string name = entry.path().filename().string(); name.ends_with(".expected.json"))
            out.push_back(name.substr(0, name.size() - std::string(".expected.json").size()));
    return out;
}

std::string text_of(const std::filesystem::path &file) {
    const std::vector<std::byte> bytes = read_file(file);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::vector<JsonView> list(const JsonView &view) {
    std::vector<JsonView> out;
    for (const JsonView each : view.items()) out.push_back(each);
    return out;
}

std::vector<int32_t> integers(const JsonView &view) {
    std::vector<int32_t> out;
    for (const JsonView each : view.items()) out.push_back(static_cast<int32_t>(each.integer(0, INT32_MAX)));
    return out;
}

// [text, second or null, ids, tokens, begins and ends, types, decoded, decoded without special tokens]
void check(const Tokenizer &tokenizer, const JsonView &expected) {
    const std::vector<JsonView> part = list(expected);
    const std::string_view text = part[0].string();
    CAPTURE(text);
    const Encoding found = part[1].is_null() ? tokenizer.encode(text) : tokenizer.encode(text, part[1].string());
    REQUIRE(found.ids == integers(part[2]));
    std::vector<std::string> tokens;
    for (const JsonView each : part[3].items()) tokens.emplace_back(each.string());
    CHECK(found.tokens == tokens);
    std::vector<int32_t> offsets;
    for (const TextRange &range : found.offsets) {
        offsets.push_back(static_cast<int32_t>(range.begin));
        offsets.push_back(static_cast<int32_t>(range.end));
    }
    CHECK(offsets == integers(part[4]));
    CHECK(found.types == integers(part[5]));
    CHECK(tokenizer.decode(found.ids, false) == part[6].string());
    CHECK(tokenizer.decode(found.ids) == part[7].string());
}

} // namespace

TEST_CASE("every kind of tokenizer gives the original's ids, offsets and texts") {
    REQUIRE(names().size() >= 18);
    for (const std::string &name : names()) {
        CAPTURE(name);
        const Tokenizer tokenizer = Tokenizer::load(folder / (name + ".json"));
        const JsonText expected(text_of(folder / (name + ".expected.json")), name);
        REQUIRE(expected.root().items().size() >= 40);
        for (const JsonView each : expected.root().items()) check(tokenizer, each);
    }
}

TEST_CASE("streaming gives the whole text, and never half a character") {
    for (const std::string name : {"gpt2", "llama", "bert"}) {
        CAPTURE(name);
        const Tokenizer tokenizer = Tokenizer::load(folder / (name + ".json"));
        const std::string text = name == "bert" ? "the quick fox" : "Việt 😀 日本語 the end";
        const std::vector<int32_t> ids = tokenizer.encode(text).ids;
        StreamDecoder stream(tokenizer);
        std::string all;
        for (const int32_t id : ids) {
            const std::string piece = stream.push(id);
            CHECK(piece.find("\xEF\xBF\xBD") == std::string::npos);
            all += piece;
        }
        CHECK(all + stream.finish() == tokenizer.decode(ids));
    }
}

TEST_CASE("streaming cleans texts up as decoding does") {
    Tokenizer::Parts parts = Tokenizer::load(folder / "llama.json").parts();
    parts.clean_up = true;
    const Tokenizer tokenizer(std::make_shared<const Tokenizer::Parts>(parts));
    const std::vector<std::string> words{" ",  "  ", " '", "'", "n",  " n",   "n't", "t",
                                         " .", ".",  " ,", "s", " m", "word", " re"};
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i) {
        std::string text;
        for (int word = 0; word < 12; ++word) text += words[random() % words.size()];
        CAPTURE(text);
        const std::vector<int32_t> ids = tokenizer.encode(text).ids;
        StreamDecoder stream(tokenizer);
        std::string all;
        for (const int32_t id : ids) all += stream.push(id);
        REQUIRE(all + stream.finish() == tokenizer.decode(ids));
    }
    StreamDecoder stream(tokenizer);
    std::string early;
    for (const int32_t id : tokenizer.encode("It is n ' t so .").ids) early += stream.push(id);
    CHECK(early == "It isn't so");
    CHECK(stream.finish() == ".");
}

TEST_CASE("bytes of an incomplete character are shown at the end") {
    const Tokenizer tokenizer = Tokenizer::load(folder / "gpt2.json");
    StreamDecoder stream(tokenizer);
    CHECK(stream.push(tokenizer.id("ð").value()).empty()); // the byte F0
    CHECK(stream.finish() == "\xEF\xBF\xBD");
    CHECK(stream.finish().empty());
}

TEST_CASE("tokens that all end within characters are shown, after a while without those before") {
    const Tokenizer tokenizer = Tokenizer::load(folder / "gpt2.json");
    std::vector<int32_t> ids;
    for (int i = 0; i < 20'000;
         ++i) { // the bytes F0 and 9F, which begin an emoji; with all before them, it takes minutes
        ids.push_back(tokenizer.id("ð").value());
        ids.push_back(tokenizer.id("Ł").value());
    }
    StreamDecoder stream(tokenizer);
    std::string all;
    for (const int32_t id : tokenizer.encode("日本").ids) ids.push_back(id);
    for (const int32_t id : ids) all += stream.push(id);
    CHECK(all.ends_with("日本"));
    CHECK(all + stream.finish() == tokenizer.decode(ids));
}

TEST_CASE("offsets count characters or bytes") {
    const Tokenizer tokenizer = Tokenizer::load(folder / "bert.json");
    const Encoding characters = tokenizer.encode("é fox"),
                   bytes = tokenizer.encode("é fox", {.offsets = EncodeOptions::Unit::bytes});
    REQUIRE(characters.size() >= 4);
    CHECK(characters.offsets[1] == TextRange{0, 1});
    CHECK(bytes.offsets[1] == TextRange{0, 2});
    CHECK(characters.offsets[2].begin == 2);
    CHECK(bytes.offsets[2].begin == 3);
}

TEST_CASE("special tokens around a text can be left out") {
    const Tokenizer tokenizer = Tokenizer::load(folder / "bert.json");
    const Encoding with = tokenizer.encode("fox"), without = tokenizer.encode("fox", {.add_special_tokens = false});
    CHECK(with.size() == without.size() + 2);
    CHECK(with.special.front());
    CHECK(with.ids.front() == tokenizer.id("[CLS]"));
    CHECK(tokenizer.is_special(with.ids.front()));
    CHECK(tokenizer.token(with.ids.front()) == "[CLS]");
}

TEST_CASE("a hundred thousand spaces, or letters without a space, are fast") {
    for (const char *name : {"gpt2", "llama", "t5", "bert", "added"}) {
        const Tokenizer tokenizer = Tokenizer::load(folder / (std::string(name) + ".json"));
        for (const char *unit : {" ", "a", "lo", "😀"}) {
            std::string text;
            for (int i = 0; i < 100'000; ++i) text += unit;
            CHECK(tokenizer.encode(text + "a").size() > 0);
        }
    }
}
