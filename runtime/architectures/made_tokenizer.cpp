#include "architectures/made_tokenizer.hpp"

#include "architectures/rwkv_tokenizer.hpp"
#include "architectures/sentencepiece_parts.hpp"
#include "architectures/tokenizer_parts.hpp"
#include "architectures/translator_tokenizer.hpp"
#include "tokenizer/reader.hpp"

#include <array>
#include <map>
#include <sstream>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
using tokenizer::Vocabulary;

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

TokenizerParts bert(const fs::path &folder, const TokenizerSettings &options) {
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
    TokenizerParts out;
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
    out.post_processor = begun_and_ended(tokens, begin, end);
    out.added_tokens = tokens.json();
    return out;
}

// ---- vocab.txt: amino acids, each of which is found wherever it stands (tokenization_esm.py) ----

TokenizerParts esm(const fs::path &folder) {
    const std::map<std::string, int64_t> lines = lines_of(folder / "vocab.txt");
    Vocabulary vocabulary;
    std::string entries;
    for (const auto &[token, id] : lines) {
        vocabulary.add(token, id);
        entries += (entries.empty() ? "" : ",") + json_string(token) + ":" + std::to_string(id);
    }
    SpecialTokens tokens(folder, vocabulary);
    const std::string unknown = tokens.at("unk_token", "<unk>"), begin = tokens.at("cls_token", "<cls>"),
                      end = tokens.at("eos_token", "<eos>");
    (void)tokens.find("pad_token", "<pad>"), (void)tokens.find("mask_token", "<mask>");
    for (const auto &[token, id] : lines) tokens.add(token, false);
    TokenizerParts out;
    out.model = R"({"type":"WordLevel","unk_token":)" + json_string(unknown) + R"(,"vocab":{)" + entries + "}}";
    out.pre_tokenizer = {{"type", "WhitespaceSplit"}};
    out.post_processor = begun_and_ended(tokens, begin, end);
    out.added_tokens = tokens.json();
    return out;
}

// ---- vocab.json and merges.txt: byte-level BPE (tokenization_gpt2.py, _roberta.py, _deberta.py, _qwen2.py) ----

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

TokenizerParts byte_level_bpe(const fs::path &folder, const TokenizerSettings &options, const std::string &kind) {
    const std::string vocabulary_text = text_of(folder / "vocab.json");
    const JsonText document(std::string(vocabulary_text), (folder / "vocab.json").string());
    const Vocabulary vocabulary = tokenizer::read_vocabulary(document.root());
    SpecialTokens tokens(folder, vocabulary);
    const bool prefixed = options->flag("add_prefix_space", kind == "layoutlmv3");
    TokenizerParts out;
    out.model =
        R"({"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"","end_of_word_suffix":"",)"
        R"("fuse_unk":false,"byte_fallback":false,"vocab":)" +
        vocabulary_text + ",\"merges\":[" + merges_of(folder / "merges.txt") + "]}";
    out.pre_tokenizer = byte_level(prefixed, true);
    out.decoder = byte_level(true, true);
    if (kind == "roberta" || kind == "layoutlmv3") {
        for (const char *purpose : {"bos_token", "cls_token"}) (void)tokens.find(purpose, "<s>");
        for (const char *purpose : {"eos_token", "sep_token"}) (void)tokens.find(purpose, "</s>");
        (void)tokens.find("unk_token", "<unk>"), (void)tokens.find("pad_token", "<pad>");
        (void)tokens.find("mask_token", "<mask>");
        out.post_processor = roberta_processor(tokens, prefixed, options->flag("trim_offsets", true));
    } else if (kind == "deberta") {
        (void)tokens.find("bos_token", "[CLS]"), (void)tokens.find("eos_token", "[SEP]");
        for (const auto &[purpose, token] :
             {std::pair{"unk_token", "[UNK]"}, {"pad_token", "[PAD]"}, {"mask_token", "[MASK]"}})
            (void)tokens.find(purpose, token);
        const std::string begin = tokens.at("cls_token", "[CLS]"), end = tokens.at("sep_token", "[SEP]");
        const Json first = special_token(begin, 0), last = special_token(end, 0);
        out.post_processor = template_of(Json::array({first, sequence("A", 0), last}),
                                         Json::array({first, sequence("A", 0), last, last, sequence("B", 0), last}),
                                         tokens, {begin, end});
    } else {
        constexpr const char *end = "<|endoftext|>";
        for (const char *purpose : {"eos_token", "unk_token"}) (void)tokens.find(purpose, end);
        out.post_processor = framed(tokens, options, kind == "qwen2" ? nullptr : end, end);
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

// The kind of byte-level BPE: that of the class ("RobertaTokenizer"), or else that of the model.
std::string bpe_kind(const TokenizerSettings &options, const std::string &model_type) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> classes{
        {{"DebertaTokenizer", "deberta"},
         {"GPT2Tokenizer", "gpt2"},
         {"LayoutLMv3Tokenizer", "layoutlmv3"},
         {"LongformerTokenizer", "roberta"},
         {"RobertaTokenizer", "roberta"},
         {"Qwen2Tokenizer", "qwen2"},
         {"WhisperTokenizer", "gpt2"}}};
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> types{{{"deberta", "deberta"},
                                                                                  {"gpt2", "gpt2"},
                                                                                  {"layoutlmv3", "layoutlmv3"},
                                                                                  {"longformer", "roberta"},
                                                                                  {"opt", "gpt2"},
                                                                                  {"qwen2", "qwen2"},
                                                                                  {"qwen3", "qwen2"},
                                                                                  {"roberta", "roberta"}}};
    const std::string &name = options.class_name();
    for (const auto &[begin, kind] : classes)
        if (name.starts_with(begin)) return std::string(kind);
    for (const auto &[type, kind] : types)
        if (model_type == type) return std::string(kind);
    return "gpt2";
}

