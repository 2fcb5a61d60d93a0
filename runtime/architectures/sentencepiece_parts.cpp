#include "architectures/sentencepiece_parts.hpp"

#include "base/utf8.hpp"
#include "tokenizer/base64.hpp"
#include "tokenizer/sentencepiece_file.hpp"
#include "tokenizer/vocabulary.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <set>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
using tokenizer::SentencePieceFile;
using tokenizer::Vocabulary;

constexpr const char *space = "\u2581"; // what SentencePiece writes for a space

using Pieces = std::vector<SentencePieceFile::Piece>;

// What all kinds of tokenizers are made of.
struct Source {
    const fs::path &folder;
    const TokenizerSettings &options;
    const SentencePieceFile &file;
};

Vocabulary vocabulary_of(const Pieces &pieces) {
    Vocabulary out;
    for (size_t i = 0; i < pieces.size(); ++i) out.add(pieces[i].text, static_cast<int64_t>(i));
    return out;
}

// The tokens of a class and of files; those of the model are others without a purpose, unless a file lists such.
// `user_defined`: also pieces of this kind.
SpecialTokens tokens_of(const Source &source, const Pieces &pieces, const Vocabulary &vocabulary,
                        const SpecialTokens::Defaults &defaults, bool user_defined = true) {
    SpecialTokens out(source.folder, vocabulary, defaults);
    if (out.lists_others()) return out;
    for (const SentencePieceFile::Piece &piece : pieces) {
        const bool control = piece.kind == SentencePieceFile::Kind::control;
        if (control || (user_defined && piece.kind == SentencePieceFile::Kind::user_defined))
            out.add(piece.text, control);
    }
    return out;
}

// ---- Models ----

// Two pieces are merged wherever they make a third, first those that make one with a low id (transformers,
// convert_slow_tokenizer.py, generate_merges).
std::string merges_of(const Pieces &pieces, const Vocabulary &vocabulary) {
    std::string out;
    for (const SentencePieceFile::Piece &piece : pieces) {
        const std::string_view text = piece.text;
        for (size_t at = utf8_length(text, 0); at < text.size(); at += utf8_length(text, at)) {
            const std::string_view left = text.substr(0, at), right = text.substr(at);
            if (vocabulary.id(left) && vocabulary.id(right))
                out += (out.empty() ? "[" : ",[") + json_string(left) + "," + json_string(right) + "]";
        }
    }
    return out;
}

// The same of normal pieces alone, first those that make one with a high score (build_tokenizer_from_spm_proto).
std::string merges_by_score(const Pieces &pieces) {
    Pieces normal;
    for (const SentencePieceFile::Piece &piece : pieces)
        if (piece.kind == SentencePieceFile::Kind::normal) normal.push_back(piece);
    const Vocabulary parts = vocabulary_of(normal);
    std::ranges::stable_sort(normal, std::greater(), &SentencePieceFile::Piece::score);
    return merges_of(normal, parts);
}

struct Bpe {
    std::string merges;
    Json unknown = nullptr;
    bool byte_fallback = true;
    bool whole_words = false; // that are pieces are not made of others
};
std::string bpe(const Pieces &pieces, const Bpe &options) {
    std::string entries;
    for (size_t i = 0; i < pieces.size(); ++i)
        entries += (i == 0 ? "" : ",") + json_string(pieces[i].text) + ":" + std::to_string(i);
    const auto flag = [](bool on) { return on ? "true" : "false"; };
    return R"({"type":"BPE","dropout":null,"unk_token":)" + options.unknown.in_one_line() +
           R"(,"fuse_unk":true,"byte_fallback":)" + flag(options.byte_fallback) + R"(,"ignore_merges":)" +
           flag(options.whole_words) + R"(,"vocab":{)" + entries + R"(},"merges":[)" + options.merges + "]}";
}

std::string unigram(const Pieces &pieces, int64_t unknown) {
    std::string entries;
    for (const SentencePieceFile::Piece &piece : pieces)
        entries += (entries.empty() ? "[" : ",[") + json_string(piece.text) + "," +
                   Json(double{piece.score}).in_one_line() + "]";
    return R"({"type":"Unigram","byte_fallback":false,"unk_id":)" + std::to_string(unknown) + R"(,"vocab":[)" +
           entries + "]}";
}

