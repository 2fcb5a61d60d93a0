#include "architectures/tokenizer_parts.hpp"

#include <optional>
#include <utility>

namespace lamina::architectures {

namespace fs = std::filesystem;

TokenizerSettings::TokenizerSettings(const fs::path &folder)
    : document_(has_file(folder / "tokenizer_config.json") ? text_of(folder / "tokenizer_config.json") : "{}",
                (folder / "tokenizer_config.json").string()),
      config_(document_.root()), class_name_(config_.text("tokenizer_class", "")) {
    if (const fs::path whole = folder / "config.json"; class_name_.empty() && has_file(whole)) {
        const JsonText document(with_finite_numbers(text_of(whole)), whole.string());
        class_name_ = Config(document.root()).text("tokenizer_class", "");
    }
    if (class_name_.ends_with("Fast")) class_name_.erase(class_name_.size() - 4);
}

std::string TokenizerParts::text() const {
    std::string out = R"({"version":"1.0","truncation":null,"padding":null)";
    const std::pair<const char *, const Json *> parts[]{{"added_tokens", &added_tokens},
                                                        {"normalizer", &normalizer},
                                                        {"pre_tokenizer", &pre_tokenizer},
                                                        {"post_processor", &post_processor},
                                                        {"decoder", &decoder}};
    for (const auto &[key, part] : parts) out += ",\"" + std::string(key) + "\":" + part->in_one_line();
    return out + ",\"model\":" + model + "}";
}

Json special_token(const std::string &token, int type) {
    return {{"SpecialToken", {{"id", token}, {"type_id", type}}}};
}
Json sequence(const char *which, int type) { return {{"Sequence", {{"id", which}, {"type_id", type}}}}; }

Json template_of(Json single, Json pair, const SpecialTokens &tokens, const std::vector<std::string> &used) {
    Json ids = Json::object();
    for (const std::string &token : used)
        ids[token] = Json{{"id", token}, {"ids", Json::array({tokens.id(token)})}, {"tokens", Json::array({token})}};
    return {{"type", "TemplateProcessing"},
            {"single", std::move(single)},
            {"pair", std::move(pair)},
            {"special_tokens", std::move(ids)}};
}

Json begun_and_ended(const SpecialTokens &tokens, const std::string &begin, const std::string &end) {
    const Json first = special_token(begin, 0), last = special_token(end, 0);
    return template_of(Json::array({first, sequence("A", 0), last}),
                       Json::array({first, sequence("A", 0), last, sequence("B", 1), special_token(end, 1)}), tokens,
                       {begin, end});
}

Json framed(SpecialTokens &tokens, const TokenizerSettings &options, const char *begin_token, const char *end_token) {
    std::vector<std::string> used;
    const auto frame = [&](const char *key, const char *purpose, const char *otherwise) {
        const std::optional<std::string> token = tokens.find(purpose, otherwise);
        if (!options->flag(key, false) || !token) return std::string();
        used.push_back(*token);
        return *token;
    };
    const std::string begin = frame("add_bos_token", "bos_token", begin_token),
                      end = frame("add_eos_token", "eos_token", end_token);
    const auto add = [&](Json &out, const char *which, int type) {
        if (!begin.empty()) out.push_back(special_token(begin, type));
        out.push_back(sequence(which, type));
        if (!end.empty()) out.push_back(special_token(end, type));
    };
    Json single = Json::array(), pair = Json::array();
    add(single, "A", 0), add(pair, "A", 0), add(pair, "B", 1);
    return template_of(std::move(single), std::move(pair), tokens, used);
}

} // namespace lamina::architectures
