// The host API: loads models and runs them on a Vulkan GPU or on the CPU.
//
//     lamina::Runtime runtime;
//     auto model = runtime.load("models/g2p");
//     auto session = runtime.session(model, runtime.device("auto"));
//     for (const auto &text : session.generate({"vulkan", "transformer"})) std::cout << text << '\n';
//
// Errors are thrown as lamina::Error (error.hpp). Objects are cheap handles: copies stand for the same object, and all
// may outlive each other. Any thread may use any of them. Threads that use the same session take turns, so use a
// session for each thread that should work at the same time. If a device is lost while a session works, the session
// reopens it once and repeats the work. A second loss is Error(device_lost).
#pragma once

#include <lamina/error.hpp>
#include <lamina/grammar.hpp>
#include <lamina/model_description.hpp>
#include <lamina/tensor.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina {

using TensorMap = std::map<std::string, Tensor, std::less<>>;

struct RuntimeOptions {
    std::vector<std::filesystem::path> plugin_folders{}; // searched before $LAMINA_PLUGIN_PATH and Lamina's own
    bool validation = false;                             // Vulkan's validation layers, core and synchronization
    bool cache = true;                                   // remember proofs and timings in ~/.cache/lamina
    // Called with a line that the user should see: a barred variant, a lost device, a validation message. Any thread
    // may call it, but only one at a time.
    std::function<void(const std::string &)> notify{};
    // Called before each case while a run waits for variants to be proved on a device, which may take seconds in all.
    // The text says what is being proved: "attention, tiled: case 3 of 17"; it is empty when that is over. The function
    // may throw to stop; what has been proved is kept. Called as `notify` is.
    std::function<void(const std::string &)> proving{};
    // Called on the thread of a call that uses a device, before each piece of its work: a run of a graph (a token of a
    // text), any run for a comparison, a case that is checked, a layer on the CPU. May throw to stop the call.
    std::function<void()> working{};
    // How long runs wait, in all, for variants to be proved and measured beyond what they require. If `cache` is set,
    // the rest is proved beside the work, in a fifth of the time, and used by later processes. Default: on a GPU, if
    // `cache` is set, 20 s, because its fastest variants may be ten times as fast as what is required; else 0, because
    // software drivers take minutes to compile them.
    std::optional<std::chrono::duration<double>> proving_time{};
};

// Describes a device. A session opens it.
struct Device {
    std::string id;                        // "cpu", "reference", "vulkan:0"
    std::string name;                      // of the hardware: "NVIDIA H200"
    std::string kind;                      // "discrete", "integrated", "virtual", "software", "cpu", "interpreter"
    std::string driver, api_version, uuid; // empty for the CPU
    uint64_t memory_bytes = 0;
    std::vector<std::string> unusable; // why it cannot be used; empty if it can
    std::string reason;                // why device() chose it
    std::vector<Device> parts{};       // of several devices, those that stand in for one: then `kind` is "several"
};

namespace detail {
struct RuntimeState;
struct ModelState;
struct SessionState;
struct Access;
} // namespace detail

// Small changes of a model (LoRA), which are merged into its weights when these are first read: a folder of PEFT for a
// model of a Hugging Face folder, or a GGUF file for one of a GGUF file. Each matrix that it changes becomes f32.
struct Adapter {
    std::filesystem::path path; // or the name of a repository, ORG/NAME, in the cache of Hugging Face
    double scale = 1;           // how strong its changes are; 1: as they were trained
};

struct LoadOptions {
    std::vector<Adapter> adapters{}; // in any order: changes of the same matrix are added
    // Of a model in a GGUF file: the file that reads images for it, its projector. Empty: *mmproj*.gguf beside it, if
    // there is one that fits.
    std::filesystem::path mmproj{};
};

class Model {
  public:
    Model(const Model &) = default; // moves copy, too, so that a handle is never empty
    Model &operator=(const Model &) = default;
    ~Model() = default;

    [[nodiscard]] const std::filesystem::path &folder() const;
    [[nodiscard]] const std::string &name() const;

  private:
    friend class Runtime;
    friend struct detail::Access;
    Model() = default;
    std::shared_ptr<const detail::ModelState> state_;
};

struct GraphTimes; // measure.hpp

// How exact the factors of matrix products are. Sums are always in f32, and so is everything else.
enum class Precision {
    full, // as floats
    half, // layers may take activations in 16 bits, as far as that makes them faster on the device
    int8, // or in 8 bits, as integers of which up to 32 share a factor
};
inline constexpr std::array<std::string_view, 3> precision_names{"full", "half", "int8"}; // in this order
[[nodiscard]] Precision precision_named(std::string_view name); // throws Error(usage) for another name

