#include "architectures/rwkv_tokenizer.hpp"

#include "base/utf8.hpp"
#include "tokenizer/byte_characters.hpp"
#include "tokenizer/python_text.hpp"
#include "tokenizer/vocabulary.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <string_view>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
using tokenizer::PythonLiteral;

constexpr const char *usual_end = "<|rwkv_tokenizer_end_of_text|>"; // the token 0, unless a file calls it another name

struct Line {
    int32_t id;
    std::string bytes;
};

std::string name_of_end(const TokenizerSettings &options) {
    if (const auto listed = options->find("added_tokens_decoder"))
        if (listed->is_object() && listed->has("0")) return content_of(listed->at("0"));
    return usual_end;
}

std::string content(const Json &token) {
    for (const Json::Member &each : *token.members())
        if (each.key == "content") return *each.value.text();
    return "";
}

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
    return {number(line.substr(0, first)), bytes};
}

} // namespace

fs::path rwkv_vocabulary(const fs::path &folder) {
    fs::path out;
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
        const std::string name = each->path().filename().string();
        if (name.starts_with("rwkv_vocab_v") && name.ends_with(".txt")) out = std::max(out, each->path()); // the latest
    }
    return out;
}

TokenizerParts rwkv_tokenizer(const fs::path &list, const TokenizerSettings &options) {
    const std::string end = name_of_end(options);
    tokenizer::Vocabulary vocabulary; // of bytes: files name tokens of the list, too, such as "\n\n" for eos_token
    std::string entries;
    const auto add = [&](const std::string &token, const std::string &written, int32_t id) {
        vocabulary.add(token, id);
        entries += (entries.empty() ? "" : ",") + json_string(written) + ":" + std::to_string(id);
    };
    std::istringstream lines(text_of(list));
    int64_t number = 0;
    for (std::string text; std::getline(lines, text);) {
        ++number;
        if (text.ends_with('\r')) text.pop_back();
        try {
            const Line line = read(text);
            add(line.bytes, tokenizer::in_characters(line.bytes), line.id);
        } catch (const Error &error) {
            throw Error(ErrorCode::input, list.string() + ", line " + std::to_string(number) + ": " + error.what());
        }
    }
    if (!vocabulary.token(0)) add(end, end, 0);
    SpecialTokens tokens(list.parent_path(), vocabulary);
    for (const char *purpose : {"bos_token", "eos_token", "unk_token"}) (void)tokens.find(purpose, end.c_str());
    TokenizerParts out;
    out.model = R"({"type":"WordPiece","unk_token":)" + json_string(end) +
                R"(,"continuing_subword_prefix":"","max_input_chars_per_word":2147483647,"vocab":{)" + entries + "}}";
    out.pre_tokenizer = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
    out.decoder = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
    out.post_processor = framed(tokens, options, end.c_str(), end.c_str());
    // Tokens of the list are found by their bytes alone.
    const Json named = tokens.json();
    for (const Json &token : *named.items())
        if (const auto id = vocabulary.id(content(token)); !id || *id == 0) out.added_tokens.push_back(token);
    return out;
}

} // namespace lamina::architectures
