#include "architectures/sentencepiece_steps.hpp"

#include "base/utf8.hpp"
#include "tokenizer/base64.hpp"

#include <algorithm>
#include <functional>

namespace lamina::architectures::sentencepiece {

std::string name_of(const Source &source, const char *purpose, const char *otherwise) {
    const std::string named = named_token(source.folder, purpose);
    return named.empty() ? otherwise : named;
}

Vocabulary vocabulary_of(const Pieces &pieces) {
    Vocabulary out;
    for (size_t i = 0; i < pieces.size(); ++i) out.add(pieces[i].text, static_cast<int64_t>(i));
    return out;
}

SpecialTokens tokens_of(const Source &source, const Pieces &pieces, const Vocabulary &vocabulary,
                        const SpecialTokens::Defaults &defaults, bool user_defined) {
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

std::string merges_by_score(const Pieces &pieces) {
    Pieces normal;
    for (const SentencePieceFile::Piece &piece : pieces)
        if (piece.kind == SentencePieceFile::Kind::normal) normal.push_back(piece);
    const Vocabulary parts = vocabulary_of(normal);
    std::ranges::stable_sort(normal, std::greater(), &SentencePieceFile::Piece::score);
    return merges_of(normal, parts);
}

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

Json replace_matches(const char *pattern, const char *by) {
    return {{"type", "Replace"}, {"pattern", {{"Regex", pattern}}}, {"content", by}};
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

void set_word_steps(TokenizerParts &out, const SentencePieceFile &file, bool prefixed) {
    const Json marked = metaspace(prefixed ? "always" : "never", true);
    out.normalizer = charsmap(file);
    out.pre_tokenizer = {{"type", "Sequence"},
                         {"pretokenizers", Json::array({Json{{"type", "WhitespaceSplit"}}, marked})}};
    out.decoder = marked;
}

} // namespace lamina::architectures::sentencepiece
