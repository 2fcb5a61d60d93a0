#include "architectures/token_vectors.hpp"

#include "architectures/config.hpp"
#include "architectures/sentence_modules.hpp"
#include "base/utf8.hpp"

#include <algorithm>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
using enum TokenVectorFormat;

constexpr std::string_view punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"; // Python's string.punctuation

// Tokens that follow a short query.
struct Expansion {
    int64_t length = 32;
    bool attended = false; // tokens of the text see them
    bool longest = true;   // no query is longer
    std::string token = {};
};

struct RoleSettings {
    std::optional<int64_t> longest = {};
    std::string prompt = {};
    std::string marked_by = {}; // the beginning of the prompt, if it stands for a token that texts never have
    bool skips = false;
};

struct BothRoles {
    RoleSettings query, document{.skips = true};
    std::optional<Expansion> expansion = {};
    std::vector<std::string> skipped = {};
    bool mean = false;
};

// A file of the folder as JSON; null: it is not there.
class File {
  public:
    explicit File(const fs::path &file) {
        if (has_file(file)) text_.emplace(text_of(file), file.string());
        if (text_) config_.emplace(text_->root());
    }
    File(const File &) = delete; // `config_` refers to `text_`
    File &operator=(const File &) = delete;
    explicit operator bool() const { return config_.has_value(); }
    const Config &operator*() const { return *config_; }
    const Config *operator->() const { return &*config_; }

  private:
    std::optional<JsonText> text_;
    std::optional<Config> config_;
};

File sentence_settings(const fs::path &folder) { return File(folder / "config_sentence_transformers.json"); }

std::vector<std::string> punctuation_marks() {
    std::vector<std::string> out;
    for (const char each : punctuation) out.emplace_back(1, each);
    return out;
}

// Settings of PyLate in config_sentence_transformers.json.
constexpr std::array pylate_keys{
    "query_prefix",          "document_prefix",    "query_length",  "document_length", "attend_to_expansion_tokens",
    "attend_to_mask_tokens", "do_query_expansion", "skiplist_words"};

bool has_settings_of_pylate(const Config &config) {
    return std::ranges::any_of(pylate_keys, [&](const char *key) { return config.states(key); });
}

Expansion expansion_at(const Config &config) {
    Expansion out{.length = config.positive("length"), .attended = config.flag("attend", false)};
    const std::string strategy = config.text("strategy");
    if (strategy != "fixed" && strategy != "min")
        config.fail("strategy", "expected fixed or min, found " + in_quotes(strategy));
    out.longest = strategy == "fixed";
    out.token = config.text("token", "");
    config.finish();
    return out;
}

// An object, or null for queries that nothing follows.
std::optional<Expansion> expansion_in(const Config &config) {
    const auto value = config.object("query_expansion");
    return value ? std::optional(expansion_at(*value)) : std::nullopt;
}

// PyLate's own settings beside the prompts, which its newer versions leave to the modules.
void read_pylate(const Config &config, BothRoles &both) {
    for (const auto &[key, role] : {std::pair("query_prefix", &both.query), {"document_prefix", &both.document}}) {
        if (!config.has(key)) continue;
        role->marked_by = config.text(key);
        if (role->prompt.starts_with(role->marked_by)) role->prompt.erase(0, role->marked_by.size());
        role->prompt = role->marked_by + role->prompt;
    }
    both.query.longest = config.optional_integer("query_length");
    both.document.longest = config.optional_integer("document_length");
    if (config.states("query_expansion")) {
        both.expansion = expansion_in(config);
    } else if (has_settings_of_pylate(config) && config.flag("do_query_expansion", true)) {
        const bool attended = config.flag("attend_to_expansion_tokens", config.flag("attend_to_mask_tokens", false));
        both.expansion = Expansion{.length = both.query.longest.value_or(32), .attended = attended};
    }
}

// The settings of Stanford's programs.
void read_stanford(const fs::path &folder, BothRoles &both) {
    const File file(folder / "artifact.metadata");
    const auto text = [&](const char *key, const char *otherwise) {
        return file ? file->text(key, otherwise) : otherwise;
    };
    both.query.marked_by = text("query_token_id", "[unused0]");
    both.document.marked_by = text("doc_token_id", "[unused1]");
    for (RoleSettings *role : {&both.query, &both.document})
        if (role->prompt.empty()) role->prompt = role->marked_by + " ";
    if (file) both.document.longest = file->optional_integer("doc_maxlen");
    both.expansion = Expansion{.length = file ? file->integer("query_maxlen", 32) : 32,
                               .attended = file && file->flag("attend_to_mask_tokens", false)};
    if (!file || file->flag("mask_punctuation", true)) both.skipped = punctuation_marks();
}

