// What a model holds: its graphs with their layers, its weights, and how it generates text. `lamina inspect` prints it.
//
//     const lamina::ModelContents contents = lamina::inspect(runtime.load("models/g2p"));
//     for (const lamina::ModelLayer &layer : contents.graphs.at("encode").layers)
//         std::cout << layer.name << ": " << layer.type << '\n';
//
// These are copies. They may outlive the model and the runtime.
#pragma once

#include <lamina/lamina.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lamina {

// A tensor of a graph: an input, or the output of a layer.
struct ModelTensor {
    std::string name;
    DType dtype = DType::f32;
    // "B S 160": numbers, names, and expressions of both ("2*S"). A name has the same size everywhere in the graph.
    // Empty if an earlier layer does not fit: see ModelContents::fault.
    std::string dims;
};

// An input or weight of a layer, and the port that it is bound to.
struct PortTensor {
    std::string port, tensor;
};

// A layer of a graph. layer_contract() in plugins.hpp describes its type.
struct ModelLayer {
    using Param = std::variant<bool, double, std::string>;

    std::string name;                                 // unique in the model
    std::string type;                                 // the layer's id
    std::map<std::string, Param, std::less<>> params; // as given; the others have the contract's defaults
    // In the contract's order, without the inputs and weights that the model leaves out.
    std::vector<PortTensor> inputs;   // inputs of the graph, or outputs of earlier layers
    std::vector<PortTensor> weights;  // names in ModelContents::weights
    std::vector<ModelTensor> outputs; // one for each output of the contract; the first has the layer's name
};

struct ModelGraph {
    std::vector<ModelTensor> inputs; // as Session::run() takes them; dims as the model declares them
    std::vector<ModelLayer> layers;  // in the order in which they run
    std::map<std::string, std::string, std::less<>> outputs; // name -> the tensor of a layer
};

struct ModelWeight {
    TensorType type;
    bool used = false; // by a layer; Runtime::load() refuses a model with unused weights
};

// How text becomes token ids, and ids become text.
struct TextFormat {
    enum class Split { characters, words, tokenizer };

    std::string file;                // the vocabulary, or tokenizer.json
    size_t entries = 0;              // one more than the highest id
    Split split = Split::characters; // tokens are characters, words between spaces, or found by a tokenizer
    bool lowercase = false;          // ASCII letters are converted to lower case first
};

// Audio input: one channel.
struct AudioFormat {
    int64_t rate = 0;                     // samples per second
    int64_t length = 0;                   // samples per window: longer audio is cut into windows
    std::vector<Timestamps> timestamps{}; // that transcripts may have

    [[nodiscard]] bool tells(Timestamps which) const {
        return std::find(timestamps.begin(), timestamps.end(), which) != timestamps.end();
    }
};

// Images in prompts: image_prompt_ids() of image.hpp.
struct ImagePrompts {
    std::string mark;              // what stands for an image in a prompt: "<image>"
    int64_t height = 0, width = 0; // pixels of what the model sees of an image; 0: it sees images of any size
    int64_t tokens = 0;            // that an image takes; of any size: at most
};

// How a model generates text.
struct TextGeneration {
    std::string encode, decode;       // graphs; `encode` is empty for a language model, which continues its input
    TextFormat source, target;        // of the input and of the output; `source` is empty if the input is no text
    std::optional<AudioFormat> audio; // of the input, if it is audio
    // Tokens of the target: every output begins with `start`, and any of `end` ends it.
    std::vector<std::string> start, end;
    // Settings that a model takes as tokens, with their values: GenerateOptions::choices.
    std::map<std::string, std::vector<std::string>, std::less<>> choices;
    int64_t max_length = 0;               // maximum number of tokens in an output, not counting the end
    int64_t beams = 1;                    // of a search, unless GenerateOptions::beams says how many
    std::optional<ImagePrompts> images{}; // if prompts may have some
    std::vector<std::string> left_open{}; // those of `choices` that the model makes where the caller does not
};

// How a model turns texts into vectors, classes or missing words: embed(), embed_tokens(), classify(), label_tokens(),
// answer() and fill_masks() of texts.hpp.
struct TextReading {
    enum class Gives { embedding, classes, token_classes, answers, words, token_vectors };

