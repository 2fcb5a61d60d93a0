#include "tokenizer/token_bytes.hpp"

#include "tokenizer/byte_characters.hpp"
#include "tokenizer/parts.hpp"
#include "tokenizer/unicode.hpp"

#include <optional>

namespace lamina::tokenizer {
namespace {

std::string decoded(const Decoder &decoder, std::vector<std::string> tokens) {
    std::string out;
    for (const std::string &part : decoder(std::move(tokens))) out += part;
    return out;
}

// Of a byte-level token; nothing for one that is not written so, as added tokens are.
std::optional<std::string> bytes_of(std::string_view token) {
    std::string out;
    for (size_t at = 0; at < token.size();) {
        const Character c = character_at(token, at);
        const auto byte = byte_of_character(c.code);
        if (!byte) return std::nullopt;
        out += static_cast<char>(*byte);
        at += c.length;
    }
    return out;
}

} // namespace

// A decoder is a function of texts, in which half a character is lost. So tokens that are written as bytes are
// recognized by what the decoder makes of two that are known; of all others, it gives the text itself.
std::vector<std::string> token_bytes(const Tokenizer &tokenizer, bool first, bool special) {
    const Decoder &decoder = tokenizer.parts().decoder;
    const bool byte_level = decoded(decoder, {"\u00c3", "\u00a9"}) == "\u00e9";
    const bool byte_tokens = decoded(decoder, {byte_token('\n')}) == "\n";
    const std::string before = first ? "" : "a";
    const std::string beginning = first ? "" : decoded(decoder, {before});
    std::vector<std::string> out(tokenizer.size());
    for (size_t i = 0; i < out.size(); ++i) {
        const auto id = static_cast<int32_t>(i);
        const std::optional<std::string> token = tokenizer.token(id);
        if (!token || (!special && tokenizer.is_special(id))) continue;
        if (byte_level) {
            out[i] = bytes_of(*token).value_or(*token);
        } else if (const auto byte = byte_tokens ? byte_of_token(*token) : std::nullopt) {
            out[i] = std::string(1, static_cast<char>(*byte));
        } else {
            std::string text = first ? decoded(decoder, {*token}) : decoded(decoder, {before, *token});
            if (text.starts_with(beginning)) out[i] = text.substr(beginning.size());
        }
    }
    return out;
}

} // namespace lamina::tokenizer
