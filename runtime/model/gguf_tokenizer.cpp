#include "model/gguf_tokenizer.hpp"

#include "tokenizer/gguf.hpp"

#include <algorithm>

namespace lamina::model {

std::optional<Tokenizer> tokenizer_of(const GgufMetadata &metadata) {
    const auto find = [&](const char *key) -> const GgufValue * {
        const std::string full = std::string("tokenizer.ggml.") + key;
        return metadata.has(full) ? &metadata.at(full) : nullptr;
    };
    const auto text = [&](const char *key) { return find(key) ? std::string(find(key)->string()) : ""; };
    const auto general = [&](const std::string &key) {
        return metadata.has("general." + key) ? std::string(metadata.at("general." + key).string()) : "";
    };
    const auto texts = [&](const char *key) {
        const auto all = find(key) ? find(key)->strings() : std::span<const std::string_view>();
        return std::vector(all.begin(), all.end());
    };
    const auto id = [&](const char *key) {
        return find(key) ? std::optional(static_cast<int32_t>(find(key)->integer(0, INT32_MAX))) : std::nullopt;
    };
    const auto flag = [&](const char *key) { return find(key) ? std::optional(find(key)->boolean()) : std::nullopt; };

    if (find("tokens") == nullptr) return std::nullopt;
    tokenizer::GgufVocabulary vocabulary;
    vocabulary.architecture = general("architecture");
    vocabulary.name = general("name");
    vocabulary.model = text("model");
    vocabulary.pre = text("pre");
    vocabulary.tokens = texts("tokens");
    vocabulary.merges = texts("merges");
    vocabulary.bos_token_id = id("bos_token_id");
    vocabulary.eos_token_id = id("eos_token_id");
    vocabulary.unknown_token_id = id("unknown_token_id");
    vocabulary.cls_token_id = id("cls_token_id");
    vocabulary.seperator_token_id = id("seperator_token_id");
    vocabulary.add_bos_token = flag("add_bos_token");
    vocabulary.add_eos_token = flag("add_eos_token");
    vocabulary.add_space_prefix = flag("add_space_prefix");
    vocabulary.remove_extra_whitespaces = flag("remove_extra_whitespaces");
    vocabulary.lowercase = flag("normalizer.lowercase");
    vocabulary.strip_accents = flag("normalizer.strip_accents");
    if (const GgufValue *rules = find("precompiled_charsmap"))
        for (const int64_t byte : rules->integers())
            vocabulary.precompiled_charsmap += static_cast<char>(std::clamp<int64_t>(byte, -128, 255));
    if (const GgufValue *scores = find("scores"))
        for (const double score : scores->numbers()) vocabulary.scores.push_back(static_cast<float>(score));
    if (const GgufValue *types = find("token_type"))
        for (const int64_t type : types->integers())
            vocabulary.token_type.push_back(static_cast<int32_t>(std::clamp<int64_t>(type, INT32_MIN, INT32_MAX)));
    try {
        return tokenizer::tokenizer_of(vocabulary);
    } catch (const Error &why) {
        throw Error(why.code(), metadata.file() + ": " + why.what());
    }
}

} // namespace lamina::model
