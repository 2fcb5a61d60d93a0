// Damaged and malicious files: each causes an error with the place, what was expected and what was found.
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <lamina/tokenizer.hpp>

using namespace lamina;

namespace {

// The message of the error that loading these bytes throws.
std::string refusal(const std::string &json) {
    const TemporaryFolder folder;
    const auto file = folder.write("tokenizer.json", json);
    const std::string message = message_of([&] { (void)Tokenizer::load(file); });
    return message.starts_with(file.string() + ": ") ? message.substr(file.string().size() + 2)
                                                     : "at no place: " + message;
}

Tokenizer read(const std::string &json) {
    const TemporaryFolder folder;
    return Tokenizer::load(folder.write("tokenizer.json", json));
}

const std::string word_level = R"({"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1}})";

std::string with(const std::string &members, const std::string &model = word_level) {
    return "{\"version\": \"1.0\", " + members + (members.empty() ? "" : ", ") + "\"model\": " + model + "}";
}

std::string bpe(const std::string &vocabulary, const std::string &merges, const std::string &more = "") {
    return with("", R"({"type": "BPE", "vocab": )" + vocabulary + ", \"merges\": " + merges + more + "}");
}

std::string added(const std::string &id, const std::string &content) {
    return "{\"id\": " + id + ", \"content\": " + content +
           R"(, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})";
}

} // namespace

