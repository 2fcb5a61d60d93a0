// Small files that would make gigabytes of a word, or need hours for it.
#include "catch.hpp"
#include "tokenizer/gguf.hpp"

#include <lamina/tokenizer.hpp>

using namespace lamina;
using matchers::contains;

namespace {

const std::string words = R"({"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1}})";

Tokenizer made(const std::string &members, const std::string &model = words) {
    return Tokenizer::parse("{\"version\": \"1.0\", " + members + (members.empty() ? "" : ", ") +
                                "\"model\": " + model + "}",
                            "tokenizer.json");
}

// "STEP, STEP, ..." as a sequence of steps.
std::string repeated(const std::string &step, size_t times) {
    std::string out;
    for (size_t i = 0; i < times; ++i) out += (i == 0 ? "" : ", ") + step;
    return out;
}

std::string normalizers(const std::string &step, size_t times) {
    return R"("normalizer": {"type": "Sequence", "normalizers": [)" + repeated(step, times) + "]}";
}

const std::string doubling = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";

std::string why_not_encoded(const std::string &members, const std::string &text) {
    return message_of([&] { (void)made(members).encode(text); });
}

} // namespace

TEST_CASE("normalizers that multiply a text are stopped before they have memory for it") {
    const auto too_long = contains("the tokenizer makes this text more than 64 times as long");
    CHECK_THAT(why_not_encoded(normalizers(doubling, 50), "a"), too_long);
    const std::string long_words(1000, 'b');
    CHECK_THAT(why_not_encoded(normalizers(R"({"type": "Prepend", "prepend": ")" + long_words + "\"}", 1200), "a"),
               too_long);
    CHECK_THAT(
        why_not_encoded(
            normalizers(R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" + long_words + "\"}", 1),
            std::string(10'000, 'a')),
        too_long);
}

TEST_CASE("normalizers that lengthen a text a little are not stopped") {
    const Tokenizer tokenizer = made(normalizers(doubling, 6)); // 64 times as long
    CHECK(tokenizer.encode(std::string(100'000, 'a')).size() == 1);
}

TEST_CASE("decoders that multiply a text are stopped before they have memory for it") {
    const auto decoded = [&](size_t times) {
        const Tokenizer tokenizer =
            made(R"("decoder": {"type": "Sequence", "decoders": [)" + repeated(doubling, times) + "]}");
        return tokenizer.decode(std::vector<int32_t>{1});
    };
    CHECK(decoded(10) == std::string(1024, 'a'));
    CHECK_THAT(message_of([&] { (void)decoded(50); }), contains("the tokenizer's decoder makes more than 16 MiB"));
}

TEST_CASE("a tokenizer with thousands of steps, or a template of thousands of texts, is refused") {
    CHECK_THAT(message_of([] { (void)made(normalizers(R"({"type": "NFC"})", 5000)); }),
               contains("/normalizer: expected at most 4096 values in all of it, found 10003"));
    const auto pieces = [](const std::string &piece, size_t times) {
        return R"("post_processor": {"type": "TemplateProcessing", "single": [)" + repeated(piece, times) +
               R"(], "pair": [], "special_tokens": {"s": {"id": "s", "ids": [)" + repeated("0", 900) +
               R"(], "tokens": [)" + repeated("\"u\"", 900) + "]}}}";
    };
    const std::string text = R"({"Sequence": {"id": "A", "type_id": 0}})",
                      special = R"({"SpecialToken": {"id": "s", "type_id": 0}})";
    CHECK(made(pieces(text, 8)).encode("a").size() == 8);
    const auto too_many = contains("expected at most 8 texts and 4096 special tokens in a template");
    CHECK_THAT(message_of([&] { (void)made(pieces(text, 9)); }), too_many);
    CHECK_THAT(message_of([&] { (void)made(pieces(special, 5)); }), too_many);
    CHECK_THAT(message_of([&] { (void)made(pieces(text, 20'000)); }), contains("expected at most 4096 values"));
}

TEST_CASE("a vocabulary with a token of millions of bytes is refused at once") {
    const std::string token(5'000'000, 'a');
    CHECK_THAT(message_of([&] {
                   (void)made("",
                              R"({"type": "Unigram", "unk_id": 0, "vocab": [["u", -1.0], [")" + token + "\", -1.0]]}");
               }),
               contains("expected at most 4096 bytes, found 5000000"));
    tokenizer::GgufVocabulary file;
    file.model = "llama";
    file.tokens = {"<unk>", "a", token};
    file.scores = {0, 0, 0};
    CHECK_THAT(message_of([&] { (void)tokenizer_of(file); }),
               contains("tokenizer.ggml.tokens: entry 2: the tokens are too long"));
}
