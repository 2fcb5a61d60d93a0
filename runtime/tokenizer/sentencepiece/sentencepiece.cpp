#include "tokenizer/sentencepiece.hpp"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <memory>

namespace lamina::tokenizer {
namespace {

class Pieces final : public SentencePieces {
  public:
    // What is wrong with the bytes; empty if nothing is.
    std::string load(std::string_view bytes) {
        const auto status = processor_.LoadFromSerializedProto({bytes.data(), bytes.size()});
        return status.ok() ? "" : std::string(status.error_message());
    }
    void tokenize(std::string_view word, std::vector<WordToken> &out) const override {
        const auto place = [&](uint32_t offset) { return std::min(offset, static_cast<uint32_t>(word.size())); };
        for (const auto &piece : processor_.EncodeAsImmutableProto({word.data(), word.size()}).pieces())
            out.push_back({static_cast<int32_t>(piece.id()), {place(piece.begin()), place(piece.end())}});
    }
    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override {
        // An unknown piece gets the unknown token's id.
        const int32_t found = processor_.PieceToId({token.data(), token.size()});
        return this->token(found) == token ? std::optional(found) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const override {
        if (id < 0 || id >= end()) return std::nullopt;
        return processor_.IdToPiece(id);
    }
    [[nodiscard]] int32_t count() const override { return end(); }
    [[nodiscard]] int32_t end() const override { return processor_.GetPieceSize(); }
    [[nodiscard]] std::string text_of(const std::vector<std::string> &pieces) const override {
        return processor_.DecodePieces(pieces);
    }

  private:
    sentencepiece::SentencePieceProcessor processor_;
};

} // namespace

extern "C" SentencePieces *lamina_new_sentencepieces(std::string_view bytes, std::string &fault) {
    auto out = std::make_unique<Pieces>();
    fault = out->load(bytes);
    return fault.empty() ? out.release() : nullptr;
}

} // namespace lamina::tokenizer
