#include "engine.hpp"

#include "base/binary_size.hpp"

#include <lamina/texts.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace lamina::serve {
namespace {

constexpr size_t texts_at_once = 32, windows_at_once = 8; // in a piece

std::vector<size_t> first_numbers(size_t count) {
    std::vector<size_t> out(count);
    std::iota(out.begin(), out.end(), size_t{0});
    return out;
}

// Texts of similar length are read together.
template <class Length> std::vector<size_t> by_length(size_t count, const Length &length) {
    std::vector<size_t> out = first_numbers(count);
    std::ranges::stable_sort(out, {}, length);
    return out;
}

// Whoever asks has refused texts that are too long, or wants them to be cut.
const ReadOptions cutting{.batch = texts_at_once, .truncate = true};

bool has_chat_template(const Model &model) {
    try {
        (void)chat_prompt(model, {{"user", "Hello"}});
        return true;
    } catch (const Error &) {
        return false;
    }
}

bool gives_one_score(const ModelContents &contents) {
    if (contents.reading && contents.reading->gives == TextReading::Gives::token_vectors) return true;
    if (!contents.reading || contents.reading->gives != TextReading::Gives::classes) return false;
    const ModelGraph &graph = contents.graphs.at(contents.reading->graph);
    const std::string &tensor = graph.outputs.at(contents.reading->output);
    return std::ranges::any_of(graph.layers, [&](const ModelLayer &layer) {
        return std::ranges::any_of(layer.outputs,
                                   [&](const ModelTensor &each) { return each.name == tensor && each.dims == "B 1"; });
    });
}

} // namespace

Engine::Engine(std::string name, const Runtime &runtime, const Model &model, const Device &device,
               const Options &options, Metrics &metrics)
    : name_(std::move(name)), runtime_(runtime), device_(device), model_(model), contents_(inspect(model)),
      converses_(has_chat_template(model)), ranks_(gives_one_score(contents_)),
      tool_format_(converses_ ? tool_format_of(model) : std::nullopt), metrics_(metrics), how_(options.session),
      session_(session_with_room(options)),
      texts_(
          texts_at_once, [this](const auto &piece) { read(piece); }, name_, metrics_),
      rankings_(
          texts_at_once, [this](const auto &piece) { rank(piece); }, name_, metrics_),
      classified_(
          texts_at_once, [this](const auto &piece) { classify(piece); }, name_, metrics_),
      calls_(
          1,
          [this](const auto &piece) {
              GraphCall &call = *piece.front().work;
              call.expect_fair(session_.output_types(call.graph, call.inputs));
              call.response = call.respond(session_.run(call.graph, call.inputs));
          },
          name_, metrics_),
      recordings_(
          windows_at_once, [this](const auto &piece) { transcribe(piece); }, name_, metrics_) {
    if (embeds()) width_ = static_cast<size_t>(embed(session_, std::vector<std::string>()).shape().at(1));
    if (writes()) writer_.emplace(session_, BatchOptions{room_.slots, room_.length}, name_, metrics_);
    thread_ = std::thread([this] { run(); });
}

// Nothing is uploaded before it is known which dtype caches have.
Session Engine::session_with_room(const Options &options) {
    if (options.parent != nullptr) {
        Session session = options.parent->session_.with_adapters(options.adapters);
        how_ = options.parent->how_;
        if (writes()) room_ = room_for(session, options.batch, options.promised);
        return session;
    }
    const auto look = [&] {
        Session session = runtime_.session(model_, device_, how_);
        if (options.draft) {
            const Device &device = device_.parts.empty() ? device_ : device_.parts.front();
            session.use_draft(runtime_.session(
                *options.draft, device, {.precision = how_.precision, .fusion = how_.fusion, .cache = how_.cache}));
        }
        if (writes()) room_ = room_for(session, options.batch, options.promised);
        return session;
    };
    Session session = look();
    if (!room_.whole && options.smaller_caches && how_.cache == DType::f32) {
        how_.cache = DType::f16;
        session = look();
    }
    return session;
}

std::string Engine::room_in_words() const {
    if (!writes()) return "";
    std::string out = "up to " + std::to_string(room_.slots) + (room_.slots == 1 ? " text" : " texts") +
                      " at once, of up to " + std::to_string(room_.length) + " tokens" +
                      (room_.slots == 1 ? "" : " each");
    if (room_.caches != 0) out += "; caches take up to " + binary_size(room_.caches) + " (" + name_of(how_.cache) + ")";
    return out;
}

int64_t Engine::longest() const {
    if (writes()) return room_.length;
    if (contents_.reading) return contents_.reading->longest;
    return contents_.generation ? contents_.generation->max_length : 0;
}

