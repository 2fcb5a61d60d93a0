// A model: graphs of layers, weights, and how texts become what its graphs take.
#pragma once

#include "abi/call.hpp"
#include "model/decoding.hpp"
#include "model/images.hpp"
#include "model/speech.hpp"
#include "model/text_codec.hpp"
#include "model/weights.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {

// An input of a graph. `dims` are names and numbers ("B S 160"); a name is the same size everywhere in the graph.
struct GraphInput {
    std::string name;
    DType dtype = DType::f32;
    std::string dims;
};

// One layer of a graph, repeats unrolled and names resolved.
struct Node {
    std::string name;  // unique in the model; also the name of its first output
    std::string type;  // a layer's id
    std::string place; // in model.json: "/graphs/encode/layers/2/layers/0"
    std::map<std::string, abi::ParamValue, std::less<>> params;
    // Port -> tensor. The empty port, which every node except a graph's first has, holds the previous node's output. It
    // goes to the layer's first input, unless that one is also named here. A tensor is a graph input, or "NODE" (first
    // output) or "NODE.PORT" (another output; whether it exists is not checked here) of an earlier node.
    std::map<std::string, std::string, std::less<>> inputs;
    // Port -> name in the safetensors file, if model.json maps it; other weights are "NODE.PORT".
    std::map<std::string, std::string, std::less<>> weights;
};

struct Graph {
    std::string name;
    std::vector<GraphInput> inputs;
    std::vector<Node> nodes;
    std::map<std::string, std::string, std::less<>> outputs; // name -> tensor, which is never a graph input
};

// What encode takes instead of text, of one size: an input, f32 (B, sizes...).
struct SourceValues {
    std::string input;
    Shape sizes;

    // The input for so many sources.
    [[nodiscard]] TensorType type(int64_t batch) const {
        TensorType out{DType::f32, {batch}};
        out.shape.insert(out.shape.end(), sizes.begin(), sizes.end());
        return out;
    }
};

// How to generate a sequence. Names are inputs or outputs of graphs, and were checked at load time.
// Where in the audio each token is spoken: some heads of a decoder attend to it.
struct Alignment {
    struct Head {
        std::string queries, keys;   // an output of the graph, (B, T, C), and one of those that are encoded, (B, S, C)
        int64_t heads = 1, head = 0; // of how many in these, and which
    };
    std::string graph;  // takes ids and position, and what is encoded, as decode does
    int64_t median = 1; // positions of which the middle value counts, odd
    std::vector<Head> heads = {};
};

struct Generation {
    std::string encode, decode;                // graphs; encode is empty for decoder-only models
    std::string source_ids;                    // an input of encode; empty unless it takes texts
    std::string source_lengths;                // of encode, and perhaps decode: of texts, or of audio in frames
    std::optional<SourceValues> source_values; // instead, a window of audio or an image in patches
    std::optional<AudioInput> audio; // where it is audio: in frames, or padded with zeros to the size of source_values
    bool decode_takes_lengths = false;  // decode has an input named like source_lengths
    std::vector<std::string> encoded;   // outputs of encode that are inputs of decode, with the same names
    std::string target_ids, position;   // inputs of decode
    std::string target_lengths;         // likewise, how many of a row's ids count; empty: all of them do
    std::string image_rows, image_mask; // likewise, what images show, (B, T, C), and which ids it stands in for,
                                        // (B, T); empty: decode takes no images
    std::string image_ahead;            // likewise, how many ids after its own each one sees, (B, T): those of its
                                        // image; empty: it sees none
    std::string coordinates;            // likewise, where each id is in time, and in the rows and the columns of its
                                        // image (B, T, 3); empty: its position alone counts
    int64_t image_channels = 0;         // C
    std::string scores;                 // its output, (B, T, V)
    bool probabilities = false;         // scores are probabilities; else logits (log probabilities are logits)
    int64_t max_length = 0;             // generated tokens, the end not counted
    int64_t context = INT32_MAX;        // tokens that a target may have in all, as the model was trained
    int64_t positions = INT32_MAX;      // and as decode has positions for, which is found when layers are checked
    std::optional<Alignment> alignment = {}; // of a source of audio
    std::map<std::string, double> sampling;  // how its makers sample from it: numbers of sampling.hpp
    Decoding decoding = {};
    std::shared_ptr<const TextCodec> source, target; // source: null without an encoder, or if it takes no texts

