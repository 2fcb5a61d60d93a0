#include "architectures/sentencepiece_classes.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>

namespace lamina::architectures::sentencepiece {

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

namespace {

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

} // namespace

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

} // namespace lamina::architectures::sentencepiece
