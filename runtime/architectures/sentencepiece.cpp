#include "architectures/sentencepiece.hpp"

#include "architectures/config.hpp"

#include <lamina/tokenizer.hpp>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

// Transformers' name and number of the tokens that T5 was trained to fill gaps with (tokenization_t5.py).
constexpr const char *extra_token = "<extra_id_";
constexpr int64_t extra_tokens = 100;

int64_t extra_tokens_of(const fs::path &folder) {
    const fs::path file = folder / "tokenizer_config.json";
    if (!has_file(file)) return extra_tokens;
    const JsonText text(text_of(file), file.string());
    return text.root().has("extra_ids") ? text.root().at("extra_ids").integer(0, 10000) : extra_tokens;
}

// The extra tokens follow the model's own, the first at the end.
SourceAndTarget t5(const fs::path &folder, int64_t vocabulary) {
    const Tokenizer tokenizer = Tokenizer::load(folder / "spiece.model");
    Json special = Json::object();
    for (const char *token : {"</s>", "<unk>", "<pad>"})
        if (const auto id = tokenizer.id(token)) special[token] = *id;
    const int64_t extra = extra_tokens_of(folder), first = static_cast<int64_t>(tokenizer.size());
    for (int64_t i = 0; i < extra; ++i)
        if (const int64_t id = first + extra - 1 - i; id < vocabulary)
            special[extra_token + std::to_string(i) + ">"] = id;
    const Json codec{{"tokenizer", "spiece.model"}, {"special", special}, {"end", "</s>"}};
    return {"spiece.model", codec, codec};
}

// The tokens of the vocabulary that are no pieces: those of Marian, and the languages of models that translate into
// several (">>fr<<").
Json marian_codec(const fs::path &folder, const char *tokenizer, const std::string &vocabulary) {
    const fs::path file = folder / vocabulary;
    const JsonText text(text_of(file), file.string());
    Json special = Json::object();
    for (const JsonView id : text.root().members()) {
        const std::string token(id.key());
        const bool language = token.starts_with(">>") && token.ends_with("<<");
        if (language || token == "</s>" || token == "<unk>" || token == "<pad>")
            special[token] = id.integer(0, INT32_MAX - 1);
    }
    return {{"tokenizer", tokenizer}, {"vocabulary", vocabulary}, {"special", special}, {"end", "</s>"}};
}

} // namespace

std::optional<SourceAndTarget> sentencepiece_tokenizers(const fs::path &folder, int64_t vocabulary) {
    if (has_file(folder / "spiece.model")) return t5(folder, vocabulary);
    if (!has_file(folder / "source.spm") || !has_file(folder / "target.spm") || !has_file(folder / "vocab.json"))
        return std::nullopt;
    const bool separate = has_file(folder / "target_vocab.json");
    return SourceAndTarget{"source.spm", marian_codec(folder, "source.spm", "vocab.json"),
                           marian_codec(folder, "target.spm", separate ? "target_vocab.json" : "vocab.json")};
}

} // namespace lamina::architectures
