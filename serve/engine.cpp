#include "engine.hpp"

#include "base/binary_size.hpp"

#include <lamina/texts.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

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
               const Options &options, Metrics &metrics)
    : name_(std::move(name)), runtime_(runtime), device_(device), model_(model), contents_(inspect(model)),
      converses_(has_chat_template(model)), metrics_(metrics), how_(options.session),
      session_(session_with_room(options)), reader_(session_, name_, metrics_) {
    if (writes()) writer_.emplace(session_, BatchOptions{room_.slots, room_.length}, name_, metrics_);
    thread_ = std::thread([this] { run(); });
}

// Nothing is uploaded before it is known which dtype caches have.
Session Engine::session_with_room(const Options &options) {
    const auto look = [&] {
        Session session = runtime_.session(model_, device_, how_);
        if (writes()) room_ = room_for(session, options.batch, options.promised);
        return session;
    };
    Session session = look();
    if (room_.whole || !options.smaller_caches || how_.cache == DType::f16) return session;
    how_.cache = DType::f16;
    return look();
}

std::string Engine::room_in_words() const {
    if (!writes()) return "";
    std::string out = "up to " + std::to_string(room_.slots) + (room_.slots == 1 ? " text" : " texts") +
                      " at once, of up to " + std::to_string(room_.length) + " tokens" +
                      (room_.slots == 1 ? "" : " each");
    if (room_.caches != 0)
        out += "; caches take up to " + binary_size(room_.caches) + (how_.cache == DType::f16 ? " (f16)" : " (f32)");
    return out;
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

// Each kind of work has a turn: a piece of what is read, a graph, a step of what is written, transcripts.
void Engine::run() {
    while (wait_for_work()) {
        take_all<Embedding>([this](auto work) { reader_.add(std::move(work)); });
        take_all<Answer>([this](auto work) { writer_->add(std::move(work)); });
        take_all<GraphCall>([this](auto work) { calls_.push_back(std::move(work)); });
        take_all<Transcription>([this](auto work) { recordings_.push_back(std::move(work)); });
        if (!reader_.empty()) reader_.step();
        if (!calls_.empty()) {
            const auto call = std::move(calls_.front());
            calls_.pop_front();
            together<GraphCall>({call}, [this](const auto &group) { run_graph(*group.front()); });
        }
        if (writer_) writer_->step();
        if (!recordings_.empty())
            together<Transcription>(next_recordings(), [this](const auto &group) { transcribe_all(group); });
    }
}

// Returns false if there is none, and none will come.
bool Engine::wait_for_work() {
    std::unique_lock lock(mutex_);
    const auto something = [this] {
        return std::apply([](const auto &...queues) { return (!queues.empty() || ...); }, waiting_);
    };
    const auto busy = [this] {
        return !reader_.empty() || !calls_.empty() || !recordings_.empty() || (writer_ && !writer_->empty());
    };
    changed_.wait(lock, [&] { return closing_ || something() || busy(); });
    return something() || busy();
}

template <class Kind> void Engine::take_all(const std::function<void(std::shared_ptr<Kind>)> &take) {
    Queue<Kind> taken;
    {
        const std::scoped_lock lock(mutex_);
        taken.swap(std::get<Queue<Kind>>(waiting_));
    }
    for (auto &work : taken) take(std::move(work));
}

// Options apply to all that is transcribed together: those of the one that waits longest.
Engine::Group<Transcription> Engine::next_recordings() {
    const auto options = [](const Transcription &work) {
        return std::tie(work.options.choices, work.options.temperature);
    };
    const std::shared_ptr<Transcription> first = recordings_.front();
    Group<Transcription> out;
    std::erase_if(recordings_, [&](const auto &work) {
        if (options(*work) != options(*first)) return false;
        out.push_back(work);
        return true;
    });
    return out;
}

// Nothing fails because of what it is done together with: if the group fails, each is tried alone. What nobody waits
// for any more is left out.
template <class Kind>
void Engine::together(const Group<Kind> &all, const std::function<void(const Group<Kind> &)> &work) {
    Group<Kind> group;
    for (const auto &each : all) each->left() ? each->end() : group.push_back(each);
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

void Engine::run_graph(GraphCall &call) { call.outputs = session_.run(call.graph, call.inputs); }

void Engine::transcribe_all(const Group<Transcription> &group) {
    std::vector<Audio> audios;
    for (const auto &each : group) audios.push_back(each->audio);
    GenerateOptions options = group.front()->options;
    options.batch = 8; // windows: between batches it is known whether anybody waits
    options.progress = [&group](size_t, size_t) {
        if (std::ranges::all_of(group, [](const auto &each) { return each->left(); })) throw EverybodyLeft();
    };
    const std::vector<Transcript> transcripts = transcribe(session_, audios, options);
    for (size_t i = 0; i < group.size(); ++i) group[i]->transcript = transcripts[i];
}

} // namespace lamina::serve
