#include "architectures/special_tokens.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>

namespace lamina::architectures {
namespace {

// In the order in which transformers gives them ids.
constexpr std::array purposes{"bos_token", "eos_token", "unk_token", "sep_token",
                              "pad_token", "cls_token", "mask_token"};

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

} // namespace

int32_t id_of_listed(JsonView member) {
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

SpecialTokens::SpecialTokens(const std::filesystem::path &folder, const tokenizer::Vocabulary &vocabulary,
                             const Defaults &defaults)
    : folder_(folder), vocabulary_(vocabulary), next_(static_cast<int32_t>(vocabulary.size())) {
    std::deque<JsonText> documents;
    const auto read = [&](const char *name) -> std::optional<JsonView> {
        if (!has_file(folder / name)) return std::nullopt;
        return documents.emplace_back(text_of(folder / name), (folder / name).string()).root();
    };
    std::vector<JsonView> naming;
    if (const auto config = read("tokenizer_config.json")) naming.push_back(*config);
    if (!naming.empty() && naming.front().has("added_tokens_decoder")) {
        add_by_id(naming.front().at("added_tokens_decoder"), false);
    } else {
        if (const auto names = read("special_tokens_map.json")) naming.push_back(*names);
        if (const auto tokens = read("added_tokens.json")) add_by_id(*tokens, true);
    }
    read_names(naming, defaults);
}

// {"32000": {"content": "<pad>", ...}}, or {"<pad>": 32000} by name.
void SpecialTokens::add_by_id(JsonView tokens, bool by_name) {
    std::map<int32_t, JsonView> by_id;
    for (const JsonView token : tokens.members())
        by_id.emplace(by_name ? static_cast<int32_t>(token.integer(0, INT32_MAX - 1)) : id_of_listed(token), token);
    for (const auto &[id, token] : by_id) {
        const std::string content = by_name ? std::string(token.key()) : content_of(token);
        add(token_json(content, token, false), content, id);
        if (!by_name) described_.insert(content);
    }
}

// Later files count. Tokens without a purpose come last; a second list of them counts if the first file has none.
void SpecialTokens::read_names(const std::vector<JsonView> &files, const Defaults &defaults) {
    for (const char *purpose : purposes) {
        std::optional<JsonView> named;
        for (const JsonView file : files)
            for (const JsonView each : file.members())
                if (each.key() == purpose) named = each;
        const auto otherwise = std::ranges::find(defaults, std::string_view(purpose),
                                                 [](const auto &d) { return std::string_view(d.first); });
        if (named) {
            purposes_[purpose] = named->is_null() ? std::nullopt : std::optional(add_named(*named));
        } else if (otherwise != defaults.end()) {
            add(otherwise->second, true);
            purposes_[purpose] = otherwise->second;
        }
    }
    for (const JsonView file : files)
        for (const char *key : {"extra_special_tokens", "additional_special_tokens"})
            for (const JsonView each : file.members()) {
                if (each.key() != key || !each.is_list() || lists_others_) continue;
                lists_others_ = true;
                for (const JsonView token : each.items()) (void)add_named(token);
            }
}

// A token that a file calls special gets the next free id, if it has none yet.
std::string SpecialTokens::add_named(JsonView token) {
    std::string content = content_of(token);
    if (!token.is_string()) described_.insert(content);
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
    add(otherwise, true);
    return otherwise;
}

void SpecialTokens::add(const std::string &token, bool special) {
    if (ids_.contains(token)) return;
    const Json plain{{"id", nullptr},   {"content", token},    {"single_word", false}, {"lstrip", false},
                     {"rstrip", false}, {"normalized", false}, {"special", special}};
    add(plain, token, std::nullopt);
}

void SpecialTokens::take_space_before(const std::string &purpose) {
    const auto named = purposes_.find(purpose);
    if (named == purposes_.end() || !named->second || described_.contains(*named->second)) return;
    added_.at(ids_.at(*named->second))["lstrip"] = true;
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

std::string named_token(const std::filesystem::path &folder, const char *purpose) {
    std::string out;
    for (const char *name : {"tokenizer_config.json", "special_tokens_map.json"}) {
        if (!has_file(folder / name)) continue;
        const JsonText document(text_of(folder / name), (folder / name).string());
        const JsonView file = document.root();
        for (const JsonView token : file.members()) { // null, too, which names none
            if (token.key() != purpose) continue;
            out = token.is_null() ? "" : content_of(token);
        }
        if (file.has("added_tokens_decoder")) break;
    }
    return out;
}

} // namespace lamina::architectures