TEST_CASE("text that is not JSON is refused with the place") {
    CHECK(refusal("").starts_with("not JSON: parse error at line 1, column 1"));
    CHECK(refusal("{\n\"a\": 1,}").starts_with("not JSON: parse error at line 2, column 8"));
    CHECK(refusal("{\"a\": \"\xFF\"}") == "not JSON: invalid UTF-8 at offset 7");
    CHECK(refusal("{\"a\": \"\\ud800x\"}").starts_with("not JSON: parse error at line 1, column 14"));
    CHECK(refusal("{\"a\": 01}").starts_with("not JSON: parse error at line 1, column 8"));
    CHECK(refusal("{\"a\": 1} x").starts_with("not JSON: parse error at line 1, column 10"));
    CHECK(refusal("{\"model\": 1, \"model\": 2}") == "the key 'model' appears twice here");
    CHECK(refusal(std::string(100'000, '[')).ends_with("nested more than 64 deep"));
}

TEST_CASE("unknown keys, components and values are refused with the known ones") {
    CHECK(refusal(with("\"normaliser\": null")) ==
          "unknown key 'normaliser'; did you mean 'normalizer'? (expected: version, truncation, padding, added_tokens, "
          "normalizer, pre_tokenizer, post_processor, decoder, model)");
    CHECK(refusal(R"({"version": "2.0", "model": )" + word_level + "}") == "/version: expected '1.0', found '2.0'");
    CHECK(
        refusal(with(R"("normalizer": {"type": "Rot13"})"))
            .starts_with("/normalizer/type: the normalizer 'Rot13' is not supported; supported: BertNormalizer, NFC"));
    CHECK(
        refusal(
            with(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, {"type": "X"}]})"))
            .starts_with("/pre_tokenizer/pretokenizers/1/type: the pre-tokenizer 'X' is not supported"));
    CHECK(refusal(with(R"("decoder": {"type": "Morse"})")).starts_with("/decoder/type: the decoder 'Morse'"));
    CHECK(refusal(with(R"("post_processor": {"type": "X"})"))
              .starts_with("/post_processor/type: the post-processor 'X'"));
    CHECK(refusal(with("", R"({"type": "CharNet", "vocab": {}})")) ==
          "/model/type: the model 'CharNet' is not supported; supported: BPE, WordPiece, Unigram, WordLevel");
    CHECK(
        refusal(with(
            R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Cut", "invert": false})")) ==
        "/pre_tokenizer/behavior: expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, found "
        "'Cut'");
    CHECK(refusal(with(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "ab"})")) ==
          "/pre_tokenizer/replacement: expected one character, found 'ab'");
    CHECK(refusal(bpe(R"({"a": 0})", "[]", R"(, "dropout": 0.5)"))
              .starts_with("/model/dropout: BPE dropout (skipping merges at random) is not supported"));
    CHECK(refusal("{\"version\": \"1.0\"}") == "the key 'model' is missing");
}

TEST_CASE("vocabularies with repeated, missing or absurd ids are refused") {
    CHECK(refusal(bpe(R"({"a": 0, "b": 0})", "[]")) ==
          "/model/vocab: the token 'b' of id 0: the id is already used by 'a'");
    CHECK(refusal(bpe(R"({"a": -1})", "[]"))
              .starts_with("/model/vocab: the token 'a' of id -1: expected an id from 0 to "));
    CHECK(refusal(bpe(R"({"a": 2147483647})", "[]"))
              .starts_with("/model/vocab: the token 'a' of id 2147483647: expected"));
    CHECK(refusal(bpe(R"({"a": 9223372036854775808})", "[]")).starts_with("/model/vocab/a: expected a whole number"));
    CHECK(refusal(bpe(R"({"a": 1.5})", "[]")).starts_with("/model/vocab/a: expected a whole number"));
    CHECK(refusal(bpe(R"(["a"])", "[]")) == "/model/vocab: expected an object, found a list with 1 entry");
    CHECK(refusal(with("", R"({"type": "Unigram", "unk_id": 7, "vocab": [["a", -1.0]]})")) ==
          "/model/unk_id: expected a whole number from 0 to 0, found 7");
    CHECK(refusal(with("", R"({"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0], ["a", -2.0]]})")) ==
          "/model/vocab/1: the token 'a' of id 1: the token already has the id 0");
    CHECK(refusal(with("", R"({"type": "Unigram", "unk_id": 0, "vocab": [["a", 1e999]]})")) ==
          "not JSON: number overflow parsing '1e999'");
    CHECK(refusal(with("", R"({"type": "Unigram", "vocab": [["a"]]})")) ==
          "/model/vocab/0: expected a token and its score, found a list with 1 entry");
}

TEST_CASE("merges of tokens that are not in the vocabulary are refused") {
    CHECK(refusal(bpe(R"({"a": 0, "b": 1})", R"(["a b"])")) ==
          "/model/merges/0: the merge of 'a' and 'b': 'ab' is not in the vocabulary");
    CHECK(refusal(bpe(R"({"a": 0})", R"(["a b"])")) ==
          "/model/merges/0: the merge of 'a' and 'b': 'b' is not in the vocabulary");
    CHECK(refusal(bpe(R"({"a": 0})", R"(["a"])")).starts_with("/model/merges/0: expected two tokens"));
    CHECK(refusal(bpe(R"({"a": 0})", R"([["a", "a", "a"]])")).starts_with("/model/merges/0: expected two tokens"));
    CHECK(refusal(bpe(R"({"a": 0, "##b": 1, "ab": 2, "b": 3})", R"(["a b"])", R"(, "continuing_subword_prefix": "##")"))
              .ends_with("expected '##' at the start of the second token"));
}

TEST_CASE("cyclic merges end") {
    // Merging a token with the empty token gives the same token again.
    const Tokenizer tokenizer =
        read(bpe(R"({"a": 0, "": 1, "aa": 2})", R"([["a", ""], ["", "a"], ["a", "a"], ["", ""]])"));
    CHECK(tokenizer.encode("aaaa").ids == std::vector<int32_t>{2, 2});
}

TEST_CASE("regular expressions that are wrong, too large or explode are refused") {
    const auto split = [](const std::string &regex) {
        return with(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": ")" + regex +
                    R"("}, "behavior": "Isolated", "invert": false})");
    };
    CHECK(refusal(split("(a")).starts_with("/pre_tokenizer/pattern/Regex: the regular expression '(a': end pattern"));
    CHECK(refusal(split("")) == "/pre_tokenizer/pattern/Regex: an empty pattern is not supported");
    CHECK(refusal(split(std::string(70'000, 'a'))).ends_with("expected at most 65536 bytes, found 70000"));
    CHECK(refusal(split("((a{1000}){1000}){1000}")).ends_with("its counts {...} multiply to more than 100000"));
    std::string many = "a{1,3}";
    for (int i = 0; i < 20; ++i) many += "|a{1,3}";
    CHECK(read(split(many)).encode("a").size() == 1);                             // counts multiply only if nested
    CHECK(read(split("[\\\\x{3040}-\\\\x{309f}]{1,9}")).encode("a").size() == 1); // a code point is not a count
    const Tokenizer tokenizer = read(split("(a+)+$"));
    CHECK_THAT(message_of([&] { (void)tokenizer.encode(std::string(200, 'a') + "b"); }),
               matchers::contains("the regular expression '(a+)+$': given up on a text of 201 bytes"));
    CHECK(tokenizer.encode("a").ids == std::vector<int32_t>{1});
}

TEST_CASE("character maps that are damaged are refused") {
    const auto map = [](const std::string &base64) {
        return with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": ")" + base64 + "\"}");
    };
    const std::string place = "/normalizer/precompiled_charsmap: ";
    CHECK(refusal(map("AAA")) == place + "not base64: expected a multiple of 4 characters, found 3");
    CHECK(refusal(map("A*AA")) == place + "not base64: invalid character at offset 1");
    CHECK(refusal(map("")).starts_with(place + "the compiled character map: expected the size of its trie"));
    CHECK(refusal(map("/////w=="))
              .starts_with(place + "the compiled character map: expected a trie of at most the 0 bytes"));
    // The trie's only unit points far outside of it.
    const Tokenizer tokenizer = read(map("BAAAAP////8="));
    CHECK(tokenizer.encode("a").ids == std::vector<int32_t>{1});
}

TEST_CASE("added tokens that are empty, repeated or out of place are refused") {
    CHECK(refusal(with("\"added_tokens\": [" + added("2", "\"\"") + "]")) ==
          "/added_tokens: the added token '': empty");
    CHECK(refusal(with("\"added_tokens\": [" + added("7", "\"x\"") + "]")) ==
          "/added_tokens/0/id: expected 2, the next one free, found 7");
    CHECK(refusal(with("\"added_tokens\": [" + added("0", "\"a\"") + "]")) ==
          "/added_tokens/0/id: expected 1, the id of this token in the vocabulary, found 0");
    CHECK(refusal(with("\"added_tokens\": [" + added("2", "\"x\"") + "," + added("3", "\"x\"") + "]")) ==
          "/added_tokens: the added token 'x': matches the same text as 'x'");
    CHECK(refusal(with("\"added_tokens\": [" + added("-1", "\"x\"") + "]"))
              .starts_with("/added_tokens/0/id: expected a whole"));
}

TEST_CASE("templates that name unknown tokens or texts are refused") {
    const auto single = [](const std::string &piece) {
        return with(R"("post_processor": {"type": "TemplateProcessing", "single": [)" + piece +
                    R"(], "pair": [], "special_tokens": {}})");
    };
    CHECK(refusal(single(R"({"SpecialToken": {"id": "[CLS]", "type_id": 0}})")) ==
          "/post_processor/single/0/SpecialToken/id: '[CLS]' is not among the special_tokens");
    CHECK(refusal(single(R"({"Sequence": {"id": "B", "type_id": 0}})")) ==
          "/post_processor/single/0/Sequence/id: expected A, found 'B'");
}

TEST_CASE("the error for a word that the vocabulary cannot express quotes the word") {
    const Tokenizer tokenizer = read(with("", R"({"type": "WordLevel", "unk_token": "?", "vocab": {"a": 0}})"));
    CHECK(message_of([&] { (void)tokenizer.encode("b"); }) ==
          "'b' is not in the vocabulary, and neither is the unknown token '?'");
    CHECK(message_of([&] { (void)tokenizer.encode("a\xFF"); }) == "'a\\xff': invalid UTF-8 at offset 1");
}

TEST_CASE("missing files are refused") {
    CHECK_THAT(message_of([] { (void)Tokenizer::load("/nowhere/tokenizer.json"); }),
               matchers::contains("/nowhere/tokenizer.json"));
}