// In which keys and values of earlier tokens may be kept, if the layer offers it: f16 takes half the memory of f32,
// q8_0 about a quarter.
inline constexpr std::array cache_dtypes{DType::f32, DType::f16, DType::q8_0};
[[nodiscard]] DType cache_named(std::string_view name); // throws Error(usage) for another name

struct SessionOptions {
    std::map<std::string, std::string, std::less<>> variants{}; // layer id -> variant; for others, the fastest
    Precision precision = Precision::full; // every layer keeps the tolerance that it declares for it
    bool keep_all = false;                 // run() can return any tensor; takes more memory, and no fusion runs
    bool fusion = true;                    // one layer may replace several, if it passed its proof and is faster
    DType cache = DType::f32;              // one of cache_dtypes
    // How many of the model's layers each device has, of several; empty: each as many as it has memory for, in order.
    // Session::parts() says what came of it.
    std::vector<size_t> split{};
    std::vector<uint64_t> max_memory{}; // bytes of each device that may be filled so, if not all that is free
    // Called after every run of a graph with the times of its layers. Measuring takes time, too.
    std::function<void(const GraphTimes &)> profile{};
};

// Settings that a model takes as tokens: {"language", "en"}, {"task", "translate"}, {"source_language", "deu_Latn"}.
// TextGeneration::choices (inspect.hpp) lists those of a model.
using Choices = std::map<std::string, std::string, std::less<>>;

// What a transcript tells the times of. Models such as Whisper know those of segments; those that score characters for
// each moment of audio (CTC), of words and of characters.
enum class Timestamps { none, segments, words, characters };

// How text is generated. What is left open here is as the model says in its files; if they do not say it either, a text
// is generated greedily. A text is sampled only if a temperature is given here: suggested_options() of texts.hpp.
struct GenerateOptions {
    size_t batch = 64; // how many texts are decoded together
    // Number of beams; with a temperature, of samples. If absent: as the model says, else 1.
    std::optional<int64_t> beams{};
    // With a temperature: false: samples are independent. True: they compete as beams do, and extensions are drawn from
    // those of all; log probabilities are then those of what is drawn from. True where `beams` is absent.
    bool beams_compete = false;
    int64_t hypotheses = 0; // how many hypotheses of each text to return; 0: one per beam
    // Rank by log probability / tokens^length_penalty, counting the end. If absent: as the model says, else 1.
    std::optional<double> length_penalty{};
    double temperature = 0; // above 0: sample
    size_t top_k = 0;       // sample among the k most likely tokens; 0: all
    double top_p = 1.0;     // sample among the fewest tokens that together have this probability
    double min_p = 0;       // sample among tokens with at least this fraction of the likeliest one's probability
    // Four more ways to leave out tokens, as transformers names them; the values here leave out none.
    double top_h = 0;          // the likeliest ones that have this fraction of the entropy of the first hundred
    double typical_p = 1;      // the fewest of typical likelihood that together have this probability
    double epsilon_cutoff = 0; // those with at least this probability
    double eta_cutoff = 0;     // likewise, but less where the entropy is high
    double top_n_sigma = 0;    // above 0: those whose scores are within so many standard deviations of the best
    // XTC: so often, of the tokens with at least the threshold's probability, all but the least likely are left out.
    double xtc_probability = 0, xtc_threshold = 0.1;
    // 2: mirostat. Tokens that would surprise too much are left out, so that those of the text surprise by mirostat_tau
    // bits on average: by how much at most follows the error of each token at the rate mirostat_eta. 0: off. Not for
    // beams that compete.
    size_t mirostat = 0;
    double mirostat_tau = 5, mirostat_eta = 0.1;
    // Above 1: make tokens that have occurred, also in the prompt, less likely. If absent: as the model says,
    // else 1.
    std::optional<double> repetition_penalty{};
    // Subtracted from the score of a token that occurs in the answer: as often as it occurs, and once.
    double frequency_penalty = 0, presence_penalty = 0;
    // DRY: a token that would lengthen a sequence that occurred before, to more than dry_allowed_length tokens, loses
    // multiplier * base^(length - dry_allowed_length). No sequence goes beyond a token with a text of dry_breakers.
    double dry_multiplier = 0, dry_base = 1.75;
    size_t dry_allowed_length = 2;
    std::vector<std::string> dry_breakers{"\n", ":", "\"", "*"};
    std::map<int32_t, double> biases{}; // added to the scores of these tokens; -infinity excludes them
    int64_t min_length = 0;             // tokens before which a text does not end, except at a stop text
    bool ignore_end = false;            // an end token is never chosen: texts end at stop texts and at max_length
    uint64_t seed = 0;
    uint64_t first = 0;     // number of the first text: texts passed in parts get the same samples as all at once
    int64_t max_length = 0; // tokens; 0: the model's default. Never beyond the model's positions
    Choices choices;        // what is not chosen here, the model chooses
    // Hypotheses tell how likely each token was, and so many of the likeliest ones in its place; at most 128. No token
    // is then left out because a grammar leaves no choice.
    std::optional<size_t> likeliest{};
    // With `likeliest`: the same of the tokens of the prompt, which is then read anew, whatever `reuse` says. Only for
    // one beam, with caches, and models without an encoder; a prompt has no images then.
    bool prompt_scores = false;
    std::vector<std::string> stop; // the output ends before the first of these; none: those of the model, if it has any
    std::optional<Grammar> grammar{}; // what the text must be; it ends where nothing can follow
    bool special_tokens = true;       // add the model's special tokens to a prompt; false: the prompt contains them
    bool skip_special_tokens = true;  // false: the text has them, such as those around a call of a tool; never the end
    bool cached = true;               // false: no key-value cache; every step computes the whole sequence
    // Do not compute again what a prompt has in common with the text that was generated before, as in a conversation.
    // The numbers may differ in their last bits from those of a session that never saw that text.
    bool reuse = false;
    // Where a text repeats what it or its prompt says, guess at most so many tokens ahead and check them in one step,
    // as long as that is faster; 0: never, but with a draft (Session::use_draft) up to 15. Only for one beam, and a
    // text that is written alone. It is the same text, but numbers may differ in their last bits. Models with memories
    // do not guess.
    size_t guess_ahead = 0;
    std::function<void(size_t done, size_t all)> progress; // after every batch
    // Called with each new piece of a text, in whole characters. Only for one beam.
    std::function<void(size_t text, std::string_view piece)> stream;
    // Called for a text that has no answer, and so no hypotheses, because one of its scores is NaN or infinite. Without
    // this function, the error is thrown, and the other texts have no answers, either.
    std::function<void(size_t text, const Error &why)> failed;
    Timestamps timestamps = Timestamps::none; // of transcripts: transcribe() of audio.hpp
    // Of audio: leave out silence before and behind what a window hears. A recording without a voice has no parts.
    bool skip_silence = false;
};

