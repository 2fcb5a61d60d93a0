// RWKV's tokenizer of GGUF files, and texts as Python writes them, of which its vocabulary is made.
#include "catch.hpp"
#include "tokenizer/gguf.hpp"
#include "tokenizer/python_text.hpp"

#include <deque>
#include <string>

using lamina::Tokenizer;
using lamina::tokenizer::GgufVocabulary;
using lamina::tokenizer::python_text;
using lamina::tokenizer::PythonLiteral;
using matchers::contains;

namespace {

// A byte as Python writes it in b'...'.
std::string written(int byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (byte == '\n') return "\\n";
    if (byte == '\r') return "\\r";
    if (byte == '\t') return "\\t";
    if (byte == '\\') return "\\\\";
    if (byte >= ' ' && byte < 0x7F) return {static_cast<char>(byte)};
    return {'\\', 'x', digits[static_cast<size_t>(byte >> 4)], digits[static_cast<size_t>(byte & 15)]};
}

// Token 0, the 256 bytes as 1 to 256, and some more.
GgufVocabulary vocabulary(std::deque<std::string> &texts, const std::vector<std::string> &more) {
    GgufVocabulary out;
    out.model = "rwkv";
    texts.emplace_back("<s>");
    for (int byte = 0; byte < 256; ++byte) texts.push_back(written(byte));
    for (const std::string &token : more) texts.push_back(token);
    texts.emplace_back("[PAD]");
    for (const std::string &text : texts) out.tokens.emplace_back(text);
    out.token_type.assign(out.tokens.size(), 1);
    out.token_type.front() = 3;
    out.token_type.back() = 5;
    return out;
}

} // namespace

TEST_CASE("longest first: the longest token of bytes is taken, whatever is left then") {
    std::deque<std::string> texts;
    const Tokenizer tokenizer = tokenizer_of(vocabulary(
        texts, {"ab", "abc", "cdef", "\\n\\n", "\\xe8\\xaa", "\\xe8\\xaa\\x9e", "\\xaa\\x9e!", "\\\\x41", "\"'"}));
    const auto ids = [&](const std::string &text) { return tokenizer.encode(text).ids; };
    const auto byte = [](unsigned char c) { return static_cast<int32_t>(c) + 1; };
    CHECK(ids("abcdef") == std::vector<int32_t>{258, byte('d'), byte('e'), byte('f')}); // not ab, cdef
    CHECK(ids("\n\n\n") == std::vector<int32_t>{260, byte('\n')});
    CHECK(ids("\xE8\xAA\x9E!") == std::vector<int32_t>{262, byte('!')});
    CHECK(ids("\xE8\xAA\xA4") == std::vector<int32_t>{261, byte(0xA4)}); // part of a character
    CHECK(ids("\\x41A") == std::vector<int32_t>{264, byte('A')});
    CHECK(ids("\"'<s>") == std::vector<int32_t>{265, 0});
    for (const char *text : {"", "abcabc", " a b\t\\n", "\xE8\xAA\xA4\xF0\x9F\x98\x80 caf\xC3\xA9"})
        CHECK(tokenizer.decode(ids(text)) == text);
    CHECK(ids("[PAD]").size() == 5); // a token that is not used
    const std::string many(50000, 'a');
    CHECK(ids(many).size() == many.size());
}

TEST_CASE("longest first: a token that Python does not write is refused, with its number") {
    std::deque<std::string> texts;
    const GgufVocabulary file = vocabulary(texts, {"\\q"});
    CHECK_THROWS_WITH(tokenizer_of(file), contains("tokenizer.ggml.tokens: entry 257: '\\q', byte 0: expected \\n"));
}

TEST_CASE("Python's texts: characters and bytes") {
    CHECK(python_text("\\x41\\n\\t\\r\\\\\\'\\\"", PythonLiteral::bytes) == "A\n\t\r\\'\"");
    CHECK(python_text("\\xe9\\u3000\\U0001f600", PythonLiteral::text) == "\xC3\xA9\xE3\x80\x80\xF0\x9F\x98\x80");
    CHECK(python_text("\\xe9", PythonLiteral::bytes) == "\xE9");
    for (const char *text : {"\\", "\\x4", "\\xg0", "\\u12", "\\ud800", "\\U00110000", "\\a", "\\x-1"})
        CHECK_THROWS_WITH(python_text(text, PythonLiteral::text), contains("expected \\n"));
    CHECK_THROWS_WITH(python_text("\\u0041", PythonLiteral::bytes), contains("expected \\n"));
}