    // Whether decode has states that cannot forget their last tokens: such a row goes on, or begins anew.
    [[nodiscard]] bool recurrent() const { return !target_lengths.empty(); }
    [[nodiscard]] bool sees() const { return !image_rows.empty(); }
    // Whether the tokens of an image see each other: they have to be computed together.
    [[nodiscard]] bool sees_ahead() const { return !image_ahead.empty(); }
    // Whether it is given texts: as sources or, without an encoder, as prompts.
    [[nodiscard]] bool takes_texts() const { return !source_values && !audio; }
    // Whether it writes what an image says or shows: how an image becomes a source is in Model::images.
    [[nodiscard]] bool takes_images() const { return source_values && !audio; }
    // How given texts become ids: as a source or, without an encoder, as a prompt in the target's tokens.
    [[nodiscard]] const TextCodec &input() const { return encode.empty() ? *target : *source; }
};

// What a model that reads texts, and writes none, is given and gives. Names were checked at load time.
// A part of the text that a model reads for two: a text of its own, a prompt, or one of the two.
struct PairPart {
    enum class Of { own_text, prompt_text, first_text, second_text };
    Of of = Of::own_text;
    std::string text = {};
};

struct Reading {
    // What every text is filled with up to a length, because the model was trained with such texts.
    struct Fill {
        int64_t length = 0; // in tokens
        int32_t id = 0;
        bool counted = true; // as if the text had these tokens
    };
    // How a model that gives vectors of tokens reads a query or a document.
    struct Role {
        std::string prompt = {};            // put before each text
        std::optional<int32_t> mark = {};   // a token before that, behind the special ones that begin a text
        int64_t longest = INT32_MAX;        // tokens, special ones included
        std::optional<Fill> fill = {};      // tokens after a shorter text, which have vectors, too
        std::vector<int32_t> left_out = {}; // tokens whose vectors do not count
    };
    // (B, C); (B, L); (B, T, L); (B, T, 2); (B, T, V); (B, T, C)
    enum class Gives { embedding, classes, token_classes, answers, words, token_vectors };
    enum class Side { left, right };

    std::string place = "/reading/"; // in model.json
    std::string graph;
    std::string file; // of the tokenizer
    Tokenizer tokenizer;
    std::string ids = {}, lengths = {}, token_types = {}, starts = {}; // inputs of the graph; the last two may be empty
    std::string output = {};
    Gives gives = Gives::embedding;
    bool sparse = false; // an embedding has a value for each token of the vocabulary, and most of them are 0
    Scores scores = Scores::softmax;
    std::vector<std::string> labels = {};                         // of classes
    int64_t longest = INT32_MAX;                                  // tokens of a text, special ones included
    Side cut = Side::right;                                       // where a text that is too long is cut
    std::map<std::string, std::string, std::less<>> prompts = {}; // put before texts, by name
    std::string default_prompt = {};                              // a name, or empty
    std::optional<int32_t> padding = {};                          // tokens with this id at the end do not count
    // What two texts are read within, such as a question to a reranker, without a prompt and with one, which is empty
    // if there may be none. none: two texts are what the tokenizer makes of them.
    struct Pair {
        std::vector<PairPart> plain, prompted = {};
    };
    std::optional<Pair> pair = {};
    std::map<std::string, Role, std::less<>> roles = {}; // of vectors of tokens: "query" and "document"
    bool mean_score = false;       // the score of a query and a document is divided by the vectors of the query
    std::optional<Fill> fill = {}; // none: only batches have tokens behind texts
    std::string mask = {};         // of a model that gives words: the token that
    int32_t mask_id = -1;          // stands for a missing one, and its id
};

