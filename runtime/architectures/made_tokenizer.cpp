#include "architectures/made_tokenizer.hpp"

#include "architectures/config.hpp"
#include "architectures/special_tokens.hpp"
#include "base/json.hpp"
#include "tokenizer/reader.hpp"

#include <array>
#include <functional>
#include <sstream>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
using tokenizer::Vocabulary;

// tokenizer_config.json, or an object without keys.
class Settings {
  public:
    explicit Settings(const fs::path &folder)
        : document_(has_file(folder / "tokenizer_config.json") ? text_of(folder / "tokenizer_config.json") : "{}",
                    (folder / "tokenizer_config.json").string()),
          config_(document_.root()) {}
    const Config *operator->() const { return &config_; }

  private:
    JsonText document_;
    Config config_;
};

// The parts of a tokenizer.json.
struct Parts {
    std::string model; // as text, because a vocabulary is large
    Json normalizer = nullptr, pre_tokenizer = nullptr, post_processor = nullptr, decoder = nullptr;
    Json added_tokens = Json::array();

    [[nodiscard]] std::string text() const {
        std::string out = R"({"version":"1.0","truncation":null,"padding":null)";
        const std::pair<const char *, const Json *> parts[]{{"added_tokens", &added_tokens},
                                                            {"normalizer", &normalizer},
                                                            {"pre_tokenizer", &pre_tokenizer},
                                                            {"post_processor", &post_processor},
                                                            {"decoder", &decoder}};
        for (const auto &[key, part] : parts) out += ",\"" + std::string(key) + "\":" + part->in_one_line();
        return out + ",\"model\":" + model + "}";
    }
};

// ---- Post-processors ----

Json special(const std::string &token, int type) { return {{"SpecialToken", {{"id", token}, {"type_id", type}}}}; }
Json text(const char *which, int type) { return {{"Sequence", {{"id", which}, {"type_id", type}}}}; }

Json template_of(Json single, Json pair, const SpecialTokens &tokens, const std::vector<std::string> &used) {
    Json ids = Json::object();
    for (const std::string &token : used)
        ids[token] = Json{{"id", token}, {"ids", Json::array({tokens.id(token)})}, {"tokens", Json::array({token})}};
    return {{"type", "TemplateProcessing"},
            {"single", std::move(single)},
            {"pair", std::move(pair)},
            {"special_tokens", std::move(ids)}};
}

// A token before and after each text, where tokenizer_config.json asks for them.
Json framed(SpecialTokens &tokens, const Settings &options, const char *begin_token, const char *end_token,
            bool begins) {
    std::vector<std::string> used;
    const auto frame = [&](const char *key, const char *purpose, const char *otherwise, bool by_default) {
        const std::optional<std::string> token = tokens.find(purpose, otherwise);
        if (!options->flag(key, by_default) || !token) return std::string();
        used.push_back(*token);
        return *token;
    };
    const std::string begin = frame("add_bos_token", "bos_token", begin_token, begins),
                      end = frame("add_eos_token", "eos_token", end_token, false);
    const auto add = [&](Json &out, const char *which, int type) {
        if (!begin.empty()) out.push_back(special(begin, type));
        out.push_back(text(which, type));
        if (!end.empty()) out.push_back(special(end, type));
    };
    Json single = Json::array(), pair = Json::array();
    add(single, "A", 0), add(pair, "A", 0), add(pair, "B", 1);
    return template_of(std::move(single), std::move(pair), tokens, used);
}

// ---- vocab.txt: WordPiece (transformers, tokenization_bert.py) ----

// One token a line; its number, from 0, is the id. A later line of the same token counts.
std::map<std::string, int64_t> lines_of(const fs::path &file) {
    std::map<std::string, int64_t> out;
    std::istringstream lines(text_of(file));
    int64_t id = 0;
    for (std::string line; std::getline(lines, line); ++id) {
        line.erase(line.find_last_not_of(" \t\r\v\f") + 1);
        if (!line.empty()) out[line] = id;
    }
    return out;
}

Parts bert(const fs::path &folder, const Settings &options) {
    Vocabulary vocabulary;
    std::string entries;
    for (const auto &[token, id] : lines_of(folder / "vocab.txt")) {
        vocabulary.add(token, id);
        entries += (entries.empty() ? "" : ",") + json_string(token) + ":" + std::to_string(id);
    }
    SpecialTokens tokens(folder, vocabulary);
    const std::string unknown = tokens.at("unk_token", "[UNK]"), begin = tokens.at("cls_token", "[CLS]"),
                      end = tokens.at("sep_token", "[SEP]");
    (void)tokens.find("pad_token", "[PAD]"), (void)tokens.find("mask_token", "[MASK]");
    Parts out;
    out.model = R"({"type":"WordPiece","unk_token":)" + json_string(unknown) +
                R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" + entries + "}}";
    const bool lowercase = options->flag("do_lower_case", true);
    out.normalizer = {{"type", "BertNormalizer"},
                      {"clean_text", true},
                      {"handle_chinese_chars", options->flag("tokenize_chinese_chars", true)},
                      {"strip_accents", options->flag("strip_accents", lowercase)},
                      {"lowercase", lowercase}};
    out.pre_tokenizer = {{"type", "BertPreTokenizer"}};
    out.decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
    out.post_processor =
        template_of(Json::array({special(begin, 0), text("A", 0), special(end, 0)}),
                    Json::array({special(begin, 0), text("A", 0), special(end, 0), text("B", 1), special(end, 1)}),
                    tokens, {begin, end});
    out.added_tokens = tokens.json();
    return out;
}

