#include "architectures/numbered_pieces.hpp"

#include "architectures/config.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

using Ids = std::map<std::string, int32_t>;

Ids ids_of(const fs::path &vocabulary) {
    const JsonText text(text_of(vocabulary), vocabulary.string());
    Ids out;
    for (const JsonView id : text.root().members())
        out.emplace(id.key(), static_cast<int32_t>(id.integer(0, INT32_MAX - 1)));
    return out;
}

Json json_of(const Ids &ids) {
    Json out = Json::object();
    for (const auto &[token, id] : ids) out[token] = id;
    return out;
}

bool has_all(const fs::path &folder, std::initializer_list<const char *> files) {
    for (const char *file : files)
        if (!has_file(folder / file)) return false;
    return true;
}

// ---- Marian (transformers, tokenization_marian.py) ----

// The tokens of the vocabulary that are no pieces: its own, and the languages of models that translate into several
// (">>fr<<").
Ids special_of_marian(const Ids &vocabulary) {
    Ids out;
    for (const auto &[token, id] : vocabulary)
        if ((token.starts_with(">>") && token.ends_with("<<")) || token == "</s>" || token == "<unk>" ||
            token == "<pad>")
            out.emplace(token, id);
    return out;
}

NumberedPieces marian(const fs::path &folder) {
    const auto codec = [](const char *model, const char *vocabulary, const Ids &special) {
        return Json{{"tokenizer", model}, {"vocabulary", vocabulary}, {"special", json_of(special)}, {"end", "</s>"}};
    };
    const char *const of_target = has_file(folder / "target_vocab.json") ? "target_vocab.json" : "vocab.json";
    NumberedPieces out{.file = "source.spm", .special = special_of_marian(ids_of(folder / "vocab.json"))};
    out.source = codec("source.spm", "vocab.json", out.special);
    out.target = codec("target.spm", of_target, special_of_marian(ids_of(folder / of_target)));
    return out;
}

// ---- M2M-100 (tokenization_m2m_100.py): the languages' ids follow those of the vocabulary, in this order ----

constexpr std::array<const char *, 100> languages{
    "af", "am", "ar", "ast", "az", "ba",  "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs", "cy", "da", "de",
    "el", "en", "es", "et",  "fa", "ff",  "fi", "fr", "fy", "ga", "gd", "gl", "gu",  "ha", "he", "hi", "hr",
    "ht", "hu", "hy", "id",  "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km",  "kn", "ko", "lb", "lg",
    "ln", "lo", "lt", "lv",  "mg", "mk",  "ml", "mn", "mr", "ms", "my", "ne", "nl",  "no", "ns", "oc", "or",
    "pa", "pl", "ps", "pt",  "ro", "ru",  "sd", "si", "sk", "sl", "so", "sq", "sr",  "ss", "su", "sv", "sw",
    "ta", "th", "tl", "tn",  "tr", "uk",  "ur", "uz", "vi", "wo", "xh", "yi", "yo",  "zh", "zu"};
constexpr std::array<const char *, 8> languages_of_news{"en", "ha", "is", "ja", "cs", "ru", "zh", "de"};

std::string token_of(const std::string &language) { return "__" + language + "__"; }

NumberedPieces m2m_100(const fs::path &folder, const TokenizerSettings &options) {
    const std::string codes = options->text("language_codes", "m2m100");
    if (codes != "m2m100" && codes != "wmt21")
        options->fail("language_codes", "expected \"m2m100\" or \"wmt21\", found " + in_quotes(codes));
    const std::span<const char *const> all =
        codes == "wmt21" ? std::span<const char *const>(languages_of_news) : languages;
    const Ids vocabulary = ids_of(folder / "vocab.json");
    NumberedPieces out{.file = "sentencepiece.bpe.model"};
    for (const char *token : {"<s>", "</s>", "<pad>", "<unk>"})
        if (const auto found = vocabulary.find(token); found != vocabulary.end()) out.special.insert(*found);
    if (!out.special.contains("</s>"))
        throw Error(ErrorCode::input,
                    (folder / "vocab.json").string() + ": expected the token '</s>', which ends texts");
    auto next = static_cast<int32_t>(vocabulary.size());
    for (const char *language : all) out.special.emplace(token_of(language), next++);
    const std::string written = options->text("src_lang", ""), source = token_of(written.empty() ? "en" : written);
    if (!out.special.contains(source))
        options->fail("src_lang", "expected a language of \"" + codes + "\", found " + in_quotes(written));
    out.source = {{"tokenizer", out.file},
                  {"vocabulary", "vocab.json"},
                  {"special", json_of(out.special)},
                  {"begin", source},
                  {"end", "</s>"}};
    out.target = out.source;
    return out;
}

} // namespace

std::optional<NumberedPieces> numbered_pieces(const fs::path &folder, const TokenizerSettings &options,
                                              const std::string &model_type) {
    if (has_all(folder, {"source.spm", "target.spm", "vocab.json"})) return marian(folder);
    const std::string &name = options.class_name();
    const bool is_m2m_100 = name.empty() ? model_type == "m2m_100" : name == "M2M100Tokenizer";
    if (is_m2m_100 && has_all(folder, {"sentencepiece.bpe.model", "vocab.json"})) return m2m_100(folder, options);
    return std::nullopt;
}

} // namespace lamina::architectures