struct TokenScore {
    int32_t token = 0;
    std::string text;           // bytes: a character may take several tokens
    double log_probability = 0; // natural logarithm; by the model alone, without options, -infinity if it is suppressed
};

struct ScoredToken : TokenScore {
    std::vector<TokenScore> likeliest; // in its place, best first: GenerateOptions::likeliest
};

// Why a text ended: at an end token, before one of GenerateOptions::stop, or at the maximum length.
enum class Finish { end, stop, length };

struct Hypothesis {
    std::string text;
    std::vector<int32_t> tokens;
    // Natural logarithm; of all tokens and, if it was reached, the end. With a grammar, of those that were chosen among
    // several, as if there were none.
    double log_probability = 0;
    double score = 0; // hypotheses are ranked by it
    Finish finish = Finish::length;
    size_t reused = 0;                 // tokens of the prompt that were not computed: GenerateOptions::reuse
    std::vector<ScoredToken> scores{}; // of `tokens`, if GenerateOptions::likeliest is given
    size_t guessed = 0, accepted = 0;  // tokens that were guessed ahead, and of these the right ones
    // Of what the model read before the answer, but for the first token: GenerateOptions::prompt_scores. Tokens that
    // the model's files suppress count here like all others.
    std::vector<ScoredToken> prompt_scores{};
    std::vector<int32_t> start{}; // what `tokens` follow, such as the language that was heard; with an encoder
    std::vector<double> ends{};   // of `tokens`, in seconds: Timestamps::words of a model with an encoder
};

class Session {
  public:
    Session(const Session &) = default;
    Session &operator=(const Session &) = default;
    ~Session() = default;

    // Runs one graph. Inputs have the graph's names. The result contains the graph's outputs. With keep_all it also
    // contains the tensors that match `taps`: outputs or tensors of any layer, with '*' and '?' as in a shell
    // ("encoder.*.norm_feed_forward"). Throws Error(unproven) if no variant of a layer has passed its proof here.
    [[nodiscard]] TensorMap run(const std::string &graph, const TensorMap &inputs,
                                const std::vector<std::string> &taps = {});

