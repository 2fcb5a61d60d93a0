#include "builder/transformer_check.hpp"

#include "base/utf8.hpp"
#include "model/vocabulary.hpp"

#include <algorithm>
#include <cctype>

namespace lamina::builder {
namespace {

constexpr int64_t widest = 1 << 20;      // d_model and ffn: the product of two is far below 2^63
constexpr int64_t most_tokens = 1 << 28; // of a vocabulary
constexpr int64_t most_layers = 1024;    // of a "repeat" in model.json
constexpr int64_t most_positions = INT64_C(1) << 31;
constexpr int64_t longest_generation = 100000; // of a "generation" block in model.json

template <class Value> std::string text_of(const Value &value) {
    if constexpr (std::is_same_v<Value, bool>)
        return value ? "true" : "false";
    else
        return std::to_string(value);
}

template <class Value>
[[noreturn]] void refuse(const std::string &block, const char *setting, const Value &found,
                         const std::string &expected) {
    throw Error(ErrorCode::usage, block + ": " + setting + " is " + text_of(found) + "; expected " + expected);
}

void check_range(const std::string &block, const char *setting, int64_t found, int64_t lowest, int64_t highest) {
    if (found < lowest || found > highest)
        refuse(block, setting, found, "a number from " + std::to_string(lowest) + " to " + std::to_string(highest));
}

void check_fraction(const std::string &block, const char *setting, double found) {
    if (!(found >= 0 && found <= 1)) refuse(block, setting, found, "a number from 0 to 1"); // NaN is neither
}

void check_d_model(const std::string &block, int64_t d_model) {
    check_range(block, "d_model", d_model, 2, widest);
    if (d_model % 2 != 0)
        refuse(block, "d_model", d_model, "an even number: in positions, sines and cosines come in pairs");
}

// Checks a setting that must be the same in two blocks, because one reads the output of the other.
template <class Value>
void check_same(const char *setting, const std::string &block, const Value &found, const std::string &other,
                const Value &expected) {
    if (found != expected) refuse(block, setting, found, text_of(expected) + ", as in " + other);
}

void check_same_layout(const TransformerLayer &layer, const std::string &block, int64_t d_model, bool batch_first,
                       const std::string &other) {
    check_same("d_model", other, d_model, block, layer.d_model);
    check_same("batch_first", other, batch_first, block, layer.batch_first);
}

// ---- Text ----

[[noreturn]] void refuse_text(const std::string &why) { throw Error(ErrorCode::usage, "text: " + why); }

void check_vocabulary(const std::vector<std::string> &tokens, const char *file, const std::string &block,
                      int64_t rows) {
    if (tokens.empty()) refuse_text(std::string("there are no tokens for ") + file);
    if (model::Vocabulary::parse(lines_of(tokens), file).tokens() != tokens)
        refuse_text(std::string("tokens for ") + file + " have line breaks; expected none: each token is a line");
    const auto size = static_cast<int64_t>(tokens.size());
    if (size != rows)
        refuse(block, "vocabulary", rows, std::to_string(size) + ", one for each token of " + std::string(file));
}

void check_target(const TextVocabularies &text, const EmbeddingsWithPositionalEncoding &embedding,
                  const std::string &block, const Decoder &decoder) {
    check_vocabulary(text.target, "target.txt", block, embedding.vocabulary);
    for (const std::string &token : {text.start, text.end})
        if (std::ranges::find(text.target, token) == text.target.end())
            refuse_text("'" + token + "' is not in the target vocabulary; choose another start or end");
    check_range("text", "max_length", text.max_length, 1, std::min(longest_generation, embedding.max_len - 1));
    if (!decoder.layer.batch_first) refuse_text("needs batch_first");
    if (!decoder.causal) refuse_text("needs a causal decoder");
    if (decoder.mask != Mask::none) refuse_text("needs decoder.mask none: nothing masks keys of earlier steps");
}

} // namespace

std::string lines_of(const std::vector<std::string> &tokens) {
    std::string out;
    for (const std::string &token : tokens) out += token + "\n";
    return out;
}

void check_settings(const TransformerLayer &layer, const std::string &block) {
    check_d_model(block, layer.d_model);
    check_range(block, "heads", layer.heads, 1, layer.d_model);
    if (layer.d_model % layer.heads != 0)
        refuse(block, "heads", layer.heads, "a divisor of d_model, which is " + std::to_string(layer.d_model));
    check_range(block, "ffn", layer.ffn, 1, widest);
    check_fraction(block, "dropout", layer.dropout);
    check_fraction(block, "eps", layer.eps);
}

void check_settings(const Encoder &encoder, const std::string &block) {
    check_settings(encoder.layer, block + ".layer");
    check_range(block, "layers", encoder.layers, 1, most_layers);
    if (encoder.layer.source_attention)
        refuse(block + ".layer", "source_attention", true, "false: an encoder has no source");
}

void check_settings(const Decoder &decoder, const std::string &block) {
    check_settings(decoder.layer, block + ".layer");
    check_range(block, "layers", decoder.layers, 1, most_layers);
}

void check_settings(const EmbeddingsWithPositionalEncoding &embedding, const std::string &block) {
    check_d_model(block, embedding.d_model);
    check_range(block, "vocabulary", embedding.vocabulary, 1, most_tokens);
    check_range(block, "max_len", embedding.max_len, 1, most_positions);
    check_fraction(block, "dropout", embedding.dropout);
}

void check_settings(const Generator &generator, const std::string &block) {
    check_d_model(block, generator.d_model);
    check_range(block, "vocabulary", generator.vocabulary, 1, most_tokens);
}

void check_settings(const BuildOptions &options) {
    const auto dtype = static_cast<uint32_t>(options.dtype);
    if ((dtype & plugin::weight_dtypes) == 0)
        throw Error(ErrorCode::usage, std::string("dtype is ") + name_of(options.dtype) + "; expected " +
                                          plugin::dtype_names(plugin::weight_dtypes) + " for weights");
    const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
    if (options.name.empty() || !std::ranges::all_of(options.name, allowed))
        throw Error(ErrorCode::usage,
                    "name is " + in_quotes(options.name) + "; expected letters, digits, '_', '-' and '.'");
}

void check_settings(const EncoderDecoder &model, const BuildOptions &options) {
    check_settings(options);
    check_settings(model.source_embedding, "source_embedding");
    check_settings(model.encoder, "encoder");
    check_settings(model.target_embedding, "target_embedding");
    check_settings(model.decoder, "decoder");
    check_settings(model.generator, "generator");
    if (!model.decoder.layer.source_attention)
        refuse("decoder.layer", "source_attention", false, "true: it decodes what the encoder gives");
    const TransformerLayer &encoder = model.encoder.layer, &decoder = model.decoder.layer;
    check_same_layout(encoder, "encoder.layer", model.source_embedding.d_model, model.source_embedding.batch_first,
                      "source_embedding");
    check_same_layout(decoder, "decoder.layer", model.target_embedding.d_model, model.target_embedding.batch_first,
                      "target_embedding");
    check_same("batch_first", "encoder.layer", encoder.batch_first, "decoder.layer", decoder.batch_first);
    check_same("d_model", "generator", model.generator.d_model, "decoder.layer", decoder.d_model);
    if (!options.text) return;
    check_vocabulary(options.text->source, "source.txt", "source_embedding", model.source_embedding.vocabulary);
    check_target(*options.text, model.target_embedding, "target_embedding", model.decoder);
    check_same("vocabulary", "generator", model.generator.vocabulary, "target_embedding",
               model.target_embedding.vocabulary);
    if (model.encoder.mask != Mask::lengths || model.decoder.source_mask != Mask::lengths)
        refuse_text("needs lengths as encoder.mask and decoder.source_mask: texts of a batch differ in length");
}

void check_settings(const EncoderOnly &model, const BuildOptions &options) {
    check_settings(options);
    check_settings(model.embedding, "embedding");
    check_settings(model.encoder, "encoder");
    check_same_layout(model.encoder.layer, "encoder.layer", model.embedding.d_model, model.embedding.batch_first,
                      "embedding");
    if (options.text) refuse_text("an encoder alone generates none; leave the vocabularies out");
}

void check_settings(const DecoderOnly &model, const BuildOptions &options) {
    check_settings(options);
    check_settings(model.embedding, "embedding");
    check_settings(model.decoder, "decoder");
    check_settings(model.generator, "generator");
    if (model.decoder.layer.source_attention)
        refuse("decoder.layer", "source_attention", true, "false: a decoder alone has no source");
    check_same_layout(model.decoder.layer, "decoder.layer", model.embedding.d_model, model.embedding.batch_first,
                      "embedding");
    check_same("d_model", "generator", model.generator.d_model, "decoder.layer", model.decoder.layer.d_model);
    if (!options.text) return;
    if (!options.text->source.empty()) refuse_text("a decoder alone has no source; leave its vocabulary out");
    check_target(*options.text, model.embedding, "embedding", model.decoder);
    check_same("vocabulary", "generator", model.generator.vocabulary, "embedding", model.embedding.vocabulary);
}

} // namespace lamina::builder
