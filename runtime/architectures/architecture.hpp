// An architecture turns the settings of a model into layers. Each family of architectures is one file of families/.
#pragma once

#include "architectures/adapters.hpp"
#include "architectures/config.hpp"
#include "architectures/file_names.hpp"
#include "architectures/graph_writer.hpp"
#include "architectures/image_settings.hpp"
#include "architectures/sentence_modules.hpp"
#include "architectures/speech_settings.hpp"
#include "architectures/task.hpp"
#include "architectures/token_score.hpp"
#include "base/json.hpp"
#include "model/model.hpp"

#include <lamina/tokenizer.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {
class GgufValue;
}

namespace lamina::architectures {

// What a model's files say about text: the tokenizer, the chat template, lengths.
struct TextSettings {
    std::optional<Tokenizer> tokenizer; // none: `source` and `target` describe SentencePiece models
    std::string file;                   // the tokenizer's
    Json source = {}, target = {};      // of a model that generates text, as model.json describes its tokenizers
    std::map<std::string, int32_t> special = {}; // without `tokenizer`: tokens of the source that are no pieces
    std::optional<model::Chat> chat = {};
    int64_t positions = INT32_MAX;       // how many tokens a text may have
    int64_t context = INT32_MAX;         // the longest text that the model was trained with, in tokens
    int64_t tokenizer_limit = INT32_MAX; // the longest text that the tokenizer is made for
    bool cut_left = false;               // a text that is too long loses its beginning
    bool padded_left = false;            // of no matter to results, but a question then comes after its text
    Json sampling = nullptr;             // as model.json has it; null: greedy
    bool lowercase = false;              // texts are, before their tokenizer sees them
    std::string mask = {};               // the token that stands for a missing word; empty: there is none
    std::string bos = {};                // the token that begins a text; empty: no file names it
    std::string pad = {};                // the token behind shorter texts of a batch; empty: no file names it
    bool masked = true;                  // models are told which tokens are of a text, and not behind it
    Json fill = nullptr;                 // "fill" of model.json
    Prompts prompts = {};
    std::optional<int64_t> padding = {}; // an id of tokens that do not count at the end of a text
    Json pair = nullptr;                 // "pair" of model.json, if a GGUF file has it
};

// What a GGUF file says about rotary positions and config.json cannot (github.com/ggml-org/llama.cpp, llama-model.cpp).
struct GgufRotary {
    int64_t channels = 0;             // that are turned, of a head; 0: all
    std::vector<float> divisors = {}; // of the frequencies; empty: none
    double magnitude = 1;             // factor on the rotated channels
    bool axes = false;                // of images, tokens have positions on several
};

// The file that describes an architecture, and its text (described.hpp).
struct Description {
    std::filesystem::path file;
    std::string text;
};

// A model under construction, from a Hugging Face folder or a GGUF file.
struct Draft {
    const Config &config;
    model::Weights &weights;            // named as in the files; an architecture may add more
    const Config &generation;           // generation_config.json, or `config` if there is none
    bool gguf = false;                  // read from a GGUF file
    std::optional<bool> tie_words = {}; // "tie_word_embeddings", if `config` does not say it
    std::filesystem::path folder = {};  // of a Hugging Face model
    GgufRotary rotary = {};
    std::optional<SentenceModules> sentences = {}; // of a model that embeds texts
    std::optional<TokenScore> token_score = {};    // of a decoder that ranks texts
    std::optional<Task> task = {};                 // none: the architecture sets it, by the weights
    model::OutputTokens tokens = {};               // from `generation`; an architecture may add to them
    std::optional<TextSettings> texts = {};        // none: the files have no tokenizer
    int64_t sample_rate = 0;                // of the audio input "samples" of `encode`, of one length; 0: there is none
    Json alignment = nullptr;               // of that audio with texts, "alignment" of model.json; null: there is none
    std::optional<ImageInput> images = {};  // none: the model takes none
    std::optional<SpeechInput> speech = {}; // none: the model takes no audio of any length
    bool causal = false;                    // a token sees only those before it
    std::set<std::string, std::less<>> unused = {}; // weights that a file may contain and no layer needs
    std::set<std::string, std::less<>> spare = {};  // the same, but some layer may need them
    std::map<std::string, GraphWriter, std::less<>> graphs = {};
    const Description *description = nullptr;          // null: Lamina knows the architecture
    std::shared_ptr<const JsonText> preprocessor = {}; // preprocessor_config.json; null: that of `folder`
    Untied untied = {};                                // by adapters

