#include "architectures/special_tokens.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace lamina::architectures {
namespace {

constexpr std::array purposes{"bos_token", "cls_token", "eos_token", "mask_token",
                              "pad_token", "sep_token", "unk_token"};

// An entry of "added_tokens"; `view` is the token, or describes it.
Json token_json(const std::string &content, JsonView view, bool special) {
    const auto flag = [&](const char *key, bool otherwise) {
        return !view.is_string() && !view.is_number() && view.has(key) ? view.at(key).boolean() : otherwise;
    };
    return {{"id", nullptr},
            {"content", content},
            {"single_word", flag("single_word", false)},
            {"lstrip", flag("lstrip", false)},
            {"rstrip", flag("rstrip", false)},
            {"normalized", flag("normalized", !special)},
            {"special", flag("special", special)}};
}

int32_t id_of(JsonView member) {
    int32_t id = -1;
    const std::string_view key = member.key();
    const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (fault != std::errc() || end != key.data() + key.size() || id < 0)
        member.fail("expected a token's id as the key, found " + in_quotes(key));
    return id;
}

std::string content_of(JsonView token) {
    return std::string(token.is_string() ? token.string() : token.at("content").string());
}

} // namespace

SpecialTokens::SpecialTokens(const std::filesystem::path &folder, const tokenizer::Vocabulary &vocabulary)
    : folder_(folder), vocabulary_(vocabulary), next_(static_cast<int32_t>(vocabulary.size())) {
    const auto read = [&](const char *name, const auto &use) {
        if (!has_file(folder / name)) return;
        const JsonText document(text_of(folder / name), (folder / name).string());
        use(document.root());
    };
    read("tokenizer_config.json", [&](JsonView config) {
        if (!config.has("added_tokens_decoder")) return;
        std::map<int32_t, JsonView> by_id;
        for (const JsonView token : config.at("added_tokens_decoder").members()) by_id.emplace(id_of(token), token);
        for (const auto &[id, token] : by_id) add(token_json(content_of(token), token, false), content_of(token), id);
    });
    read("added_tokens.json", [&](JsonView tokens) {
        std::map<int32_t, JsonView> by_id;
        for (const JsonView token : tokens.members())
            by_id.emplace(static_cast<int32_t>(token.integer(0, INT32_MAX - 1)), token);
        for (const auto &[id, token] : by_id)
            if (const std::string content(token.key()); !ids_.contains(content))
                add(token_json(content, token, false), content, id);
    });
    read("special_tokens_map.json", [&](JsonView names) { read_names(names); });
    read("tokenizer_config.json", [&](JsonView config) { read_names(config); });
}

void SpecialTokens::read_names(JsonView names) {
    for (const JsonView each : names.members()) {
        const std::string key(each.key());
        if (std::ranges::find(purposes, key) != purposes.end()) {
            purposes_[key] = each.is_null() ? std::nullopt : std::optional(add_named(each));
        } else if ((key == "additional_special_tokens" || key == "extra_special_tokens") && each.is_list()) {
            for (const JsonView token : each.items()) (void)add_named(token);
        }
    }
}

// A token that a file calls special gets the next free id, if it has none yet.
std::string SpecialTokens::add_named(JsonView token) {
    std::string content = content_of(token);
    if (const auto known = ids_.find(content); known != ids_.end())
        added_.at(known->second)["special"] = true;
    else
        add(token_json(content, token, true), content, std::nullopt);
    return content;
}

void SpecialTokens::add(const Json &token, const std::string &content, std::optional<int32_t> id) {
    if (!id) id = vocabulary_.id(content);
    const int32_t found = id ? *id : next_;
    next_ = std::max(next_, found + 1);
    ids_[content] = found;
    Json &entry = added_[found] = token;
    entry["id"] = found;
}

std::optional<std::string> SpecialTokens::find(const std::string &purpose, const char *otherwise) {
    if (const auto named = purposes_.find(purpose); named != purposes_.end()) return named->second;
    if (otherwise == nullptr || !vocabulary_.id(otherwise)) return std::nullopt;
    if (!ids_.contains(otherwise)) {
        Json token{{"id", nullptr},   {"content", otherwise}, {"single_word", false}, {"lstrip", false},
                   {"rstrip", false}, {"normalized", false},  {"special", true}};
        add(token, otherwise, std::nullopt);
    }
    return otherwise;
}

std::string SpecialTokens::at(const std::string &purpose, const char *otherwise) {
    if (auto found = find(purpose, otherwise)) return *found;
    throw Error(ErrorCode::input,
                folder_.string() + ": the tokenizer has no " + purpose + ": expected " + in_quotes(otherwise) +
                    " in its vocabulary, or a token that tokenizer_config.json " + "or special_tokens_map.json names");
}

Json SpecialTokens::json() const {
    Json out = Json::array();
    for (const auto &[id, token] : added_) out.push_back(token);
    return out;
}

} // namespace lamina::architectures
