// Transformer models, built block by block: the systems of "The Annotated Transformer" with untrained weights.
//
//     const lamina::TransformerLayer layer{.d_model = 64, .heads = 4, .ffn = 256};
//     const lamina::EncoderDecoder translator{
//         .source_embedding = {.d_model = 64, .vocabulary = 1000},
//         .encoder = {.layer = layer, .layers = 2},
//         .target_embedding = {.d_model = 64, .vocabulary = 1200},
//         .decoder = {.layer = layer.with_source_attention(), .layers = 2},
//         .generator = {.d_model = 64, .vocabulary = 1200},
//     };
//     lamina::build(translator, {.name = "translator", .seed = 1}).save("translator");
//
// A block is a struct of settings. build() makes a model of it: graphs in the format of model.json, and weights. Every
// copy of a layer has its own weights: matrices drawn uniformly from +-sqrt(6 / (rows + columns)) (Glorot, Bengio:
// Understanding the difficulty of training deep feedforward neural networks, AISTATS 2010), biases 0, scales of norms
// 1. A weight depends on the seed and its name alone, and is the same on every machine.
//
// Shapes are (B, T, C). With batch_first = false they are (T, B, C), and ids are (T, B). Masks and lengths always have
// the batch first.
#pragma once

#include <lamina/model_description.hpp>
#include <lamina/tensor.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

enum class Activation { relu, gelu, gelu_tanh, silu };

// How a graph is told which keys may be attended to.
enum class Mask {
    none,    // all of them
    lengths, // I32 "B": how many, from the beginning of each sequence
    keys,    // I32 "B Tk": 1 where a key may be attended to by every query, 0 for padding
    keep,    // I32 "B Tq Tk": 1 where a query may attend to a key
};

// Self attention, optional attention to a source, and a feed-forward network, each with a norm and a residual:
//     norm_first (Xiong et al., arXiv:2002.04745):    x + dropout(f(norm(x)))
//     otherwise (Vaswani et al., arXiv:1706.03762):   norm(x + dropout(f(x)))
struct TransformerLayer {
    int64_t d_model = 512; // width of tokens; even
    int64_t heads = 8;     // attention heads; must divide d_model
    int64_t ffn = 2048;    // width of the feed-forward network's hidden layer
    double dropout = 0;    // probability, 0 to 1; no effect at inference, but 0 leaves the dropout layers out
    double eps = 1e-5;     // of the norms
    Activation activation = Activation::relu;
    bool norm_first = true;
    bool bias = true; // in attention and the feed-forward network; norms always have one
    bool batch_first = true;
    bool source_attention = false; // also attends to the memory of an encoder

    [[nodiscard]] TransformerLayer with_source_attention() const {
        TransformerLayer copy = *this;
        copy.source_attention = true;
        return copy;
    }
};

// Independent copies of a layer, then a norm.
struct Encoder {
    TransformerLayer layer = {};
    int64_t layers = 6;
    Mask mask = Mask::lengths;
    bool final_norm = true;
};

// The same, but causal. If the layer has source attention, the decoder attends to an encoder's memory.
struct Decoder {
    TransformerLayer layer = TransformerLayer{}.with_source_attention();
    int64_t layers = 6;
    Mask mask = Mask::none;           // of the attention to itself, besides `causal`
    Mask source_mask = Mask::lengths; // of the attention to the source
    bool causal = true;
    bool final_norm = true;
};

// table[id] * sqrt(d_model) + the encoding of its position.
struct EmbeddingsWithPositionalEncoding {
    enum class Positions {
        interleaved, // sinusoids: sin, cos, sin, cos, ... (Vaswani et al., section 3.5)
        halves,      // sinusoids: all sines before all cosines (tensor2tensor)
        learned,     // a table of max_len rows, as in BERT and GPT
    };
    int64_t d_model = 512;
    int64_t vocabulary = 0; // tokens: rows of the table
    int64_t max_len = 5000; // positions; longer sequences are an error
    Positions positions = Positions::interleaved;
    double dropout = 0;
    bool batch_first = true;
};

// From tokens to the vocabulary: a linear layer, then softmax, log softmax or nothing.
struct Generator {
    enum class Output { probabilities, log_probabilities, logits }; // softmax, log_softmax, neither
    int64_t d_model = 512;
    int64_t vocabulary = 0;
    Output output = Output::probabilities;
};