// ---- Steps ----

Json replace(const char *what, const char *by) {
    return {{"type", "Replace"}, {"pattern", {{"String", what}}}, {"content", by}};
}

Json decoder(bool byte_fallback, bool strips) {
    Json steps = Json::array({replace(space, " ")});
    if (byte_fallback) {
        steps.push_back({{"type", "ByteFallback"}});
        steps.push_back({{"type", "Fuse"}});
    }
    if (strips) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return {{"type", "Sequence"}, {"decoders", std::move(steps)}};
}

Json metaspace(const char *prepends, bool splits) {
    return {{"type", "Metaspace"}, {"replacement", space}, {"prepend_scheme", prepends}, {"split", splits}};
}

Json charsmap(const SentencePieceFile &file) {
    if (file.charsmap.empty()) return nullptr;
    return {{"type", "Precompiled"}, {"precompiled_charsmap", tokenizer::to_base64(file.charsmap)}};
}

// Of models whose words are split at spaces first.
void set_word_steps(TokenizerParts &out, const SentencePieceFile &file, bool prefixed) {
    const Json marked = metaspace(prefixed ? "always" : "never", true);
    out.normalizer = charsmap(file);
    out.pre_tokenizer = {{"type", "Sequence"},
                         {"pretokenizers", Json::array({Json{{"type", "WhitespaceSplit"}}, marked})}};
    out.decoder = marked;
}

// ---- The tokenizer_classes of transformers ----

