#include "engine.hpp"

#include <lamina/texts.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace lamina::serve {
namespace {

struct EverybodyLeft {};

bool has_chat_template(const Model &model) {
    try {
        (void)chat_prompt(model, {{"user", "Hello"}});
        return true;
    } catch (const Error &) {
        return false;
    }
}

} // namespace

Engine::Engine(std::string name, const Runtime &runtime, const Model &model, const Device &device,
               const SessionOptions &options, const BatchOptions &batch, Metrics &metrics)
    : name_(std::move(name)), runtime_(runtime), device_(device), model_(model), contents_(inspect(model)),
      converses_(has_chat_template(model)), metrics_(metrics), session_(runtime.session(model, device, options)) {
    if (writes()) writer_.emplace(session_, batch, name_, metrics_);
    thread_ = std::thread([this] { run(); });
}

Engine::~Engine() {
    {
        const std::scoped_lock lock(mutex_);
        closing_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

std::vector<AdmittedVariant> Engine::proved() const {
    if (device_.id == "reference") return {};
    std::set<std::string> layers;
    for (const auto &[name, graph] : contents_.graphs)
        for (const ModelLayer &layer : graph.layers) layers.insert(layer.type);
    return lamina::proved(runtime_, device_, {layers.begin(), layers.end()});
}

void Engine::run() {
    while (wait_for_work()) {
        together<Embedding>(take_all<Embedding>(), [this](const auto &group) { embed_all(group); });
        for (const auto &call : take_all<GraphCall>())
            together<GraphCall>({call}, [this](const auto &group) { run_graph(*group.front()); });
        for (auto &answer : take_all<Answer>()) writer_->add(std::move(answer));
        if (writer_) writer_->step();
        // Options apply to all that is transcribed together.
        std::map<std::pair<Choices, double>, Group<Transcription>> alike;
        for (auto &each : take_all<Transcription>())
            alike[{each->options.choices, each->options.temperature}].push_back(std::move(each));
        for (const auto &[options, group] : alike)
            together<Transcription>(group, [this](const auto &some) { transcribe_all(some); });
    }
}

// Returns false if there is none, and none will come.
bool Engine::wait_for_work() {
    std::unique_lock lock(mutex_);
    const auto something = [this] {
        return std::apply([](const auto &...queues) { return (!queues.empty() || ...); }, waiting_);
    };
    const auto writing = [this] { return writer_ && !writer_->empty(); };
    changed_.wait(lock, [&] { return closing_ || something() || writing(); });
    return something() || writing();
}

// What nobody waits for any more is left out.
template <class Kind> Engine::Group<Kind> Engine::take_all() {
    Queue<Kind> taken;
    {
        const std::scoped_lock lock(mutex_);
        taken.swap(std::get<Queue<Kind>>(waiting_));
    }
    Group<Kind> out(std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end()));
    std::erase_if(out, [](const auto &work) { return work->left(); });
    return out;
}

// Nothing fails because of what it is done together with: if the group fails, each is tried alone.
template <class Kind>
void Engine::together(const Group<Kind> &group, const std::function<void(const Group<Kind> &)> &work) {
    if (group.empty()) return;
    try {
        work(group);
        metrics_.batch(name_, group.size());
        for (const auto &each : group) each->end();
    } catch (const EverybodyLeft &) {
        for (const auto &each : group) each->end();
    } catch (...) {
        if (group.size() == 1) return group.front()->end(std::current_exception());
        for (const auto &each : group) together<Kind>({each}, work);
    }
}

void Engine::embed_all(const Group<Embedding> &group) {
    std::vector<std::string> texts;
    for (const auto &each : group) texts.insert(texts.end(), each->texts.begin(), each->texts.end());
    ReadOptions options;
    options.progress = [&group](size_t, size_t) {
        if (std::ranges::all_of(group, [](const auto &each) { return each->left(); })) throw EverybodyLeft();
    };
    const Tensor vectors = embed(session_, texts, options);
    const int64_t width = vectors.shape().at(1);
    std::span<const float> rest = vectors.f32();
    for (const auto &each : group) {
        const size_t count = each->texts.size() * static_cast<size_t>(width);
        each->vectors = Tensor::of({static_cast<int64_t>(each->texts.size()), width}, rest.first(count));
        rest = rest.subspan(count);
    }
}

void Engine::run_graph(GraphCall &call) { call.outputs = session_.run(call.graph, call.inputs); }

void Engine::transcribe_all(const Group<Transcription> &group) {
    std::vector<Audio> audios;
    for (const auto &each : group) audios.push_back(each->audio);
    GenerateOptions options = group.front()->options;
    options.progress = [&group](size_t, size_t) {
        if (std::ranges::all_of(group, [](const auto &each) { return each->left(); })) throw EverybodyLeft();
    };
    const std::vector<Transcript> transcripts = transcribe(session_, audios, options);
    for (size_t i = 0; i < group.size(); ++i) group[i]->transcript = transcripts[i];
}

} // namespace lamina::serve
