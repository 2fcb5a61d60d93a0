#include "tokens.hpp"

#include "refusal.hpp"

#include <lamina/texts.hpp>

namespace lamina::serve {

size_t tokens_in(const Model &model, const std::vector<std::string> &texts, const std::string &field) {
    const TextIds found = tokenize(model, texts);
    if (found.refused) {
        const std::string item = texts.size() > 1 ? "/" + std::to_string(found.refused->text) : "";
        throw Refusal(400, "request: /" + field + item + ": " + found.refused->why, field);
    }
    size_t out = 0;
    for (const std::vector<int32_t> &ids : found.ids) out += ids.size();
    return out;
}

} // namespace lamina::serve
