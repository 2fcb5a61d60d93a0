#include "tokens.hpp"

#include "refusal.hpp"

#include <algorithm>

namespace lamina::serve {
namespace {

// What the command calls an option is a field of a request.
[[noreturn]] void refuse(const std::string &field, const std::string &item, const RefusedText &text) {
    throw Refusal(400, "request: /" + field + item + ": " + replaced(text.why, "--truncate", R"("truncate": true)"),
                  field);
}

// Of a request with so many texts.
TextIds accepted(TextIds found, const std::string &field, size_t texts) {
    if (found.refused) refuse(field, texts > 1 ? "/" + std::to_string(found.refused->text) : "", *found.refused);
    return found;
}

size_t tokens_of(const TextIds &texts) {
    size_t out = 0;
    for (const std::vector<int32_t> &ids : texts.ids) out += ids.size();
    return out;
}

} // namespace

std::vector<std::vector<int32_t>> ids_in(const Model &model, const std::vector<std::string> &prompts,
                                         const std::string &field, bool special) {
    return accepted(prompt_ids(model, prompts, special), field, prompts.size()).ids;
}

size_t tokens_in(const Model &model, const std::vector<std::string> &texts, const std::string &field, bool cut) {
    return tokens_of(accepted(tokenize(model, texts, {.truncate = cut}), field, texts.size()));
}

std::vector<TextWindow> windows_in(const Model &model, const std::vector<std::string> &texts,
                                   const std::string &field) {
    try {
        return windows_of(model, texts);
    } catch (const Error &why) {
        if (why.code() != ErrorCode::input && why.code() != ErrorCode::usage) throw;
        throw Refusal(400, "request: /" + field + ": " + why.what(), field);
    }
}

size_t tokens_of_pairs(const Model &model, const std::string &first, const std::vector<std::string> &seconds,
                       const std::string &field, bool cut) {
    size_t out = 0;
    for (size_t i = 0; i < seconds.size(); ++i) { // one by one, so that the first text is held only twice
        const TextIds found = tokenize_pairs(model, {{first, seconds[i]}}, {.truncate = cut});
        if (found.refused) refuse(field, "/" + std::to_string(i), *found.refused);
        out += tokens_of(found);
    }
    return out;
}

size_t tokens_in(const std::vector<std::vector<int32_t>> &texts, const std::string &field, bool cut, size_t tokens,
                 size_t longest) {
    size_t out = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
        const std::string item = texts.size() > 1 ? "/" + std::to_string(i) : "";
        for (size_t k = 0; k < texts[i].size(); ++k)
            if (static_cast<size_t>(texts[i][k]) >= tokens)
                refuse(
                    field, item + "/" + std::to_string(k),
                    {0, "expected an id below " + std::to_string(tokens) + ", found " + std::to_string(texts[i][k])});
        if (texts[i].empty()) refuse(field, item, {0, "expected at least one token"});
        if (!cut && texts[i].size() > longest)
            refuse(field, item,
                   {0, std::to_string(texts[i].size()) + " tokens; expected at most " + std::to_string(longest) +
                           ": leave some out, or have them cut (--truncate)"});
        out += std::min(texts[i].size(), longest);
    }
    return out;
}

} // namespace lamina::serve