// ---- vocab.json and merges.txt: byte-level BPE (tokenization_gpt2.py, _roberta.py, _qwen2.py) ----

constexpr const char *qwen2_words = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)"
                                    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string merges_of(const fs::path &file) {
    std::string out;
    std::istringstream lines(text_of(file));
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty() || line.starts_with("#version")) continue;
        out += (out.empty() ? "" : ",") + json_string(line);
    }
    return out;
}

Json byte_level(bool prefixed, bool splits) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", prefixed}, {"trim_offsets", true}, {"use_regex", splits}};
}

Json roberta_processor(SpecialTokens &tokens, bool prefixed, bool trims) {
    const std::string begin = tokens.at("cls_token", "<s>"), end = tokens.at("sep_token", "</s>");
    return {{"type", "RobertaProcessing"},
            {"sep", Json::array({end, tokens.id(end)})},
            {"cls", Json::array({begin, tokens.id(begin)})},
            {"trim_offsets", trims},
            {"add_prefix_space", prefixed}};
}

Parts byte_level_bpe(const fs::path &folder, const Settings &options, const std::string &kind) {
    const std::string vocabulary_text = text_of(folder / "vocab.json");
    const JsonText document(std::string(vocabulary_text), (folder / "vocab.json").string());
    const Vocabulary vocabulary = tokenizer::read_vocabulary(document.root());
    SpecialTokens tokens(folder, vocabulary);
    const bool prefixed = options->flag("add_prefix_space", false);
    Parts out;
    out.model =
        R"({"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"","end_of_word_suffix":"",)"
        R"("fuse_unk":false,"byte_fallback":false,"vocab":)" +
        vocabulary_text + ",\"merges\":[" + merges_of(folder / "merges.txt") + "]}";
    out.pre_tokenizer = byte_level(prefixed, true);
    out.decoder = byte_level(true, true);
    if (kind == "roberta") {
        for (const char *purpose : {"bos_token", "cls_token"}) (void)tokens.find(purpose, "<s>");
        for (const char *purpose : {"eos_token", "sep_token"}) (void)tokens.find(purpose, "</s>");
        (void)tokens.find("unk_token", "<unk>"), (void)tokens.find("pad_token", "<pad>");
        (void)tokens.find("mask_token", "<mask>");
        out.post_processor = roberta_processor(tokens, prefixed, options->flag("trim_offsets", true));
    } else {
        constexpr const char *end = "<|endoftext|>";
        for (const char *purpose : {"eos_token", "unk_token"}) (void)tokens.find(purpose, end);
        out.post_processor = framed(tokens, options, kind == "qwen2" ? nullptr : end, end, false);
    }
    if (kind == "qwen2") {
        (void)tokens.find("pad_token", "<|endoftext|>");
        out.normalizer = {{"type", "NFC"}};
        const Json words{
            {"type", "Split"}, {"pattern", {{"Regex", qwen2_words}}}, {"behavior", "Isolated"}, {"invert", false}};
        out.pre_tokenizer = {{"type", "Sequence"},
                             {"pretokenizers", Json::array({words, byte_level(prefixed, false)})}};
    }
    out.added_tokens = tokens.json();
    return out;
}

// The kind of byte-level BPE: that of the class ("RobertaTokenizerFast"), or else that of the model.
std::string bpe_kind(const Settings &options, const std::string &model_type) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> classes{{{"GPT2Tokenizer", "gpt2"},
                                                                                    {"RobertaTokenizer", "roberta"},
                                                                                    {"Qwen2Tokenizer", "qwen2"},
                                                                                    {"WhisperTokenizer", "gpt2"}}};
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> types{
        {{"gpt2", "gpt2"}, {"opt", "gpt2"}, {"qwen2", "qwen2"}, {"qwen3", "qwen2"}, {"roberta", "roberta"}}};
    const std::string name = options->text("tokenizer_class", "");
    for (const auto &[begin, kind] : classes)
        if (name.starts_with(begin)) return std::string(kind);
    for (const auto &[type, kind] : types)
        if (model_type == type) return std::string(kind);
    return "gpt2";
}

} // namespace

std::optional<std::string> made_tokenizer(const fs::path &folder, const std::string &model_type) {
    const Settings options(folder);
    if (has_file(folder / "vocab.txt")) return bert(folder, options).text();
    if (has_file(folder / "vocab.json") && has_file(folder / "merges.txt"))
        return byte_level_bpe(folder, options, bpe_kind(options, model_type)).text();
    return std::nullopt;
}

} // namespace lamina::architectures
