// Checks a transformer's settings before any weight is made.
#pragma once

#include <lamina/transformer.hpp>

#include <string>

namespace lamina::builder {

// Each throws Error(usage): "BLOCK: SETTING is VALUE; expected ...". `block` is the caller's name for it ("encoder").
void check_settings(const TransformerLayer &layer, const std::string &block);
void check_settings(const Encoder &encoder, const std::string &block);
void check_settings(const Decoder &decoder, const std::string &block);
void check_settings(const EmbeddingsWithPositionalEncoding &embedding, const std::string &block);
void check_settings(const Generator &generator, const std::string &block);
void check_settings(const BuildOptions &options);

// These check all blocks of a model, that they fit together, and the vocabularies of options.text.
void check_settings(const EncoderDecoder &model, const BuildOptions &options);
void check_settings(const EncoderOnly &model, const BuildOptions &options);
void check_settings(const DecoderOnly &model, const BuildOptions &options);

// The text of a vocabulary file: one token per line.
[[nodiscard]] std::string lines_of(const std::vector<std::string> &tokens);

} // namespace lamina::builder