// tokenization_llama.py
TokenizerParts llama(const Source &source) {
    const Pieces &pieces = source.file.pieces;
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens tokens =
        tokens_of(source, pieces, vocabulary, {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}});
    const bool prefixed = source.options->flag("add_prefix_space", true);
    TokenizerParts out;
    out.model = bpe(pieces, {.merges = merges_of(pieces, vocabulary)});
    out.pre_tokenizer = metaspace(!prefixed                               ? "never"
                                  : source.options->flag("legacy", false) ? "always"
                                                                          : "first",
                                  false);
    out.decoder = decoder(true, prefixed);
    out.post_processor = framed(tokens, source.options, "<s>", "</s>");
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_gemma.py
TokenizerParts gemma(const Source &source) {
    const Pieces &pieces = source.file.pieces;
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens tokens = tokens_of(source, pieces, vocabulary,
                                     {{"unk_token", "<unk>"},
                                      {"bos_token", "<bos>"},
                                      {"eos_token", "<eos>"},
                                      {"pad_token", "<pad>"},
                                      {"mask_token", "<mask>"}});
    const auto unknown = tokens.find("unk_token", nullptr);
    TokenizerParts out;
    out.model = bpe(pieces, {.merges = merges_of(pieces, vocabulary), .unknown = unknown ? Json(*unknown) : Json()});
    out.normalizer = replace(" ", space);
    out.pre_tokenizer = {
        {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
    out.decoder = decoder(true, false);
    out.post_processor = framed(tokens, source.options, "<bos>", "<eos>");
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_xlm_roberta.py: four tokens of its own come first, in place of SentencePiece's three.
TokenizerParts xlm_roberta(const Source &source) {
    Pieces pieces;
    const auto name = [&](const char *purpose, const char *otherwise) {
        const auto named = source.options->find(purpose);
        if (!named) return std::string(otherwise);
        return std::string(named->is_string() ? named->string() : named->at("content").string());
    };
    const std::string begin = name("bos_token", "<s>"), end = name("eos_token", "</s>"),
                      mask = name("mask_token", "<mask>");
    for (const std::string &each : {begin, name("pad_token", "<pad>"), end, name("unk_token", "<unk>")})
        pieces.push_back({.text = each});
    const Pieces &theirs = source.file.pieces;
    pieces.insert(pieces.end(), theirs.begin() + std::min<std::ptrdiff_t>(3, std::ssize(theirs)), theirs.end());
    pieces.push_back({.text = mask});
    const Vocabulary vocabulary = vocabulary_of(pieces);
    const SpecialTokens tokens = tokens_of(source, pieces, vocabulary,
                                           {{"bos_token", "<s>"},
                                            {"cls_token", "<s>"},
                                            {"eos_token", "</s>"},
                                            {"sep_token", "</s>"},
                                            {"unk_token", "<unk>"},
                                            {"pad_token", "<pad>"},
                                            {"mask_token", "<mask>"}});
    TokenizerParts out;
    out.model = unigram(pieces, 3);
    set_word_steps(out, source.file, source.options->flag("add_prefix_space", true));
    const Json first = special_token(begin, 0), last = special_token(end, 0);
    out.post_processor =
        template_of(Json::array({first, sequence("A", 0), last}),
                    Json::array({first, sequence("A", 0), last, last, sequence("B", 0), last}), tokens, {begin, end});
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_t5.py: tokens for gaps follow, the first one at the end.
TokenizerParts t5(const Source &source) {
    Pieces pieces = source.file.pieces;
    const int64_t extra = source.options->integer("extra_ids", 100);
    if (extra > 10000) source.options->fail("extra_ids", "expected at most 10000");
    for (int64_t i = extra; i-- > 0;)
        pieces.push_back({.text = "<extra_id_" + std::to_string(i) + ">", .kind = SentencePieceFile::Kind::control});
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens tokens =
        tokens_of(source, pieces, vocabulary, {{"unk_token", "<unk>"}, {"pad_token", "<pad>"}, {"eos_token", "</s>"}});
    const std::string end = tokens.at("eos_token", "</s>");
    TokenizerParts out;
    out.model = unigram(pieces, 2);
    set_word_steps(out, source.file, true);
    const Json last = special_token(end, 0);
    out.post_processor = template_of(Json::array({sequence("A", 0), last}),
                                     Json::array({sequence("A", 0), last, sequence("B", 0), last}), tokens, {end});
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_deberta_v2.py
TokenizerParts deberta_v2(const Source &source) {
    const Pieces &pieces = source.file.pieces;
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens tokens = tokens_of(source, pieces, vocabulary,
                                     {{"bos_token", "[CLS]"},
                                      {"cls_token", "[CLS]"},
                                      {"eos_token", "[SEP]"},
                                      {"sep_token", "[SEP]"},
                                      {"unk_token", "[UNK]"},
                                      {"pad_token", "[PAD]"},
                                      {"mask_token", "[MASK]"}});
    const std::string unknown = tokens.at("unk_token", "[UNK]"), begin = tokens.at("cls_token", "[CLS]"),
                      end = tokens.at("sep_token", "[SEP]");
    const auto piece = std::ranges::find_if(
        pieces, [&](const SentencePieceFile::Piece &each) { return each.text == unknown && each.score == 0; });
    TokenizerParts out;
    out.model = unigram(pieces, piece != pieces.end() ? piece - pieces.begin() : source.file.unknown_id);
    Json normalizers = Json::array(), words = Json::array();
    if (source.options->flag("do_lower_case", false)) normalizers.push_back({{"type", "Lowercase"}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", R"(\s{2,}|[\n\r\t])"}}}, {"content", " "}});
    normalizers.push_back({{"type", "NFC"}});
    normalizers.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    out.normalizer = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
    if (source.options->flag("split_by_punct", false))
        words.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
    out.decoder = metaspace(source.options->flag("add_prefix_space", true) ? "always" : "first", true);
    words.push_back(out.decoder);
    out.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(words)}};
    out.post_processor = template_of(Json::array({special_token(begin, 0), sequence("A", 0), special_token(end, 0)}),
                                     Json::array({special_token(begin, 0), sequence("A", 0), special_token(end, 0),
                                                  sequence("B", 1), special_token(end, 1)}),
                                     tokens, {begin, end});
    out.added_tokens = tokens.json();
    return out;
}

// "added_tokens_decoder" may give pieces other names, which SentencePiece's training kept free for them.
void rename(Pieces &pieces, const TokenizerSettings &options) {
    const auto tokens = options->find("added_tokens_decoder");
    if (!tokens) return;
    std::map<size_t, std::string> names;
    for (const JsonView token : tokens->members()) {
        const std::string_view key = token.key();
        size_t id = pieces.size();
        (void)std::from_chars(key.data(), key.data() + key.size(), id);
        if (id < pieces.size()) names[id] = token.is_string() ? token.string() : token.at("content").string();
    }
    std::set<std::string> kept;
    for (size_t id = 0; id < pieces.size(); ++id)
        if (!names.contains(id)) kept.insert(pieces[id].text);
    for (auto &[id, name] : names)
        if (!kept.contains(name)) pieces[id].text = std::move(name);
}

// One of several texts, the longest first, each as it is.
std::string any_of_texts(std::vector<std::string> texts) {
    std::ranges::stable_sort(texts, std::greater(), [](const std::string &text) { return count_characters(text); });
    std::string out;
    for (const std::string &text : texts) {
        out += out.empty() ? "" : "|";
        for (const char c : text) {
            if (std::string_view("()[]{}?*+-|^$\\.&~# \t\n\r\v\f").find(c) != std::string_view::npos) out += '\\';
            out += c;
        }
    }
    return out;
}

Json replace_matches(const char *pattern, const char *by) {
    return {{"type", "Replace"}, {"pattern", {{"Regex", pattern}}}, {"content", by}};
}

// What the file says of spaces, and its user-defined pieces, which are not made of others.
void set_steps_of_file(TokenizerParts &out, const Source &source, const std::vector<std::string> &user_defined) {
    const SentencePieceFile &file = source.file;
    const bool by_chunk = source.options->flag("legacy", true);
    Json normalizers = Json::array(), words = Json::array();
    if (Json map = charsmap(file); !map.empty()) normalizers.push_back(std::move(map));
    if (file.removes_spaces) {
        normalizers.push_back(replace_matches(R"(\A +| +\z)", ""));
        normalizers.push_back(replace_matches(" {2,}", " "));
    }
    if (file.marks_spaces) normalizers.push_back(replace(" ", space));
    if (file.begins_with_space) {
        if (by_chunk) normalizers.push_back(replace_matches("\\A\u2581", "\u2581\u2581"));
        words.push_back(metaspace(by_chunk ? "always" : "first", false));
    }
    if (!user_defined.empty())
        words.push_back({{"type", "Split"},
                         {"pattern", {{"Regex", any_of_texts(user_defined)}}},
                         {"behavior", "Isolated"},
                         {"invert", false}});
    out.normalizer = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
    if (!words.empty()) out.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(words)}};
    out.decoder = decoder(file.byte_fallback, file.begins_with_space);
}

// No class of its own: convert_slow_tokenizer.py, build_tokenizer_from_spm_proto.
TokenizerParts plain(const Source &source) {
    const SentencePieceFile &file = source.file;
    if (file.algorithm == SentencePieceFile::Algorithm::unigram)
        throw Error(ErrorCode::input, (source.folder / "tokenizer.model").string() +
                                          ": a Unigram model is not supported for a tokenizer without a class; "
                                          "expected \"tokenizer_class\" in tokenizer_config.json, or a BPE model");
    Pieces pieces = file.pieces;
    rename(pieces, source.options);
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens::Defaults defaults;
    if (file.unknown_id >= 0) defaults.emplace_back("unk_token", file.unknown.c_str());
    if (file.begin_id >= 0) defaults.emplace_back("bos_token", file.begin.c_str());
    if (file.end_id >= 0) defaults.emplace_back("eos_token", file.end.c_str());
    SpecialTokens tokens = tokens_of(source, file.pieces, vocabulary, defaults, false);
    std::vector<std::string> user_defined;
    for (const SentencePieceFile::Piece &piece : pieces)
        if (piece.kind == SentencePieceFile::Kind::user_defined) user_defined.push_back(piece.text);
    TokenizerParts out;
    out.model = bpe(pieces, {.merges = merges_by_score(pieces),
                             .unknown = Json(file.unknown),
                             .byte_fallback = file.byte_fallback,
                             .whole_words = !user_defined.empty()});
    set_steps_of_file(out, source, user_defined);
    out.post_processor = framed(tokens, source.options, file.begin.c_str(), file.end.c_str());
    out.added_tokens = tokens.json();
    return out;
}

struct Class {
    std::string_view name, file;
    TokenizerParts (*parts)(const Source &source);
};
constexpr std::array<Class, 6> tokenizer_classes{{{"LlamaTokenizer", "tokenizer.model", llama},
                                                  {"DebertaV2Tokenizer", "spm.model", deberta_v2},
                                                  {"GemmaTokenizer", "tokenizer.model", gemma},
                                                  {"XLMRobertaTokenizer", "sentencepiece.bpe.model", xlm_roberta},
                                                  {"T5Tokenizer", "spiece.model", t5},
                                                  {"", "tokenizer.model", plain}}};

// The class that transformers takes for a model, if its files name none (auto/tokenization_auto.py).
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> of_models{
    {{"deberta-v2", "DebertaV2Tokenizer"},
     {"gemma", "GemmaTokenizer"},
     {"gemma2", "GemmaTokenizer"},
     {"gemma3", "GemmaTokenizer"},
     {"gemma3_text", "GemmaTokenizer"},
     {"gte", "XLMRobertaTokenizer"},
     {"mt5", "T5Tokenizer"},
     {"t5", "T5Tokenizer"},
     {"xlm-roberta", "XLMRobertaTokenizer"}}};
// Models for which it takes no class, whatever their files name.
constexpr std::array<std::string_view, 18> without_class{"ernie4_5",   "ernie4_5_moe", "glm",
                                                         "glm4",       "glm4_moe",     "glm4_moe_lite",
                                                         "granite",    "granitemoe",   "granitemoehybrid",
                                                         "ministral3", "mistral",      "mixtral",
                                                         "modernbert", "olmo2",        "olmo3",
                                                         "phi3",       "qwen2",        "stablelm"};
// Names that stand for no class of their own.
constexpr std::array<std::string_view, 3> general{"PreTrainedTokenizer", "TokenizersBackend", ""};

// Null: the tokenizer is of a class that is not known here.
const Class *class_of(const TokenizerSettings &options, const std::string &model_type) {
    std::string name = options->text("tokenizer_class", "");
    if (name.ends_with("Fast")) name.erase(name.size() - 4);
    if (std::ranges::find(without_class, model_type) != without_class.end()) return &tokenizer_classes.back();
    if (std::ranges::find(general, name) != general.end()) {
        name.clear();
        for (const auto &[type, its_class] : of_models)
            if (type == model_type) name = its_class;
    }
    const auto found = std::ranges::find(tokenizer_classes, name, &Class::name);
    return found == tokenizer_classes.end() ? nullptr : &*found;
}

bool has_pieces(const fs::path &folder) {
    return std::ranges::any_of(tokenizer_classes, [&](const Class &each) { return has_file(folder / each.file); });
}

} // namespace

std::optional<TokenizerParts> sentencepiece_parts(const fs::path &folder, const TokenizerSettings &options,
                                                  const std::string &model_type) {
    if (!has_pieces(folder)) return std::nullopt;
    const Class *its_class = class_of(options, model_type);
    if (its_class == nullptr) return std::nullopt;
    const fs::path path = folder / its_class->file;
    if (!has_file(path)) return std::nullopt;
    const SentencePieceFile file = tokenizer::read_sentencepiece_file(text_of(path), path.string());
    try {
        return its_class->parts({folder, options, file});
    } catch (const Error &e) {
        if (std::string_view(e.what()).starts_with(folder.string())) throw;
        throw Error(e.code(), path.string() + ": " + e.what());
    }
}

std::string why_not_read(const fs::path &folder) {
    if (!has_pieces(folder)) return "";
    const std::string name = TokenizerSettings(folder)->text("tokenizer_class", "");
    return (name.empty() ? "no \"tokenizer_class\" in tokenizer_config.json names the class of its SentencePiece model"
                         : in_quotes(name) + " is not supported for a SentencePiece model") +
           "; supported: DebertaV2Tokenizer, GemmaTokenizer, LlamaTokenizer, T5Tokenizer and XLMRobertaTokenizer";
}

} // namespace lamina::architectures
