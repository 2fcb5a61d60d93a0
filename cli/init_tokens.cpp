#include "init_tokens.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

namespace lamina::cli {
namespace {

bool is_in_brackets(const std::string &token) {
    return token.size() > 2 &&
           ((token.front() == '<' && token.back() == '>') || (token.front() == '[' && token.back() == ']'));
}

bool is_readable(const std::string &token, bool characters) {
    return characters ? utf8_length(token, 0) == token.size() : token.find_first_of(" \t") == std::string::npos;
}

} // namespace

void refuse_unreadable(const std::vector<std::string> &tokens, const std::filesystem::path &file, bool characters,
                       const std::set<std::string> &special) {
    for (size_t id = 0; id < tokens.size(); ++id) {
        const std::string &token = tokens[id];
        if (is_readable(token, characters) || special.contains(token) || is_in_brackets(token)) continue;
        throw Error(ErrorCode::input,
                    file.string() + ": line " + std::to_string(id + 1) + ": " + in_quotes(token) +
                        (characters ? " has several characters, but --split characters makes each a token: expected "
                                      "one, or a special token like <pad>"
                                    : " contains a blank, at which --split words splits tokens: expected a word"));
    }
}

} // namespace lamina::cli
