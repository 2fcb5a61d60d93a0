#include "model/tokenizer_reader.hpp"

#include "base/utf8.hpp"
#include "model/graph_names.hpp"
#include "tokenizer/parts.hpp"
#include "tokenizer/reader.hpp"
#include "tokenizer/sentencepiece_model.hpp"

#include <algorithm>
#include <array>

namespace lamina::model {
namespace {

std::vector<tokenizer::AddedToken> special_tokens_of(JsonView value) {
    std::vector<tokenizer::AddedToken> out;
    for (const JsonView id : value.members())
        out.push_back({.id = static_cast<int32_t>(id.integer(0, INT32_MAX - 1)),
                       .content = std::string(id.key()),
                       .normalized = false,
                       .special = true});
    return out;
}

tokenizer::SpecialToken special_at(JsonView value, const std::vector<tokenizer::AddedToken> &special) {
    for (const tokenizer::AddedToken &token : special)
        if (token.content == value.string()) return {token.content, token.id};
    value.fail("expected one of the special tokens, found " + in_quotes(value.string()));
}

} // namespace

Tokenizer cleaning_up(const Tokenizer &tokenizer, JsonView value) {
    if (!value.has("clean_up") || !value.at("clean_up").boolean()) return tokenizer;
    Tokenizer::Parts parts = tokenizer.parts();
    parts.clean_up = true;
    return Tokenizer(std::make_shared<const Tokenizer::Parts>(std::move(parts)));
}

Tokenizer read_tokenizer(JsonView value, const TextFiles &files) {
    const std::string file = file_at(value.at("tokenizer"));
    if (std::ranges::none_of(std::array{"vocabulary", "special", "begin", "end"},
                             [&](const char *key) { return value.has(key); }))
        return cleaning_up(files.tokenizer(file), value);
    tokenizer::SentencePieceSettings settings;
    if (value.has("vocabulary")) {
        const std::string name = file_at(value.at("vocabulary"));
        const JsonText vocabulary(files.text(name), name);
        settings.ids = tokenizer::read_vocabulary(vocabulary.root());
    }
    if (value.has("special")) settings.special = special_tokens_of(value.at("special"));
    if (value.has("begin")) settings.begin = special_at(value.at("begin"), settings.special);
    if (value.has("end")) settings.end = special_at(value.at("end"), settings.special);
    return cleaning_up(Tokenizer(std::make_shared<const Tokenizer::Parts>(
                           tokenizer::read_sentencepiece_model(files.text(file), file, std::move(settings)))),
                       value);
}

} // namespace lamina::model
