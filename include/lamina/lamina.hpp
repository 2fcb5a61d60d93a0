// The host API: run models of layer plugins on a Vulkan GPU or on the CPU.
//
//     lamina::Runtime runtime;
//     auto model = runtime.load("models/g2p");
//     auto session = runtime.session(model, runtime.device("auto"));
//     for (const auto &text : session.generate({"vulkan", "transformer"})) std::cout << text << '\n';
//
// Everything throws lamina::Error (error.hpp). Objects are cheap handles; they may be copied and outlive each other.
// Different sessions may be used from different threads; one session by one thread at a time. A device that is lost
// while a session works is opened anew once and the work done again; only a second loss is Error(device_lost).
#pragma once

#include <lamina/error.hpp>
#include <lamina/model_description.hpp>
#include <lamina/tensor.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

using TensorMap = std::map<std::string, Tensor, std::less<>>;

struct RuntimeOptions {
    std::vector<std::filesystem::path> plugin_folders{}; // before $LAMINA_PLUGIN_PATH and the install's own folder
    bool validation = false;                             // Vulkan's validation layers, core and synchronization
    bool cache = true;                                   // keep what was proved and measured under ~/.cache/lamina
    // One line that a person should see: a barred variant, a lost device, what the validation layers say.
    std::function<void(const std::string &)> notify{};
    // Before each case of a proof on a device's first use, which may take seconds in all: what is proved, "attention,
    // tiled". It may throw, to end the work; what has been proved is kept.
    std::function<void(const std::string &)> proving{};
};

// A device by description; opening is left to the session.
struct Device {
    std::string id;                        // "cpu", "reference", "vulkan:0"
    std::string name;                      // of the hardware: "NVIDIA H200"
    std::string kind;                      // "discrete", "integrated", "virtual", "software", "cpu"
    std::string driver, api_version, uuid; // empty for the CPU
    uint64_t memory_bytes = 0;
    std::vector<std::string> unusable; // why it cannot be used; empty: it can
    std::string reason;                // why device() took it
};

namespace detail {
struct RuntimeState;
struct ModelState;
struct SessionState;
struct Access;
} // namespace detail

class Model {
  public:
    [[nodiscard]] const std::filesystem::path &folder() const;
    [[nodiscard]] const std::string &name() const;

  private:
    friend class Runtime;
    friend struct detail::Access;
    std::shared_ptr<const detail::ModelState> state_;
};

struct SessionOptions {
    std::map<std::string, std::string, std::less<>> variants; // layer id -> variant; others: the device's choice
    bool keep_all = false;                                    // run() can return any tensor, at the cost of memory
    DType cache = DType::f32; // of keys and values of earlier tokens; f16: half the memory, where layers offer it
};

// How text is generated: greedy unless beams or temperature say otherwise.
struct GenerateOptions {
    size_t batch = 64;           // texts decoded side by side
    int64_t beams = 1;           // beam search over so many; with a temperature, so many independent samples
    int64_t hypotheses = 0;      // the best so many of each text; 0: one a beam
    double length_penalty = 1.0; // candidates are ranked by log probability / tokens^length_penalty, an end included
    double temperature = 0;      // above 0: sample
    size_t top_k = 0;            // sample among the k most likely tokens; 0: all
    double top_p = 1.0;          // sample among the fewest tokens that together are this likely
    uint64_t seed = 0;
    uint64_t first = 0;     // number of the first text: texts in parts are sampled as if given at once
    int64_t max_length = 0; // tokens; 0: as the model says. Never beyond the model's positions
    bool cached = true;     // false: no KV cache, every step computes the whole sequence
    std::function<void(size_t done, size_t all)> progress; // after every batch
};

struct Hypothesis {
    std::string text;
    std::vector<int32_t> tokens;
    double log_probability = 0; // natural logarithm, of all tokens and, where it came, the end
    double score = 0;           // what hypotheses are ranked by
};

class Session {
  public:
    // Runs one graph. Inputs by the graph's names; the result holds its outputs and, with keep_all, the tensors that
    // `taps` name: those of any layer, '*' and '?' as in a shell ("encoder.*.norm_feed_forward"), or outputs.
    [[nodiscard]] TensorMap run(const std::string &graph, const TensorMap &inputs,
                                const std::vector<std::string> &taps = {});

    // Text in, text out, in the same order, as the model's "generation" block says: the best hypothesis of each. An
    // empty source gives an empty text; an empty prompt of a model without an encoder is continued. Throws Error(input)
    // for a text with unknown tokens or beyond the model's length.
    [[nodiscard]] std::vector<std::string> generate(const std::vector<std::string> &texts,
                                                    const GenerateOptions &options = {});
    // All options.beams hypotheses of each text, best first; none for an empty source.
    [[nodiscard]] std::vector<std::vector<Hypothesis>> hypotheses(const std::vector<std::string> &texts,
                                                                  const GenerateOptions &options = {});

    [[nodiscard]] const Device &device() const;

  private:
    friend class Runtime;
    friend struct detail::Access;
    std::shared_ptr<detail::SessionState> state_;
};

class Runtime {
  public:
    explicit Runtime(const RuntimeOptions &options = {});

    // Every device, usable or not: Vulkan's in the loader's order, then the CPU.
    [[nodiscard]] std::vector<Device> devices() const;
    // "auto": the best of discrete, integrated, virtual, then cpu; a software Vulkan driver never. "cpu", "vulkan:N",
    // "uuid:...", and "reference" (plain references alone). Throws Error(no_device) when it is absent or unusable.
    [[nodiscard]] Device device(const std::string &id = "auto") const;
    // Why there is no Vulkan device; empty when there is one.
    [[nodiscard]] std::string no_vulkan() const;

    // Reads and checks a model folder, all of it, against the plugins at hand. What throws whatever the inputs are is
    // thrown here; what depends on their sizes, by run().
    [[nodiscard]] Model load(const std::filesystem::path &folder) const;
    // The same for a model in memory; reads and writes no file.
    [[nodiscard]] Model load(const ModelDescription &description) const;
    [[nodiscard]] Session session(const Model &model, const Device &device, const SessionOptions &options = {}) const;

  private:
    friend struct detail::Access;
    std::shared_ptr<detail::RuntimeState> state_;
};

} // namespace lamina