// ---- Whole models ----

struct EncoderDecoder {
    EmbeddingsWithPositionalEncoding source_embedding = {};
    Encoder encoder = {};
    EmbeddingsWithPositionalEncoding target_embedding = {};
    Decoder decoder = {};
    Generator generator = {};
};

struct EncoderOnly { // as BERT
    EmbeddingsWithPositionalEncoding embedding = {};
    Encoder encoder = {};
};

struct DecoderOnly { // as GPT: a language model
    EmbeddingsWithPositionalEncoding embedding = {};
    Decoder decoder = {.layer = TransformerLayer{}};
    Generator generator = {};
};

// ---- Building ----

// Vocabularies, for a model that takes and returns text. Requires batch_first, a causal decoder, Decoder::mask none,
// and lengths as Encoder::mask and Decoder::source_mask.
struct TextVocabularies {
    // As many tokens as the embeddings' tables have rows. read_vocabulary() in vocabulary.hpp reads them from a file.
    // DecoderOnly has no source.
    std::vector<std::string> source = {}, target = {};
    bool source_characters = false, target_characters = false; // tokens are characters; else words between spaces
    std::string start = "<s>", end = "</s>";                   // entries of the target vocabulary
    int64_t max_length = 64;                                   // generated tokens, not counting the end
};

struct BuildOptions {
    std::string name = "transformer"; // letters, digits, '_', '-' and '.'
    std::string summary = {};         // empty: generated from the settings
    uint64_t seed = 0;
    DType dtype = DType::f32;                                   // of matrices: any but i32; vectors are f32
    std::optional<TextVocabularies> text = {};                  // for EncoderDecoder and DecoderOnly
    std::function<void(size_t done, size_t all)> progress = {}; // after every weight
};

// All throw Error(usage) with the block's setting, its value and what was expected, and Error(memory).
//
// Graphs, their inputs and their outputs (dims of batch_first; "M": as the mask says):
//
//     EncoderDecoder  encode: source "B S", M of the source -> memory, and the keys and values of it that the decoder's
//                             layers attend to: decoder.N.source_attention.key, decoder.N.source_attention.value
//                     decode: target "B T", these keys and values "B S C", M of the target, M of the source,
//                             position "B" -> probabilities | log_probabilities | logits
//     EncoderOnly     encode: source "B S", M of the source -> memory
//     DecoderOnly     decode, without the inputs of the source
//
// M           of the source                                        of the target
// lengths     source_lengths "B"                                   target_lengths "B"
// keys        source_mask "B S"                                    target_mask "B T"
// keep        source_mask "B S S"; in decode: memory_mask "B T S"  target_mask "B T T"
//
// `position` is where each target sequence begins, so that it can be decoded step by step with a key-value cache; 0 for
// whole sequences. The input exists only if Decoder::mask is none, because nothing could mask keys of earlier steps.
[[nodiscard]] ModelDescription build(const EncoderDecoder &model, const BuildOptions &options = {});
[[nodiscard]] ModelDescription build(const EncoderOnly &model, const BuildOptions &options = {});
[[nodiscard]] ModelDescription build(const DecoderOnly &model, const BuildOptions &options = {});

// Single blocks are models, too. They take vectors ("B S C") instead of ids. An encoder becomes the graph `encode`, a
// decoder the graph `decode` (input: `memory` "B S C", output: `decoded`). A layer becomes an encoder of one layer
// without a final norm, or, with source attention, a decoder, with their masks.
[[nodiscard]] ModelDescription build(const TransformerLayer &layer, const BuildOptions &options = {});
[[nodiscard]] ModelDescription build(const Encoder &encoder, const BuildOptions &options = {});
[[nodiscard]] ModelDescription build(const Decoder &decoder, const BuildOptions &options = {});
//     embed: ids "B T" -> embedded                 generate: decoded "B T C" -> probabilities | ...
[[nodiscard]] ModelDescription build(const EmbeddingsWithPositionalEncoding &embedding,
                                     const BuildOptions &options = {});
[[nodiscard]] ModelDescription build(const Generator &generator, const BuildOptions &options = {});

} // namespace lamina