// What the modules of sentence-transformers say, which counts more.
void read_modules(const fs::path &folder, BothRoles &both) {
    if (const File file(folder / "sentence_bert_config.json"); file) {
        if (file->states("query_length")) both.query.longest = file->optional_integer("query_length");
        if (file->states("document_length")) both.document.longest = file->optional_integer("document_length");
        if (file->states("query_expansion")) both.expansion = expansion_in(*file);
    }
    for (const SentenceModule &module : sentence_modules_in(folder)) {
        if (module.kind != "MultiVectorMask") continue;
        const File file(module.folder / "config.json");
        if (!file) continue;
        both.skipped = file->texts("skiplist_words");
        if (const auto tokens = file->find("keep_only_token_ids"); tokens && tokens->items().size() != 0)
            tokens->fail("vectors of some tokens alone, as of images, are not supported; expected null");
        if (const auto given = file->find("skiplist_tasks")) {
            const auto tasks =
                given->is_string() ? std::vector{std::string(given->string())} : file->texts("skiplist_tasks");
            both.query.skips = std::ranges::find(tasks, "query") != tasks.end();
            both.document.skips = std::ranges::find(tasks, "document") != tasks.end();
        }
        file->finish();
    }
}

BothRoles read_roles(const fs::path &folder) {
    BothRoles out;
    const TokenVectorFormat format = token_vector_format(folder);
    const Prompts prompts = read_prompts(folder);
    for (const auto &[name, role] : {std::pair("query", &out.query), {"document", &out.document}})
        if (const auto found = prompts.texts.find(name); found != prompts.texts.end()) role->prompt = found->second;
    if (format == pylate) out.skipped = punctuation_marks();
    if (format == stanford) read_stanford(folder, out);
    if (const File file = sentence_settings(folder); file) {
        if (format != stanford) read_pylate(*file, out);
        if (file->has("skiplist_words")) out.skipped = file->texts("skiplist_words");
        out.mean = file->text("similarity_fn_name", "") == "meanmaxsim";
    }
    read_modules(folder, out);
    return out;
}

// A mark that the tokenizer knows, but would take to pieces in a text, is a token of its own; what follows stays text.
void add_prompt(const RoleSettings &role, const Tokenizer &tokenizer, Json &out) {
    std::string name = role.marked_by;
    if (!name.empty() && !tokenizer.id(name)) name = name.substr(0, name.find(' '));
    const auto id = name.empty() ? std::nullopt : tokenizer.id(name);
    const bool is_text = !id || tokenizer.encode(name, {.add_special_tokens = false}).ids == std::vector<int32_t>{*id};
    if (!is_text) out["mark"] = *id;
    const std::string prompt = is_text ? role.prompt : role.prompt.substr(name.size());
    if (!prompt.empty()) out["prompt"] = prompt;
}

// A length of its own counts more than the tokenizer's, but not more than the positions that the model has.
Json role_block(const RoleSettings &role, const BothRoles &both, const TextSettings &texts) {
    const Tokenizer &tokenizer = *texts.tokenizer;
    Json out{{"longest", std::min(role.longest.value_or(texts.context), texts.positions)}};
    add_prompt(role, tokenizer, out);
    if (!role.skips) return out;
    std::vector<int32_t> left_out;
    for (const std::string &word : both.skipped)
        if (const auto id = tokenizer.id(word)) left_out.push_back(*id);
    if (!left_out.empty()) out["left_out"] = left_out;
    return out;
}

} // namespace

TokenVectorFormat token_vector_format(const fs::path &folder) {
    const std::vector<SentenceModule> modules = sentence_modules_in(folder);
    for (const SentenceModule &module : modules)
        if (module.kind == "MultiVectorMask") return sentence_transformers;
    if (const File file = sentence_settings(folder); file) {
        const std::string type = file->text("model_type", "");
        if (type == "MultiVectorEncoder") return sentence_transformers;
        if (type == "ColBERT" || (type.empty() && !modules.empty() && has_settings_of_pylate(*file))) return pylate;
    }
    const File file(folder / "config.json");
    if (!modules.empty() || !file) return none;
    const auto classes = file->find("architectures");
    if (!classes || !classes->is_list()) return none;
    for (const JsonView name : classes->items())
        if (name.is_string() && name.string() == "HF_ColBERT") return stanford;
    return none;
}

void add_token_vector_roles(const Draft &draft, Json &reading) {
    const TextSettings &texts = *draft.texts;
    const BothRoles both = read_roles(draft.folder);
    Json query = role_block(both.query, both, texts);
    if (both.expansion) {
        const Expansion &expansion = *both.expansion;
        const std::string &token = expansion.token.empty() ? texts.mask : expansion.token;
        const auto id = texts.tokenizer->id(token);
        if (!id)
            throw Error(ErrorCode::input, draft.folder.string() + ": queries are filled with the token " +
                                              in_quotes(token.empty() ? "[MASK]" : token) +
                                              ", which the tokenizer does not have");
        const int64_t length = std::min(expansion.length, texts.positions);
        query["fill"] = {{"length", length}, {"id", *id}, {"counted", expansion.attended}};
        const int64_t longest = std::min(both.query.longest.value_or(texts.context), texts.positions);
        query["longest"] = expansion.longest ? length : std::max(length, longest);
    }
    reading["longest"] = texts.positions;
    reading["query"] = std::move(query);
    reading["document"] = role_block(both.document, both, texts);
    if (both.mean) reading["mean_score"] = true;
}

} // namespace lamina::architectures