    // What run() returns for inputs of these shapes, without running it: the types of the graph's outputs. Throws
    // Error(input) as run() does.
    [[nodiscard]] std::map<std::string, TensorType, std::less<>> output_types(const std::string &graph,
                                                                              const TensorMap &inputs) const;

    // Generates text from texts, as the model's "generation" block describes: the best hypothesis of each, in the same
    // order. An empty source gives an empty text; in a model without an encoder, an empty prompt is continued. Throws
    // Error(input) for a text that has unknown tokens or is too long for the model.
    [[nodiscard]] std::vector<std::string> generate(const std::vector<std::string> &texts,
                                                    const GenerateOptions &options = {});
    // The same with all hypotheses of each text (options.beams of them), best first; none for an empty source.
    [[nodiscard]] std::vector<std::vector<Hypothesis>> hypotheses(const std::vector<std::string> &texts,
                                                                  const GenerateOptions &options = {});

    // From now on a smaller model with the same vocabulary guesses what a text goes on with that is written alone, with
    // one beam. Its guesses are checked in one step, so that it is the same text, but numbers may differ in their last
    // bits. How many tokens are guessed depends on how many were right; where that is not faster, none are. The session
    // of the draft may be on another device. Throws Error(input) for another vocabulary, and for models with an encoder
    // or memories, and Error(usage) if two sessions could wait for each other: if the draft ever had a draft, or takes
    // turns with this one, or if this one ever was a draft. Sessions that take turns count as one.
    void use_draft(const Session &draft);

    // A session of the same model with adapters, which uses the weights of this one. Beside a matrix of a product, an
    // adapter takes no more memory than its own file; anything else that it changes, such as a table of embeddings, is
    // there a second time. What it adds is in memory as long as the session. Texts of one are never found in the caches
    // of another. All of them take turns, are on the same devices, and have the draft that this one has now. Throws
    // Error(input) for an adapter that does not fit, and for a model that has adapters in its weights.
    [[nodiscard]] Session with_adapters(const std::vector<Adapter> &adapters) const;

    [[nodiscard]] const Device &device() const;

    // What a device has of the model.
    struct Part {
        Device device;
        size_t layers = 0;       // that repeat in the model; 0 if it has nothing
        std::string first, last; // their names, such as "model.layers.0"
        uint64_t weights = 0;    // bytes
        uint64_t caches = 0;     // bytes, of a text of so many tokens
        int64_t tokens = 0;
        std::optional<uint64_t> room{}; // bytes that were free for both; none: it was told how many layers to take
    };
    // Of several devices; empty if there is one.
    [[nodiscard]] std::vector<Part> parts() const;

  private:
    friend class Runtime;
    friend struct detail::Access;
    Session() = default;
    std::shared_ptr<detail::SessionState> state_;
};

class Runtime {
  public:
    explicit Runtime(const RuntimeOptions &options = {});
    Runtime(const Runtime &) = default;
    Runtime &operator=(const Runtime &) = default;
    ~Runtime() = default;

    // Every device, usable or not: Vulkan's in the loader's order, then the CPU.
    [[nodiscard]] std::vector<Device> devices() const;
    // "auto", "cpu", "vulkan:N", "uuid:...", "reference" (only the layers' references) or "interpreter" (only for
    // check() of proof.hpp). "auto" prefers a discrete GPU, then an integrated or virtual one, then the CPU, and never
    // takes a software Vulkan driver. Several devices, for the layers of one model: their ids with commas between them,
    // "vulkan:0,vulkan:1,cpu". Throws Error(no_device) if a device is absent or unusable, Error(usage) for one that is
    // given twice or cannot be one of several.
    [[nodiscard]] Device device(const std::string &id = "auto") const;
    // Why there is no Vulkan device; empty if there is one.
    [[nodiscard]] std::string no_vulkan() const;

    // Reads a model folder and validates all of it against the available plugins. Errors that do not depend on the
    // sizes of the inputs are thrown here, the others by run().
    [[nodiscard]] Model load(const std::filesystem::path &folder, const LoadOptions &options = {}) const;
    // The same for a model in memory. No file is read or written.
    [[nodiscard]] Model load(const ModelDescription &description) const;
    [[nodiscard]] Session session(const Model &model, const Device &device, const SessionOptions &options = {}) const;

  private:
    friend struct detail::Access;
    std::shared_ptr<detail::RuntimeState> state_;
};

} // namespace lamina
