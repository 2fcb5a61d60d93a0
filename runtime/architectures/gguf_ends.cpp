#include "architectures/gguf_ends.hpp"

#include "tokenizer/gguf.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace lamina::architectures {
namespace {

// Words of texts about HTML, unless the file says that they are marks.
constexpr std::array<std::string_view, 2> names_if_marks{"</s>", "<eos>"};

// What tokenizer.ggml.token_type calls a control token, and a user-defined one.
constexpr int64_t mark = 3, defined_by_users = 4;

// Of models that fill in the middle of code: what comes behind it, as files name it, or else as tokens are called. Only
// the first of a vocabulary counts.
struct Filled {
    const char *key;
    std::array<std::string_view, 5> names;
};
constexpr std::array<Filled, 3> behind_filled{{
    {"fim_pad_token_id", {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
    {"fim_rep_token_id", {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
    {"fim_sep_token_id", {"<|file_sep|>"}},
}};

// The end of a text for kinds of tokenizers whose files need not name it.
constexpr std::array<std::pair<std::string_view, int64_t>, 2> usual_ends{{{"llama", 2}, {"t5", 1}}};

std::string key_of(std::string_view name) { return "tokenizer.ggml." + std::string(name); }

bool is_named(std::string_view token, std::span<const int64_t> types, size_t id) {
    if (tokenizer::is_called_an_end(token)) return true;
    return id < types.size() && types[id] == mark && std::ranges::find(names_if_marks, token) != names_if_marks.end();
}

} // namespace

std::vector<int64_t> end_tokens_of(const model::GgufMetadata &metadata) {
    std::vector<int64_t> out;
    const auto add = [&](int64_t id) {
        if (std::ranges::find(out, id) == out.end()) out.push_back(id);
    };
    for (const char *name : {"eos_token_id", "eot_token_id", "eom_token_id"})
        if (metadata.has(key_of(name))) add(metadata.at(key_of(name)).integer());
    if (!metadata.has(key_of("tokens"))) return out;
    const std::span<const std::string_view> tokens = metadata.at(key_of("tokens")).strings();
    if (!metadata.has(key_of("eos_token_id")) && metadata.has(key_of("model")))
        for (const auto &[kind, id] : usual_ends)
            if (metadata.at(key_of("model")).string() == kind && static_cast<size_t>(id) < tokens.size()) add(id);
    const std::vector<int64_t> types =
        metadata.has(key_of("token_type")) ? metadata.at(key_of("token_type")).integers() : std::vector<int64_t>();
    std::map<std::string_view, int64_t> found;
    for (size_t id = 0; id < tokens.size(); ++id)
        if (is_named(tokens[id], types, id)) found.emplace(tokens[id], static_cast<int64_t>(id));
    for (const Filled &each : behind_filled) {
        if (metadata.has(key_of(each.key))) {
            add(metadata.at(key_of(each.key)).integer());
            continue;
        }
        for (size_t id = 0; id < tokens.size() && id < types.size(); ++id)
            if ((types[id] == mark || types[id] == defined_by_users) && !tokens[id].empty() &&
                std::ranges::find(each.names, tokens[id]) != each.names.end()) {
                add(static_cast<int64_t>(id));
                break;
            }
    }
    // Where messages end with other tokens, this one only ends a part of them (gpt-oss, Solar Open).
    if ((found.contains("<|return|>") && found.contains("<|call|>")) ||
        (found.contains("<|flush|>") && found.contains("<|calls|>")))
        found.erase("<|end|>");
    for (const auto &[token, id] : found) add(id);
    return out;
}

} // namespace lamina::architectures
