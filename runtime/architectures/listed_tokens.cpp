#include "architectures/listed_tokens.hpp"

#include "architectures/config.hpp"
#include "architectures/special_tokens.hpp"
#include "base/json.hpp"
#include "tokenizer/parts.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

using tokenizer::AddedToken;

// The contents that a file names for a purpose, or as special.
void add_names(JsonView file, std::set<std::string, std::less<>> &out) {
    for (const JsonView each : file.members()) {
        const std::string_view key = each.key();
        if (each.is_null()) continue;
        if (key.ends_with("_token") && (each.is_string() || each.is_object())) out.insert(content_of(each));
        if ((key == "additional_special_tokens" || key == "extra_special_tokens") && each.is_list())
            for (const JsonView token : each.items()) out.insert(content_of(token));
    }
}

// By id.
std::map<int64_t, AddedToken> listed_in(const fs::path &folder, bool &whole) {
    std::map<int64_t, AddedToken> out;
    std::set<std::string, std::less<>> special;
    const auto read = [&](const char *name, const auto &use) {
        if (!has_file(folder / name)) return;
        const JsonText document(text_of(folder / name), (folder / name).string());
        use(document.root());
    };
    read("tokenizer_config.json", [&](JsonView root) {
        add_names(root, special);
        whole = root.has("added_tokens_decoder");
        if (!whole) return;
        for (const JsonView each : root.at("added_tokens_decoder").members()) {
            const int32_t id = id_of_listed(each);
            const auto flag = [&](const char *name, bool otherwise) {
                return each.has(name) ? each.at(name).boolean() : otherwise;
            };
            AddedToken token{id, content_of(each)};
            token.special = flag("special", false) || special.contains(token.content);
            token.single_word = flag("single_word", false), token.lstrip = flag("lstrip", false);
            token.rstrip = flag("rstrip", false), token.normalized = flag("normalized", !token.special);
            out.emplace(id, std::move(token));
        }
    });
    if (whole) return out;
    read("special_tokens_map.json", [&](JsonView root) { add_names(root, special); });
    read("added_tokens.json", [&](JsonView root) {
        for (const JsonView each : root.members()) {
            AddedToken token{static_cast<int32_t>(each.integer(0, INT32_MAX - 1)), std::string(each.key())};
            token.special = special.contains(token.content), token.normalized = !token.special;
            out.emplace(token.id, std::move(token));
        }
    });
    return out;
}

bool same_token(const AddedToken &a, const AddedToken &b) {
    return a.id == b.id && a.content == b.content && a.single_word == b.single_word && a.lstrip == b.lstrip &&
           a.rstrip == b.rstrip && a.normalized == b.normalized && a.special == b.special;
}

Json json_of(const AddedToken &token) {
    return {{"id", token.id},          {"content", token.content}, {"single_word", token.single_word},
            {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", token.normalized},
            {"special", token.special}};
}

} // namespace

Tokenizer with_listed_tokens(const Tokenizer &tokenizer, const fs::path &folder, int64_t rows) {
    const Tokenizer::Parts &parts = tokenizer.parts();
    std::vector<AddedToken> tokens = parts.added.all();
    int32_t next = parts.model->count();
    for (const AddedToken &each : tokens) next = std::max(next, each.id + 1);
    bool whole = false; // flags of tokens that tokenizer.json has are replaced, too
    bool changed = std::erase_if(tokens, [&](const AddedToken &each) { return each.id >= rows; }) != 0;
    for (const auto &[id, token] : listed_in(folder, whole)) {
        const auto known = std::ranges::find(tokens, token.content, &AddedToken::content);
        if (known != tokens.end()) {
            if (!whole || known->id != id || same_token(*known, token)) continue;
            *known = token;
        } else {
            const std::optional<int32_t> own = parts.model->id(token.content);
            if (id >= rows || token.content.empty() || id != own.value_or(next)) continue;
            if (!own) ++next;
            tokens.push_back(token);
        }
        changed = true;
    }
    if (!changed) return tokenizer;
    auto out = std::make_shared<Tokenizer::Parts>(parts);
    try {
        out->added = tokenizer::AddedTokens(std::move(tokens), parts.normalizer);
    } catch (const Error &) { // two match the same text
        return tokenizer;
    }
    return Tokenizer(std::move(out));
}

std::optional<std::string> with_tokens_of(const Tokenizer &tokenizer, std::string_view json, const std::string &file) {
    const Tokenizer own = Tokenizer::parse(json, file);
    const std::vector<AddedToken> &before = own.parts().added.all(), &now = tokenizer.parts().added.all();
    if (std::ranges::equal(before, now, same_token)) return std::nullopt;
    Json list = Json::array();
    for (const AddedToken &each : now) list.push_back(json_of(each));
    const JsonText document(std::string(json), file);
    std::string out = "{\"added_tokens\":" + list.in_one_line();
    for (const JsonView each : document.root().members())
        if (each.key() != "added_tokens") out += ",\"" + std::string(each.key()) + "\":" + std::string(each.written());
    return out + "}";
}

} // namespace lamina::architectures