    GraphWriter &graph(const std::string &name) { return graphs.try_emplace(name, weights, spare, gguf).first->second; }
    // The first of these tensors that the file contains; the first name, if it contains none.
    [[nodiscard]] std::string first_of(std::initializer_list<std::string> names) const;
    // Whether its graph takes where words stand on a page.
    [[nodiscard]] bool reads_pages() const;
    // The tensor that stands for `name` in a model where it shares the values of `source`. A file need not have both.
    // If it has both and they differ, they are not shared: transformers does the same (modeling_utils.py, tie_weights).
    // Nor are they if an adapter changes one of them.
    std::string tied(const std::string &name, const std::string &source);
};

// The name of a tensor in GGUF files and in Hugging Face folders. {i} is the number of a block.
struct TensorName {
    std::string_view gguf, hugging_face;
};

// A key of a GGUF file's metadata, after "ARCHITECTURE.", and one of config.json.
struct SettingName {
    std::string_view gguf, hugging_face;
};

// A key of config.json that is true for GGUF files with a tensor.
struct TensorFlag {
    std::string_view hugging_face, tensor;
};

// What a GGUF file says.
struct GgufFacts {
    std::function<const model::GgufValue *(std::string_view)> find; // the value of "ARCHITECTURE.KEY"; null: none
    const model::Weights &weights;                                  // named as in the file
};

// How GGUF files have an architecture (github.com/ggml-org/llama.cpp, conversion/ and src/models/).
struct GgufKind {
    std::string_view architecture;              // "general.architecture"; empty: not read from GGUF
    std::span<const TensorName> tensors = {};   // beside those of gguf_names.hpp, or instead
    std::span<const SettingName> settings = {}; // the same
    std::span<const TensorFlag> flags = {};
    bool divided_frequencies = false; // rope_freqs.weight has divisors of the rotary frequencies
    bool encoder = false;             // a token attends to those after it, too
    std::string_view only_with = {};  // a setting above 0 that its files have, where others share the architecture
    // Says in the equivalent config.json what the tables above cannot; settings may then differ from layer to layer.
    void (*complete)(const GgufFacts &file, Json &config) = nullptr;
};

inline constexpr std::string_view any_texts = "*"; // what "text_config" says itself

struct Architecture {
    std::string_view model_type; // in config.json
    void (*build)(Draft &draft);
    GgufKind gguf = {};
    // The base model's name within a model with a head, "bert" in "bert.pooler.dense.weight". What a file has beside it
    // and no layer takes belongs to the head of another task, and is left out. Empty: names have no such prefix.
    std::string_view base = {};
    std::span<const Renaming> renamed = {}; // of tensors in published files; transformers, conversion_mapping.py
    // Of a model that also sees: the model_type of its "text_config", which says how it is built for texts alone, or
    // any_texts; `build` is null.
    std::string_view of_texts = {};
    std::string_view usual_texts = "llama"; // with any_texts, where "text_config" says none
    // Adds the graph "encode_image", if the files say how images become its input. `whole`: all of config.json. Null:
    // only texts are read.
    void (*see)(Draft &draft, const Config &whole) = nullptr;
    bool flat = false; // published files have the settings for texts in config.json itself
    // Which "tie_word_embeddings" counts: that of the texts, or if they have none that of the whole; that of the whole;
    // or either.
    enum class Tied { by_texts, by_whole, by_either } tied = Tied::by_texts;
    std::string_view quantized = {}; // a method of "quantization_config" that `build` reads; empty: none
    bool transposed = false;         // folders have its matrices as inputs x outputs
};

// All architectures. Each file families/NAME.cpp defines families::NAME(), which returns those of the file; CMake
// collects them.
[[nodiscard]] const std::vector<Architecture> &all();

} // namespace lamina::architectures
