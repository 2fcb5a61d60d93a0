#include "tokenizer/sentencepiece_model.hpp"

#include <sentencepiece_processor.h>

#include <algorithm>

namespace lamina::tokenizer {
namespace {

using Processor = sentencepiece::SentencePieceProcessor;

class SentencePieceModel final : public Model {
  public:
    explicit SentencePieceModel(std::shared_ptr<const Processor> processor) : processor_(std::move(processor)) {}

    void tokenize(std::string_view word, std::vector<WordToken> &out) const override {
        const auto place = [&](uint32_t offset) { return std::min(offset, static_cast<uint32_t>(word.size())); };
        for (const auto &piece : processor_->EncodeAsImmutableProto({word.data(), word.size()}).pieces())
            out.push_back({static_cast<int32_t>(piece.id()), {place(piece.begin()), place(piece.end())}});
    }
    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override {
        // An unknown piece gets the unknown token's id.
        const int32_t found = processor_->PieceToId({token.data(), token.size()});
        return this->token(found) == token ? std::optional(found) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const override {
        if (id < 0 || id >= end()) return std::nullopt;
        return processor_->IdToPiece(id);
    }
    [[nodiscard]] int32_t count() const override { return end(); }
    [[nodiscard]] int32_t end() const override { return processor_->GetPieceSize(); }

  private:
    std::shared_ptr<const Processor> processor_;
};

// The same pieces with the ids of another vocabulary.
class RenumberedModel final : public Model {
  public:
    RenumberedModel(std::shared_ptr<const Processor> processor, Vocabulary ids, int32_t unknown)
        : pieces_(std::move(processor)), ids_(std::move(ids)), unknown_(unknown) {}

    void tokenize(std::string_view word, std::vector<WordToken> &out) const override {
        const size_t first = out.size();
        pieces_.tokenize(word, out);
        for (size_t i = first; i < out.size(); ++i) out[i].id = ids_.id(*pieces_.token(out[i].id)).value_or(unknown_);
    }
    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override { return ids_.id(token); }
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const override { return ids_.token(id); }
    [[nodiscard]] int32_t count() const override { return static_cast<int32_t>(ids_.size()); }
    [[nodiscard]] int32_t end() const override { return ids_.end(); }

  private:
    SentencePieceModel pieces_;
    Vocabulary ids_;
    int32_t unknown_;
};

// Pieces that only a shared vocabulary has, such as those of the other language, are decoded with their marks.
std::string with_spaces(std::string text) {
    constexpr std::string_view mark = "\xE2\x96\x81"; // U+2581
    if (text.starts_with(mark)) text.erase(0, mark.size());
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
        text.replace(at, mark.size(), " ");
    return text;
}

std::unique_ptr<const Model> model_of(std::shared_ptr<const Processor> processor, std::optional<Vocabulary> ids,
                                      const std::string &file) {
    if (!ids) return std::make_unique<SentencePieceModel>(std::move(processor));
    const std::optional<int32_t> unknown = ids->id("<unk>");
    if (!unknown) throw Error(ErrorCode::input, file + ": its vocabulary has no token '<unk>'");
    return std::make_unique<RenumberedModel>(std::move(processor), std::move(*ids), *unknown);
}

} // namespace

Tokenizer::Parts read_sentencepiece_model(std::string_view bytes, const std::string &file,
                                          SentencePieceSettings settings) {
    const auto processor = std::make_shared<Processor>();
    const auto status = processor->LoadFromSerializedProto({bytes.data(), bytes.size()});
    if (!status.ok())
        throw Error(ErrorCode::input, file + ": not a SentencePiece model: " + std::string(status.error_message()));
    Tokenizer::Parts out;
    out.model = model_of(processor, std::move(settings.ids), file);
    out.added = AddedTokens(std::move(settings.special), out.normalizer);
    if (settings.end) {
        const TemplatePiece end{0, {*settings.end}, 0};
        out.post_processor = template_processing({{0, {}, 0}, end}, {{0, {}, 0}, end, {1, {}, 1}, end});
    }
    out.decoder = [processor](const std::vector<std::string> &pieces) {
        return std::vector<std::string>{with_spaces(processor->DecodePieces(pieces))};
    };
    return out;
}

} // namespace lamina::tokenizer