const std::vector<TokenText> &Engine::tokens(bool written) const {
    Tokens &out = tokens_.at(written ? 1 : 0);
    std::call_once(out.once, [&] { out.texts = token_texts(model_, written); });
    return out.texts;
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

// Each kind of work has a turn: a piece of what is read, a graph, a step of what is written, a piece of recordings.
void Engine::run() {
    while (wait_for_work()) {
        take_all<Embedding>([this](auto work) {
            const auto length = [&](size_t i) {
                return work->ids.empty() ? work->texts[i].size() : work->ids[i].size();
            };
            texts_.add(work, by_length(work->size(), length));
        });
        take_all<Ranking>([this](auto work) {
            work->scores.resize(work->documents.size());
            rankings_.add(work, by_length(work->documents.size(), [&](size_t i) { return work->documents[i].size(); }));
        });
        take_all<Classification>([this](auto work) {
            work->labels.resize(work->texts.size());
            const auto length = [&](size_t i) {
                const Classification::Given &each = work->texts[i];
                return each.first.size() + each.second.value_or("").size();
            };
            classified_.add(work, by_length(work->texts.size(), length));
        });
        take_all<Answer>([this](auto work) { writer_->add(std::move(work)); });
        take_all<GraphCall>([this](auto work) { calls_.add(work, {0}); });
        take_all<Transcription>([this](auto work) {
            if (!work->seeks) work->transcripts.resize(work->windows.size());
            recordings_.add(work, first_numbers(work->windows.size()));
        });
        texts_.step();
        rankings_.step();
        classified_.step();
        calls_.step();
        if (writer_) writer_->step();
        recordings_.step();
    }
}

// Returns false if there is none, and none will come.
bool Engine::wait_for_work() {
    std::unique_lock lock(mutex_);
    const auto something = [this] {
        return std::apply([](const auto &...queues) { return (!queues.empty() || ...); }, waiting_);
    };
    const auto busy = [this] {
        return !texts_.empty() || !rankings_.empty() || !classified_.empty() || !calls_.empty() ||
               !recordings_.empty() || (writer_ && !writer_->empty());
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

void Engine::read(const Pieces<Embedding>::Piece &piece) {
    std::vector<std::string> texts;
    std::vector<std::vector<int32_t>> ids;
    for (const auto &[work, parts] : piece)
        for (const size_t i : parts)
            if (work->ids.empty())
                texts.push_back(work->texts[i]);
            else
                ids.push_back(work->ids[i]);
    const Tensor of_texts = texts.empty() ? Tensor() : embed(session_, texts, cutting);
    const Tensor of_ids = ids.empty() ? Tensor() : embed_ids(session_, ids, cutting);
    const auto width = static_cast<size_t>((texts.empty() ? of_ids : of_texts).shape().at(1));
    std::span<const float> text, id;
    if (!texts.empty()) text = of_texts.f32();
    if (!ids.empty()) id = of_ids.f32();
    for (const auto &[work, parts] : piece) {
        if (work->vectors.shape().empty())
            work->vectors =
                Tensor(TensorType{DType::f32, {static_cast<int64_t>(work->size()), static_cast<int64_t>(width)}});
        std::span<const float> &rest = work->ids.empty() ? text : id;
        for (const size_t i : parts) {
            std::ranges::copy(rest.first(width), work->vectors.f32().subspan(i * width).begin());
            rest = rest.subspan(width);
        }
    }
}

void Engine::rank(const Pieces<Ranking>::Piece &piece) {
    std::vector<TextPair> pairs;
    for (const auto &[work, parts] : piece)
        for (const size_t i : parts) pairs.push_back({work->query, work->documents[i]});
    const std::vector<std::vector<LabelScore>> found = classify_pairs(session_, pairs, cutting);
    auto next = found.begin();
    for (const auto &[work, parts] : piece)
        for (const size_t i : parts) work->scores[i] = (next++)->front().score;
}

// Texts alone and in pairs, and probabilities and other scores, each together.
void Engine::classify(const Pieces<Classification>::Piece &piece) {
    using Part = std::pair<Classification *, size_t>;
    std::map<std::pair<bool, bool>, std::vector<Part>> groups; // by whether it is a pair, and raw
    for (const auto &[work, parts] : piece)
        for (const size_t i : parts) groups[{work->texts[i].second.has_value(), work->raw}].emplace_back(work.get(), i);
    for (const auto &[kind, group] : groups) {
        std::vector<std::string> texts;
        std::vector<TextPair> pairs;
        for (const auto &[work, i] : group) {
            const auto &[first, second] = work->texts[i];
            if (second)
                pairs.push_back({first, *second});
            else
                texts.push_back(first);
        }
        ReadOptions options = cutting;
        options.raw_scores = kind.second;
        auto found = kind.first ? classify_pairs(session_, pairs, options) : lamina::classify(session_, texts, options);
        for (size_t i = 0; i < group.size(); ++i) group[i].first->labels[group[i].second] = std::move(found[i]);
    }
}

// Windows with the same options together. A recording that seeks has one at a time.
void Engine::transcribe(const Pieces<Transcription>::Piece &piece) {
    const auto options = [](const Transcription &work) {
        return std::tie(work.options.choices, work.options.temperature, work.options.timestamps);
    };
    std::map<decltype(options(*piece.front().work)), std::vector<std::pair<Transcription *, size_t>>> windows;
    for (const auto &[work, parts] : piece)
        for (const size_t i : parts) windows[options(*work)].emplace_back(work.get(), i);
    const auto longest = static_cast<size_t>(contents_.audio()->length);
    for (const auto &[_, group] : windows) {
        std::vector<Audio> audios;
        for (const auto &[work, i] : group) audios.push_back(work->window(i, longest));
        std::vector<Transcript> found = transcribe_windows(session_, audios, group.front().first->options);
        for (size_t i = 0; i < group.size(); ++i) {
            auto &[work, part] = group[i];
            work->transcripts.resize(std::max(work->transcripts.size(), part + 1));
            work->transcripts[part] = std::move(found[i]);
        }
    }
    for (const auto &[work, parts] : piece)
        if (!work->is_heard()) recordings_.add_part(work, work->transcripts.size());
}

} // namespace lamina::serve
