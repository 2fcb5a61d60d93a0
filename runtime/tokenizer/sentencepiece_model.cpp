#include "tokenizer/sentencepiece_model.hpp"

#include "base/file.hpp"

#include <sentencepiece_processor.h>

#include <algorithm>

namespace lamina::tokenizer {
namespace {

constexpr uint64_t largest_model = 512u << 20; // bytes

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

} // namespace

Tokenizer::Parts read_sentencepiece_model(const std::filesystem::path &file) {
    const std::vector<std::byte> bytes = read_file(file, largest_model, FileReader::Kind::ordinary);
    const auto processor = std::make_shared<Processor>();
    const auto status =
        processor->LoadFromSerializedProto({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    if (!status.ok())
        throw Error(ErrorCode::input,
                    file.string() + ": not a SentencePiece model: " + std::string(status.error_message()));
    Tokenizer::Parts out;
    out.model = std::make_unique<SentencePieceModel>(processor);
    out.decoder = [processor](const std::vector<std::string> &pieces) {
        return std::vector<std::string>{processor->DecodePieces(pieces)};
    };
    return out;
}

} // namespace lamina::tokenizer
