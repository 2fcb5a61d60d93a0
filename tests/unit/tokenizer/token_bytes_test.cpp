// What tokens add to a text: one after the other, they are the text.
#include "catch.hpp"
#include "places.hpp"
#include "tokenizer/token_bytes.hpp"

#include <lamina/tokenizer.hpp>

#include <filesystem>
#include <string>
#include <vector>

using lamina::Tokenizer;

TEST_CASE("token bytes: those of all tokens are the text") {
    const std::filesystem::path fixtures =
        std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "unit" / "tokenizer" / "fixtures";
    const std::vector<std::string> texts{"Hello, world: {\"name\": \"Zo\xC3\xAB\", \"n\": [1, 2.5e3]}\n  \t",
                                         "\xE8\xAA\x9E \xF0\x9F\x98\x80 a  b", "plain words in a row"};
    for (const char *name : {"gpt2", "llama", "llama3", "gemma", "qwen", "roberta", "t5", "unigram_bytes", "bert"}) {
        INFO(name);
        const Tokenizer tokenizer = Tokenizer::load(fixtures / (std::string(name) + ".json"));
        const auto first = lamina::tokenizer::token_bytes(tokenizer, true);
        const auto rest = lamina::tokenizer::token_bytes(tokenizer, false);
        REQUIRE(first.size() == tokenizer.size());
        REQUIRE(rest.size() == tokenizer.size());
        for (const std::string &text : texts) {
            INFO(text);
            const std::vector<int32_t> ids = tokenizer.encode(text, {.add_special_tokens = false}).ids;
            std::string all;
            for (size_t i = 0; i < ids.size(); ++i) {
                if (tokenizer.is_special(ids[i])) continue; // such as <unk>
                all += (i == 0 ? first : rest)[static_cast<size_t>(ids[i])];
            }
            CHECK(all == tokenizer.decode(ids));
        }
    }
}

TEST_CASE("token bytes: special tokens stand for no text") {
    const Tokenizer tokenizer = Tokenizer::load(std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "unit" /
                                                "tokenizer" / "fixtures" / "llama3.json");
    const auto bytes = lamina::tokenizer::token_bytes(tokenizer, false);
    size_t special = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
        if (!tokenizer.is_special(static_cast<int32_t>(i))) continue;
        ++special;
        CHECK(bytes[i].empty());
    }
    CHECK(special > 0);
}