constexpr const char *first_steps = "pre_tokenizer", *space_flag = "add_prefix_space";

// Whether the steps before the model begin a text with a space; none: they do not say.
std::optional<bool> begins_with_space(JsonView file) {
    if (!file.has(first_steps) || !file.at(first_steps).is_object() || !file.at(first_steps).has(space_flag))
        return std::nullopt;
    return file.at(first_steps).at(space_flag).boolean();
}

// What comes before the model, which takes nearly all of the time to read, as an object of its own; "": these are not
// the steps before it.
std::string without_model(const std::string &text) {
    const size_t end = std::min(text.find("\"model\""), text.size()), comma = text.rfind(',', end);
    if (comma == std::string::npos) return "";
    std::string head = text.substr(0, comma) + "}";
    try {
        return JsonText(std::string(head), "").root().has(first_steps) ? head : "";
    } catch (const Error &) { // it was no key of the file itself
        return "";
    }
}

// Whether a text begins with a space is told by the class and by tokenizer_config.json, whatever tokenizer.json says
// (transformers 5: tokenization_gpt2.py and its kin; 4: tokenization_gpt2_fast.py).
std::optional<std::string> with_prefix_of_class(const fs::path &folder, const TokenizerSettings &options) {
    constexpr std::array<std::pair<std::string_view, bool>, 6> classes{{{"BartTokenizer", false},
                                                                        {"GPT2Tokenizer", false},
                                                                        {"LayoutLMv3Tokenizer", true},
                                                                        {"LongformerTokenizer", false},
                                                                        {"RobertaTokenizer", false},
                                                                        {"WhisperTokenizer", false}}};
    const auto known = std::ranges::find(classes, options.class_name(), [](const auto &each) { return each.first; });
    if (known == classes.end()) return std::nullopt;
    const bool prefixed = options->flag(space_flag, known->second);
    const fs::path path = folder / "tokenizer.json";
    const std::string text = text_of(path);
    if (const std::string head = without_model(text);
        !head.empty() &&
        begins_with_space(JsonText(std::string(head), path.string()).root()).value_or(prefixed) == prefixed)
        return std::nullopt;
    const JsonText document(std::string(text), path.string());
    const JsonView file = document.root();
    if (begins_with_space(file).value_or(prefixed) == prefixed) return std::nullopt;
    const auto changed = [&](JsonView part) {
        std::string out;
        for (const JsonView each : part.members())
            out += (out.empty() ? "{" : ",") + json_string(each.key()) + ":" +
                   (each.key() == space_flag ? (prefixed ? "true" : "false") : std::string(each.written()));
        return out + "}";
    };
    std::string out;
    for (const JsonView part : file.members())
        out += (out.empty() ? "{" : ",") + json_string(part.key()) + ":" +
               (part.is_object() && part.has(space_flag) ? changed(part) : std::string(part.written()));
    return out + "}";
}

} // namespace

std::optional<std::string> made_tokenizer(const fs::path &folder, const std::string &model_type) {
    const TokenizerSettings options(folder);
    if (has_file(folder / "tokenizer.json")) {
        if (auto translator = translator_tokenizer(folder, options, model_type)) return translator;
        return with_prefix_of_class(folder, options);
    }
    if (has_file(folder / "vocab.txt")) return (model_type == "esm" ? esm(folder) : bert(folder, options)).text();
    if (has_file(folder / "vocab.json") && has_file(folder / "merges.txt"))
        return byte_level_bpe(folder, options, bpe_kind(options, model_type)).text();
    if (const fs::path list = rwkv_vocabulary(folder); !list.empty()) return rwkv_tokenizer(list, options).text();
    if (const auto pieces = sentencepiece_parts(folder, options, model_type)) return pieces->text();
    return std::nullopt;
}

} // namespace lamina::architectures