// How a model reads pages: their words, where these stand and, usually, what the page looks like.
struct Pages {
    Reading reading;                  // of the words; gives classes of pages, those of tokens, or answers
    std::string boxes = {};           // an input of its graph, i32 (B, T, 4)
    std::optional<Images> image = {}; // another, its patches; none: the model does not see
};

// How a conversation becomes a text that the model continues: lamina/chat_template.hpp.
struct Chat {
    std::string text;         // of the template
    std::string bos, eos;     // tokens that it may write
    std::string tools_text{}; // of another one, for conversations with tools; empty: there is one for all
};

// Opens the files that a model names. All throw Error(input).
struct TextFiles {
    std::function<Vocabulary(const std::string &file)> vocabulary;
    std::function<Tokenizer(const std::string &file)> tokenizer;
    std::function<std::string(const std::string &file)> text; // the bytes of the file
};

// A token that a caller may choose by name.
struct TokenChoice {
    enum class At { output, source_begin, source_end };
    // source_begin: in front of a source's tokens, in place of another of `ids` there; source_end: likewise behind them
    At at = At::output;
    size_t place = 0; // of output: in OutputTokens::start; behind it, the first token that is written
    std::map<std::string, int32_t, std::less<>> ids = {}; // "en" -> 50259
};

// Tokens that say how many seconds after the beginning of a window of audio something was said.
struct TimestampTokens {
    int32_t none = 0; // ends the start of a text without them; those above it are 0, `step`, 2 `step`, ...
    double step = 0;  // in seconds
    std::optional<int32_t> latest = {}; // how many steps may come before the first one of a text; none: any

    [[nodiscard]] int32_t first() const { return none + 1; }
};

// Tokens that mean something to generation; ids of those that the decoder takes.
struct OutputTokens {
    // What the decoder is given first, before a prompt, if there is one. A list of several is a choice: the likeliest
    // of them there, such as the language of speech.
    std::vector<std::vector<int32_t>> start = {};
    std::map<std::string, TokenChoice, std::less<>> choices = {}; // "language" -> ...
    std::vector<int32_t> end = {};                                // each of them ends an output
    std::vector<int32_t> suppress = {};                           // never chosen
    std::vector<int32_t> begin_suppress = {};                     // not chosen right after the start
    std::optional<TimestampTokens> timestamps = {};
};

struct Model {
    std::filesystem::path folder; // or the GGUF file
    std::filesystem::path file; // its model.json; of other formats, whose graphs Lamina makes, the folder or file again
    std::string json;           // its model.json
    std::string name, summary;
    std::map<std::string, Graph, std::less<>> graphs;
    Weights weights;
    std::optional<Generation> generation;
    OutputTokens tokens; // as the key "tokens" says; else the start and the end of `generation`
    std::optional<Reading> reading;
    std::optional<Images> images;
    std::optional<Speech> speech;
    std::optional<Pages> pages;
    std::optional<Chat> chat;
    bool adapted = false;                  // adapters are merged into its weights
    std::filesystem::path projector = {};  // the file that reads images for it, of a model in a GGUF file
    std::string no_images = {};            // why it has none, and what to do
    std::string states = {};               // what the names of states begin with, of one that shares its weights
    std::vector<std::string> notes = {};   // what became of its weights when they were read
    std::vector<std::string> ignored = {}; // places in config.json that change nothing: "/directionality"

    // Checks everything that does not need the plugins. A folder without model.safetensors is a model without weights.
    // Throws Error(input) with the file, the place in it, what was expected and what was found.
    static std::shared_ptr<Model> load(const std::filesystem::path &folder);
    // The same for the text of a model.json, wherever weights and texts come from. Messages use `name` in place of the
    // folder.
    static std::shared_ptr<Model> read(std::string_view json, Weights weights, const TextFiles &files,
                                       const std::string &name);
    // The same in memory: vocabularies and tokenizers are texts by file name. Reads no file.
    static std::shared_ptr<Model> parse(std::string_view json, Weights weights,
                                        const std::map<std::string, std::string, std::less<>> &texts,
                                        const std::string &name);
};

} // namespace lamina::model