    std::string graph, output;
    std::string tokenizer; // its file name
    Gives gives = Gives::embedding;
    bool sparse = false; // an embedding has a weight for each token of the vocabulary, by id, and most of them are 0
    std::vector<std::string> labels; // of classes; those without a label are "LABEL_0", "LABEL_1", ...
    int64_t longest = 0;             // maximum number of tokens in a text, including special ones
    std::map<std::string, std::string, std::less<>> prompts{}; // what is put before texts, by ReadOptions::prompt
    std::string default_prompt{};                              // the name of one of them, or empty
    std::string mask{};                                        // what stands for a missing word; empty: nothing does
    bool pairs = false; // classes are of two texts within a text of the model's own, as of a reranker that is asked
};

// How a model takes images: classify_images(), embed_images(), match_images() and generate_from_images() of image.hpp.
struct ImageReading {
    enum class Gives { embedding, classes, texts };

    std::string graph, output; // texts: no output, but ModelContents::generation says how they are written
    Gives gives = Gives::embedding;
    std::vector<std::string> labels{}; // of classes; those without a label are "LABEL_0", "LABEL_1", ...
    int64_t height = 0, width = 0;     // pixels of what the model sees of an image
    bool matches_texts = false;        // it also gives vectors of texts, which say how well they describe an image
};

// How a model takes audio and scores characters for each moment of it: transcribe() of audio.hpp.
struct SpeechReading {
    std::string graph, output;
    AudioFormat audio{};               // `length`: of the longest window
    std::vector<std::string> labels{}; // what each score is of
};

// How a model reads pages: classify_pages(), label_words() and answer_pages() of page.hpp.
struct PageReading {
    std::string graph, output;
    std::string tokenizer;                                  // its file name
    TextReading::Gives gives = TextReading::Gives::classes; // of a page, token_classes of its words, or answers
    std::vector<std::string> labels{}; // of classes; those without a label are "LABEL_0", "LABEL_1", ...
    int64_t longest = 0;               // maximum number of tokens in a part of a page, including special ones
    bool sees = false;                 // it also takes the image of a page
    int64_t height = 0, width = 0;     // pixels of what it sees of that
};

struct ModelContents {
    std::string name, summary;
    std::filesystem::path folder; // or the name of a model in memory
    std::map<std::string, ModelGraph, std::less<>> graphs;
    std::map<std::string, ModelWeight, std::less<>> weights;
    std::optional<TextGeneration> generation; // if the model generates text, from text, audio or images
    std::optional<TextReading> reading;       // if it takes text and gives numbers
    std::optional<ImageReading> images;       // if it takes images
    std::optional<SpeechReading> speech{};    // if it takes audio and scores characters
    std::optional<PageReading> pages{};       // if it takes the words of pages
    // Of a Hugging Face folder: keys of config.json that change nothing, as JSON pointers ("/directionality"). Keys
    // about training and the like, which every config.json has, are not among them.
    std::vector<std::string> ignored_keys;
    // What became of weights when they were read, in a line each: "matrices quantized by gptq are read: 14 as q4_0".
    std::vector<std::string> notes{};
    std::string no_images{};    // of a model that may see images, but is read for texts alone: why, and what to do
    std::optional<Error> fault; // why Runtime::load() refuses the folder

    // Whether it generates text from text, as Session::generate() does.
    [[nodiscard]] bool writes_of_texts() const {
        return generation && !generation->audio && !(images && images->gives == ImageReading::Gives::texts);
    }
    // Of the audio that it transcribes; none: it takes no audio.
    [[nodiscard]] std::optional<AudioFormat> audio() const {
        if (speech) return speech->audio;
        return generation ? generation->audio : std::nullopt;
    }
};

[[nodiscard]] ModelContents inspect(const Model &model);

// The same for a folder, even if its parts do not fit together: then `fault` says why. Throws Error(input) if a part
// cannot be read, Error(plugin) if a layer has no plugin.
[[nodiscard]] ModelContents inspect(const Runtime &runtime, const std::filesystem::path &folder,
                                    const LoadOptions &options = {});

} // namespace lamina
