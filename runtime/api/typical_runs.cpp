#include "api/typical_runs.hpp"

#include "generation/audio_inputs.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/texts.hpp"
#include "reading/images.hpp"
#include "reading/pages.hpp"
#include "reading/reading.hpp"

#include <algorithm>

namespace lamina::api {
namespace {

constexpr int64_t usual_length = 128, several = 8;
constexpr int64_t candidates = 40; // that a sampler usually asks for

std::string tokens(int64_t n) { return std::to_string(n) + (n == 1 ? " token" : " tokens"); }

class Runs {
  public:
    Runs(const model::Model &model, const abi::Registry &plugins) : model_(model), plugins_(plugins) {}

    void read(const model::Reading &reading) {
        const int64_t length = reading.fill ? reading.fill->length : std::min(usual_length, reading.longest);
        add("a text of " + tokens(length), reading.graph, reading::shapes_of(reading, 1, length));
        add("8 texts of " + tokens(length), reading.graph, reading::shapes_of(reading, several, length));
    }

    void read(const model::Pages &pages) {
        const int64_t length = pages.reading.longest;
        add("a page of " + tokens(length), pages.reading.graph, reading::shapes_of(pages, 1, length));
        add("8 pages of " + tokens(length), pages.reading.graph, reading::shapes_of(pages, several, length));
    }

    void see(const model::Images &images) {
        add("an image", images.graph, reading::shapes_of(images, 1));
        if (!images.any_size) add("8 images", images.graph, reading::shapes_of(images, several));
    }

    void hear(const model::Speech &speech) {
        const int64_t rate = speech.audio.rate;
        for (const auto &[what, samples] :
             {std::pair{"a second of audio", rate}, {"a window of audio", speech.audio.length}})
            add(what, speech.graph,
                generation::shapes_of(speech.audio, 1, speech.audio.frames->lengths.covering(samples)));
    }

    void generate(const model::Generation &g) {
        const auto one = encoded_by(g, 1), eight = encoded_by(g, several);
        const auto longest = static_cast<int64_t>(generation::longest_target(model_));
        // A prompt goes through as a block, which only fills the caches.
        const int64_t block = std::min(usual_length, longest);
        plan::GraphShapes prompt = generation::decode_shapes(g, 1, block, one, longest_cache(longest));
        prompt.states_only = true;
        add("a prompt of " + tokens(block), g.decode, prompt);
        add("the next token", g.decode, step(g, 1, one, longest));
        add("the next token of 8 texts", g.decode, step(g, several, eight, longest));
    }

    std::vector<Run> take() { return std::move(runs_); }

  private:
    static int64_t longest_cache(int64_t longest) { return std::min<int64_t>(longest, 1024); }

    [[nodiscard]] plan::GraphShapes step(const model::Generation &g, int64_t batch,
                                         const generation::TensorTypes &encoded, int64_t longest) const {
        plan::GraphShapes shapes = generation::decode_shapes(g, batch, 1, encoded, longest_cache(longest));
        if (!g.probabilities) shapes.candidates = {g.scores, candidates, !model_.tokens.suppress.empty()};
        return shapes;
    }

    // What the decoder takes of `batch` sources; nothing without an encoder.
    generation::TensorTypes encoded_by(const model::Generation &g, int64_t batch) {
        generation::TensorTypes out;
        if (g.encode.empty()) return out;
        const int64_t length = g.takes_texts() ? generation::source_length(model_, plugins_, source_tokens())
                               : g.audio && g.audio->frames ? g.audio->frames->lengths.covering(g.audio->length)
                                                            : 0;
        const std::string one = g.audio            ? "a window of audio"
                                : g.takes_images() ? "an image"
                                                   : "a source of " + tokens(length);
        const std::string all = g.audio            ? "8 windows of audio"
                                : g.takes_images() ? "8 images"
                                                   : "8 sources of " + tokens(length);
        add(batch == 1 ? one : all, g.encode, generation::encode_shapes(g, batch, length));
        const plan::GraphPlan &plan = runs_.back().plan;
        for (const std::string &name : g.encoded)
            out[name] = plan.tensors[static_cast<size_t>(plan.outputs.at(name))].type;
        return out;
    }

    [[nodiscard]] size_t source_tokens() const {
        size_t n = usual_length;
        while (n > 1 && !generation::takes_sources(model_, plugins_, n)) n /= 2;
        return n;
    }

    void add(std::string what, const std::string &graph, const plan::GraphShapes &shapes) {
        runs_.push_back({std::move(what), plan::plan_graph(model_, model_.graphs.at(graph), plugins_, shapes)});
    }

    const model::Model &model_;
    const abi::Registry &plugins_;
    std::vector<Run> runs_;
};

} // namespace

std::vector<Run> typical_runs(const model::Model &model, const abi::Registry &plugins) {
    if (!model.generation && !model.reading && !model.images && !model.speech && !model.pages)
        throw Error(ErrorCode::usage, "'" + model.name + "' neither generates nor reads, so it has no usual inputs");
    Runs runs(model, plugins);
    if (model.generation) runs.generate(*model.generation);
    if (model.reading) runs.read(*model.reading);
    if (model.images && model.images->gives != model::Images::Gives::texts) runs.see(*model.images);
    if (model.speech) runs.hear(*model.speech);
    if (model.pages) runs.read(*model.pages);
    return runs.take();
}

} // namespace lamina::api
