#include "architectures/speech_labels.hpp"

#include "architectures/config.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

using TokensById = std::map<int64_t, std::string>; // id -> token

// A file of JSON that may be missing.
class OptionalFile {
  public:
    explicit OptionalFile(const fs::path &file) {
        if (!has_file(file)) return;
        text_.emplace(text_of(file), file.string());
        config_.emplace(text_->root());
    }
    [[nodiscard]] const Config *get() const { return config_ ? &*config_ : nullptr; }

  private:
    std::optional<JsonText> text_;
    std::optional<Config> config_;
};

// "<pad>", or {"content": "<pad>", ...}; none: null.
std::optional<std::string> token_at(const Config &config, const char *key) {
    const auto value = config.find(key);
    if (!value) return std::nullopt;
    return std::string(value->is_object() ? value->at("content").string() : value->string());
}

void add(TokensById &names, int64_t id, std::string_view token, JsonView place) {
    if (!names.emplace(id, token).second)
        place.fail("the id " + std::to_string(id) + " is given twice; expected one token for each id");
}

// {"a": 5, ...}, not {"deu": {"a": 5, ...}, ...} as files for several languages have it.
TokensById vocabulary_of(const fs::path &file) {
    const JsonText text(text_of(file), file.string());
    TokensById out;
    for (const JsonView id : text.root().members()) {
        if (id.is_object())
            id.fail("a vocabulary for each language is not supported; expected ids of characters, as in {\"a\": 5}");
        add(out, id.integer(0, INT32_MAX), id.key(), id);
    }
    return out;
}

// The tokenizer of a folder, as transformers loads it (tokenization_utils_base.py, _from_pretrained).
class CtcTokenizer {
  public:
    explicit CtcTokenizer(const fs::path &folder)
        : settings_(folder / "tokenizer_config.json"), map_(folder / "special_tokens_map.json"),
          vocabulary_(vocabulary_of(folder / "vocab.json")) {
        refuse_others();
        read_added(folder / "added_tokens.json");
        unknown_ = special("unk_token", "<unk>").value_or("");
    }

    // By id; those that no file has are unknown.
    [[nodiscard]] std::vector<std::string> labels(int64_t count) const {
        TokensById added = added_;
        int64_t next = distinct();
        for (const auto &[key, usual] : specials) { // those that are neither, behind both, whatever is there
            const auto token = special(key, usual);
            if (!token || token->empty() || is_known(*token, vocabulary_) || is_known(*token, added_)) continue;
            added[next++] = *token;
        }
        TokensById names = vocabulary_;
        names.insert(added.begin(), added.end()); // where both have an id, the vocabulary counts
        std::vector<std::string> out;
        for (int64_t id = 0; id < count; ++id) {
            const auto found = names.find(id);
            out.push_back(found == names.end() ? unknown_ : found->second);
        }
        return out;
    }

    [[nodiscard]] std::optional<std::string> special(const char *key, const char *otherwise) const {
        const Config *const settings = settings_.get(), *const map = lists_added() ? nullptr : map_.get();
        for (const Config *const config : {map, settings}) // the first that states it counts
            if (config != nullptr && config->states(key)) return token_at(*config, key);
        return otherwise;
    }
    [[nodiscard]] bool flag(const char *key) const {
        return settings_.get() != nullptr && settings_.get()->flag(key, false);
    }
    [[nodiscard]] std::string text(const char *key, const char *otherwise) const {
        return settings_.get() == nullptr ? otherwise : settings_.get()->text(key, otherwise);
    }

  private:
    // In the order in which transformers adds those that the vocabulary lacks.
    static constexpr std::array<std::pair<const char *, const char *>, 5> specials{{
        {"bos_token", "<s>"},
        {"eos_token", "</s>"},
        {"unk_token", "<unk>"},
        {"pad_token", "<pad>"},
        {"word_delimiter_token", "|"},
    }};

    OptionalFile settings_, map_;
    TokensById vocabulary_, added_;
    std::string unknown_;

    // Whether tokenizer_config.json lists added tokens; older files have other files for that.
    [[nodiscard]] bool lists_added() const {
        return settings_.get() != nullptr && settings_.get()->states("added_tokens_decoder");
    }

    void refuse_others() const {
        const Config *const settings = settings_.get();
        if (settings == nullptr) return;
        const std::string name = settings->text("tokenizer_class", "Wav2Vec2CTCTokenizer");
        if (name != "Wav2Vec2CTCTokenizer" && name != "Wav2Vec2Tokenizer")
            settings->fail("tokenizer_class", in_quotes(name) + " is not supported for a model that writes characters; "
                                                                "supported: Wav2Vec2CTCTokenizer");
        if (settings->has("target_lang"))
            settings->fail("target_lang", "a vocabulary for each language is not supported; expected null");
    }

    void read_added(const fs::path &older) {
        if (lists_added()) {
            const auto listed = settings_.get()->find("added_tokens_decoder");
            if (!listed) return;
            for (const JsonView token : listed->members()) {
                int64_t id = -1;
                const std::string_view key = token.key();
                const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
                if (error != std::errc() || end != key.data() + key.size() || id < 0)
                    token.fail("expected an id as the key of each token, found " + in_quotes(key));
                add(added_, id, token.at("content").string(), token);
            }
        } else if (has_file(older)) {
            const JsonText text(text_of(older), older.string());
            for (const JsonView id : text.root().members()) add(added_, id.integer(0, INT32_MAX), id.key(), id);
        }
    }

    static bool is_known(const std::string &token, const TokensById &names) {
        return std::ranges::any_of(names, [&](const auto &each) { return each.second == token; });
    }
    // How many different tokens there are.
    [[nodiscard]] int64_t distinct() const {
        return static_cast<int64_t>(vocabulary_.size()) +
               std::ranges::count_if(added_, [&](const auto &each) { return !is_known(each.second, vocabulary_); });
    }
};

} // namespace

SpeechLabels read_speech_labels(const fs::path &folder, int64_t count) {
    const CtcTokenizer tokenizer(folder);
    SpeechLabels out{.labels = tokenizer.labels(count),
                     .blank = tokenizer.special("pad_token", "<pad>").value_or(""),
                     // Release 5.24 of transformers takes no other from a file than "|"; releases before 5 do.
                     .delimiter = tokenizer.special("word_delimiter_token", "|").value_or(""),
                     .space = tokenizer.text("replace_word_delimiter_char", " "),
                     .lowercase = tokenizer.flag("do_lower_case"),
                     .clean_up = tokenizer.flag("clean_up_tokenization_spaces")};
    if (out.blank.empty() || std::ranges::find(out.labels, out.blank) == out.labels.end())
        throw Error(ErrorCode::input, (folder / "vocab.json").string() + ": the token " + in_quotes(out.blank) +
                                          ", which stands for nothing between characters (pad_token), is none of the " +
                                          std::to_string(count) + " that the model scores");
    return out;
}

} // namespace lamina::architectures
