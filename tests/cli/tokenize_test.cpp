#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

using nlohmann::json;

namespace {
const std::string bert = LAMINA_SOURCE_DIR "/tests/unit/tokenizer/fixtures/bert.json";
}

TEST_CASE("tokenize: prints ids, tokens and offsets; --decode turns ids into the text again") {
    const Finished text = run_lamina({"tokenize", bert, "The fox"});
    const Finished data = run_lamina({"tokenize", "--json", bert, "The fox"});
    REQUIRE(data.status == 0);
    const json tokens = json::parse(data.out)[0]["tokens"];
    CHECK(tokens[0]["token"] == "[CLS]");
    CHECK(tokens[0]["special"] == true);
    CHECK(tokens[1]["token"] == "the");
    CHECK(tokens[1]["begin"] == 0);
    CHECK(tokens[1]["end"] == 3);
    CHECK_THAT(text.out, matchers::contains("the") && matchers::contains("0-3"));

    std::vector<std::string> arguments{"tokenize", "--decode", "--no-special", bert};
    for (const json &token : tokens) arguments.push_back(std::to_string(token["id"].get<int>()));
    CHECK(run_lamina(arguments).out == "the fox\n");
}

TEST_CASE("tokenize: files that are not tokenizers, and words that are not ids, are refused") {
    const Finished absent = run_lamina({"tokenize", "/nowhere.json", "a"});
    CHECK(absent.status == 3);
    CHECK_THAT(absent.err, matchers::contains("/nowhere.json"));
    CHECK_THAT(run_lamina({"tokenize", g2p(), "a"}).err,
               matchers::contains("expected a tokenizer.json, found a model"));
    const Finished words = run_lamina({"tokenize", "--decode", bert, "fox"});
    CHECK(words.status == 2);
    CHECK_THAT(words.err, matchers::contains("--decode: expected token ids, found 'fox'"));
    const Finished unknown = run_lamina({"tokenize", "--decode", bert, "0", "99999999"});
    CHECK(unknown.status == 2);
    CHECK(unknown.out.empty());
    CHECK_THAT(unknown.err, matchers::contains("--decode: expected token ids below "));
}
