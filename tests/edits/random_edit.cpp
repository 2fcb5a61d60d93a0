#include "random_edit.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

namespace test {
namespace {

using lamina::Random;

struct Token {
    size_t at;
    std::string text;
};

const std::map<std::string, std::vector<std::string>> &alternatives() {
    static const std::map<std::string, std::vector<std::string>> all{
        {"+", {"-", "*"}},   {"-", {"+"}},     {"*", {"+", "/"}},   {"/", {"*", "%"}},   {"%", {"/"}},
        {"<", {"<=", ">="}}, {"<=", {"<"}},    {">", {">=", "<"}},  {">=", {">"}},       {"==", {"!="}},
        {"!=", {"=="}},      {"&&", {"||"}},   {"||", {"&&"}},      {"<<", {">>"}},      {">>", {"<<"}},
        {"&", {"|"}},        {"|", {"&"}},     {"+=", {"-=", "="}}, {"-=", {"+="}},      {"*=", {"+="}},
        {"min", {"max"}},    {"max", {"min"}}, {"x", {"y"}},        {"y", {"x"}},        {"z", {"w"}},
        {"w", {"z"}},        {"sin", {"cos"}}, {"cos", {"sin"}},    {"true", {"false"}}, {"false", {"true"}},
    };
    return all;
}

// Comments, directives and layouts become blanks, so that places stay: an edit there changes nothing, or a binding,
// which the host compares with the plan.
std::string code_of(const std::string &source) {
    std::string out = source;
    static const std::regex other(R"(//[^\n]*|#(\\\n|[^\n])*|layout\([^)]*\))");
    for (std::sregex_iterator i(source.begin(), source.end(), other), end; i != end; ++i)
        out.replace(static_cast<size_t>(i->position()), static_cast<size_t>(i->length()),
                    std::string(static_cast<size_t>(i->length()), ' '));
    return out;
}

std::vector<Token> tokens_of(const std::string &code) {
    static const std::regex token(
        R"([A-Za-z_]\w*|0x[0-9a-fA-F]+u?|\d+(\.\d*)?(e[+-]?\d+)?u?|[<>=!&|+*/%-]=|&&|\|\||<<|>>|\+\+|--|[<>&|+*/%-])");
    std::vector<Token> out;
    for (std::sregex_iterator i(code.begin(), code.end(), token), end; i != end; ++i)
        out.push_back({static_cast<size_t>(i->position()), i->str()});
    return out;
}

// The variables that the source declares, by type.
std::map<std::string, std::set<std::string>> variables_of(const std::string &code) {
    static const std::regex declaration(R"(\b(uint|int|float|bool|u?vec[234])\s+(\w+)((\s*=[^,;()]*)?,\s*(\w+))?)");
    std::map<std::string, std::set<std::string>> out;
    for (std::sregex_iterator i(code.begin(), code.end(), declaration), end; i != end; ++i)
        for (const size_t group : {size_t{2}, size_t{5}})
            if (const std::string name = (*i)[group].str(); !name.empty() && !alternatives().contains(name))
                out[(*i)[1].str()].insert(name);
    return out;
}

std::string one_off(const std::string &number, Random &random) {
    const bool is_unsigned = number.back() == 'u';
    if (number.find_first_of(".ex") != std::string::npos) return number.starts_with("0x") ? "0u" : number + " * 1.01";
    const long value = std::stol(number);
    return std::to_string(value != 0 && random.below(2) == 0 ? value - 1 : value + 1) + (is_unsigned ? "u" : "");
}

std::optional<std::string> instead_of(const std::string &token, const std::string &code, Random &random) {
    if (std::isdigit(static_cast<unsigned char>(token.front())) != 0) return one_off(token, random);
    if (const auto found = alternatives().find(token); found != alternatives().end())
        return found->second[random.below(found->second.size())];
    for (const auto &[type, names] : variables_of(code)) {
        if (!names.contains(token) || names.size() < 2) continue;
        auto other = names.begin();
        std::advance(other, random.below(names.size()));
        if (*other != token) return *other;
    }
    return std::nullopt;
}

} // namespace

std::optional<Edit> random_edit(const std::vector<std::string> &files, Random &random) {
    const std::string &file = random.below(3) != 0 ? files.front() : files[random.below(files.size())];
    const std::string code = code_of(source(file));
    const std::vector<Token> tokens = tokens_of(code);
    if (tokens.empty()) return std::nullopt;
    const Token &token = tokens[random.below(tokens.size())];
    const auto other = instead_of(token.text, code, random);
    if (!other || *other == token.text) return std::nullopt;
    return Edit{file, token.at, token.text, *other};
}

std::string name_of(const Edit &edit) {
    const std::string text = source(edit.file);
    const size_t begin = text.rfind('\n', edit.at) + 1, end = text.find('\n', edit.at);
    std::string line = text.substr(begin, edit.at - begin) + "[" + edit.text + " -> " + edit.becomes + "]" +
                       text.substr(edit.at + edit.text.size(), end - edit.at - edit.text.size());
    line.erase(0, line.find_first_not_of(' '));
    return std::filesystem::path(edit.file).filename().string() + ": " + line;
}

} // namespace test
