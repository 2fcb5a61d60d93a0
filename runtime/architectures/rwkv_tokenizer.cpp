#include "architectures/rwkv_tokenizer.hpp"

#include "base/utf8.hpp"
#include "tokenizer/byte_characters.hpp"
#include "tokenizer/python_text.hpp"
#include "tokenizer/vocabulary.hpp"

#include <lamina/error.hpp>

#include <charconv>
#include <sstream>
#include <string>
#include <string_view>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
using tokenizer::PythonLiteral;

constexpr const char *file_name = "rwkv_vocab_v20230424.txt";
constexpr const char *usual_end = "<|rwkv_tokenizer_end_of_text|>"; // the token 0, which no line has

struct Line {
    int32_t id;
    std::string token; // as byte-level tokenizers write its bytes
};

// "33 ' ' 1": the id, the token as Python writes it, and its number of bytes.
Line read(std::string_view line) {
    const auto refuse = [&]() {
        return Error(ErrorCode::input, "expected an id, a token as Python writes it and its number of bytes, such as "
                                       "\"33 ' ' 1\", found " +
                                           in_quotes(line));
    };
    const auto number = [&](std::string_view digits) {
        int32_t out = 0;
        const char *const end = digits.data() + digits.size();
        const auto [last, error] = std::from_chars(digits.data(), end, out);
        if (error != std::errc() || last != end || out < 0) throw refuse();
        return out;
    };
    const size_t first = line.find(' '), last = line.rfind(' ');
    if (first == std::string_view::npos || last < first + 2) throw refuse();
    std::string_view literal = line.substr(first + 1, last - first - 1);
    const bool of_bytes = literal.starts_with('b');
    if (of_bytes) literal.remove_prefix(1);
    const char quote = literal.empty() ? '\0' : literal.front();
    if (literal.size() < 2 || (quote != '\'' && quote != '"') || literal.back() != quote) throw refuse();
    const std::string bytes = tokenizer::python_text(literal.substr(1, literal.size() - 2),
                                                     of_bytes ? PythonLiteral::bytes : PythonLiteral::text);
    if (bytes.empty() || static_cast<int64_t>(bytes.size()) != number(line.substr(last + 1))) throw refuse();
    return {number(line.substr(0, first)), tokenizer::in_characters(bytes)};
}

} // namespace

std::optional<TokenizerParts> rwkv_tokenizer(const fs::path &folder) {
    const fs::path file = folder / file_name;
    if (!has_file(file)) return std::nullopt;
    tokenizer::Vocabulary vocabulary;
    std::string entries;
    std::istringstream lines(text_of(file));
    int64_t number = 0;
    for (std::string text; std::getline(lines, text);) {
        ++number;
        if (text.ends_with('\r')) text.pop_back();
        try {
            const Line line = read(text);
            vocabulary.add(line.token, line.id);
            entries += (entries.empty() ? "" : ",") + json_string(line.token) + ":" + std::to_string(line.id);
        } catch (const Error &error) {
            throw Error(ErrorCode::input, file.string() + ", line " + std::to_string(number) + ": " + error.what());
        }
    }
    if (!vocabulary.token(0)) {
        vocabulary.add(usual_end, 0);
        entries += (entries.empty() ? "" : ",") + json_string(usual_end) + ":0";
    }
    SpecialTokens tokens(folder, vocabulary);
    for (const char *purpose : {"bos_token", "eos_token", "unk_token"}) (void)tokens.find(purpose, usual_end);
    TokenizerParts out;
    out.model = R"({"type":"WordPiece","unk_token":)" + json_string(usual_end) +
                R"(,"continuing_subword_prefix":"","max_input_chars_per_word":2147483647,"vocab":{)" + entries + "}}";
    out.pre_tokenizer = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
    out.decoder = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
    out.added_tokens = tokens.json();
    return out;
}

} // namespace lamina::architectures
