#include "tokens.hpp"

#include "refusal.hpp"

#include <lamina/texts.hpp>

namespace lamina::serve {
namespace {

[[noreturn]] void refuse(const std::string &field, const std::string &item, const RefusedText &text) {
    throw Refusal(400, "request: /" + field + item + ": " + text.why, field);
}

size_t tokens_of(const TextIds &texts) {
    size_t out = 0;
    for (const std::vector<int32_t> &ids : texts.ids) out += ids.size();
    return out;
}

} // namespace

size_t tokens_in(const Model &model, const std::vector<std::string> &texts, const std::string &field) {
    const TextIds found = tokenize(model, texts);
    if (found.refused) refuse(field, texts.size() > 1 ? "/" + std::to_string(found.refused->text) : "", *found.refused);
    return tokens_of(found);
}

size_t tokens_of_pairs(const Model &model, const std::string &first, const std::vector<std::string> &seconds,
                       const std::string &field) {
    size_t out = 0;
    for (size_t i = 0; i < seconds.size(); ++i) { // one by one, so that the first text is held only twice
        const TextIds found = tokenize_pairs(model, {{first, seconds[i]}});
        if (found.refused) refuse(field, "/" + std::to_string(i), *found.refused);
        out += tokens_of(found);
    }
    return out;
}

} // namespace lamina::serve
