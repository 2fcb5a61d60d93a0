#include "model/vocabulary.hpp"

#include "base/file.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>
#include <lamina/vocabulary.hpp>

#include <algorithm>

namespace lamina {
namespace model {
namespace {

constexpr uint64_t largest_file = 64u << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view blanks = " \t";

std::string lower_ascii(std::string_view text) {
    std::string out(text);
    for (char &c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

// The code points before text[at], and one.
size_t column(std::string_view text, size_t at) {
    size_t code_points = 0;
    for (size_t i = 0; i < at; i += utf8_length(text, i)) ++code_points;
    return code_points + 1;
}

Vocabulary vocabulary_of(const std::filesystem::path &file, FileReader::Kind kind) {
    const std::vector<std::byte> bytes = read_file(file, largest_file, kind);
    return Vocabulary::parse({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, file);
}

} // namespace

Vocabulary Vocabulary::open(const std::filesystem::path &file) {
    return vocabulary_of(file, FileReader::Kind::ordinary);
}

Vocabulary Vocabulary::parse(std::string_view text, const std::filesystem::path &file) {
    std::string_view rest = text;
    if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());

    Vocabulary out;
    out.file_ = file;
    while (!rest.empty()) {
        const size_t end = rest.find('\n');
        std::string_view token = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        if (token.ends_with('\r')) token.remove_suffix(1);

        const auto refuse = [&](const std::string &why) {
            throw Error(ErrorCode::input, file.string() + ": line " + std::to_string(out.size() + 1) + ": " + why);
        };
        if (token.empty()) refuse("an empty line; expected one token per line");
        if (first_invalid_utf8(token) != token.size()) refuse("invalid UTF-8: " + in_quotes(token));
        const auto [first, inserted] = out.ids_.emplace(token, static_cast<int32_t>(out.size()));
        if (!inserted) refuse(in_quotes(token) + " is already in line " + std::to_string(first->second + 1));
        out.tokens_.emplace_back(token);
    }
    if (out.tokens_.empty()) throw Error(ErrorCode::input, file.string() + ": empty; expected one token per line");
    return out;
}

std::optional<int32_t> Vocabulary::id(std::string_view token) const {
    const auto found = ids_.find(std::string(token));
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

// The id of the token at text[at], or an error that quotes it.
int32_t Vocabulary::known(std::string_view token, std::string_view text, size_t at) const {
    if (const auto found = id(token)) return *found;
    throw Error(ErrorCode::input, in_quotes(text) + ": column " + std::to_string(column(text, at)) + ": " +
                                      in_quotes(token) + " is not one of the " + std::to_string(size()) +
                                      " tokens of " + file_.string() +
                                      did_you_mean(token, token.size() > 1 ? tokens_ : std::vector<std::string>()));
}

std::vector<int32_t> Vocabulary::encode(std::string_view text, bool characters, bool lowercase) const {
    if (const size_t bad = first_invalid_utf8(text); bad != text.size())
        throw Error(ErrorCode::input,
                    in_quotes(text) + ": column " + std::to_string(column(text, bad)) + ": invalid UTF-8");
    const std::string lowered = lowercase ? lower_ascii(text) : std::string(text);
    const std::string_view all = lowered;
    std::vector<int32_t> ids;
    if (characters) {
        for (size_t at = 0; at < all.size(); at += utf8_length(all, at))
            ids.push_back(known(all.substr(at, utf8_length(all, at)), all, at));
        return ids;
    }
    for (size_t at = all.find_first_not_of(blanks); at < all.size();) {
        const size_t end = std::min(all.find_first_of(blanks, at), all.size());
        ids.push_back(known(all.substr(at, end - at), all, at));
        at = all.find_first_not_of(blanks, end);
    }
    return ids;
}

std::string Vocabulary::decode(std::span<const int32_t> ids, std::string_view separator) const {
    std::string text;
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= size())
            throw Error(ErrorCode::input, file_.string() + ": no token has the id " + std::to_string(ids[i]) +
                                              "; it has " + std::to_string(size()));
        if (i != 0) text += separator;
        text += token(ids[i]);
    }
    return text;
}

} // namespace model

std::vector<std::string> read_vocabulary(const std::filesystem::path &file) {
    return model::vocabulary_of(file, FileReader::Kind::any).tokens();
}

} // namespace lamina
