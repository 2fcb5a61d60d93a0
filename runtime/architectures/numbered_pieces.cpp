#include "architectures/marian_tokenizers.hpp"

#include "architectures/config.hpp"

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

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

std::optional<SourceAndTarget> marian_tokenizers(const fs::path &folder) {
    if (!has_file(folder / "source.spm") || !has_file(folder / "target.spm") || !has_file(folder / "vocab.json"))
        return std::nullopt;
    const bool separate = has_file(folder / "target_vocab.json");
    return SourceAndTarget{"source.spm", marian_codec(folder, "source.spm", "vocab.json"),
                           marian_codec(folder, "target.spm", separate ? "target_vocab.json" : "vocab.json")};
}

} // namespace lamina::architectures
