// Guesses of a smaller model with the same vocabulary, which writes ahead (Leviathan et al.: Fast Inference from
// Transformers via Speculative Decoding, arXiv:2211.17192; but what it guesses is its likeliest token, and what a text
// goes on with is chosen as without guesses, so that it is the same text).
#pragma once

#include "generation/decoder.hpp"
#include "generation/guesses.hpp"
#include "session/state.hpp"

#include <memory>

namespace lamina::generation {

class Draft final : public GuessSource {
  public:
    // Waits for its turn with the session, whenever it guesses.
    explicit Draft(std::shared_ptr<detail::SessionState> session) : session_(std::move(session)) {}
    ~Draft() override;

    // Ends before tokens that the model is not sure of. None where there is no memory, or no position, for the text.
    [[nodiscard]] std::vector<int32_t> guess(std::span<const int32_t> text, size_t most) override;

    // Why texts of the first model cannot be guessed by the second; empty if they can.
    [[nodiscard]] static std::string why_not(const model::Model &model, const model::Model &draft);

  private:
    [[nodiscard]] std::vector<int32_t> write(std::span<const int32_t> text, size_t most);

    std::shared_ptr<detail::SessionState> session_;
    std::unique_ptr<Decoder> decoder_; // of one row, which keeps what it has taken
    bool possible_ = true;             // there was memory
};

} // namespace lamina::generation
