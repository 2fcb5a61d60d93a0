#include "generation/generation.hpp"

#include "generation/alignment.hpp"
#include "generation/answer.hpp"
#include "generation/choices.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/slots.hpp"
#include "generation/stop.hpp"
#include "generation/texts.hpp"

#include <lamina/sampling.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

namespace lamina::generation {
void check_options(const GenerateOptions &o) {
    const auto refuse = [](const std::string &what, const std::string &expected, double found) {
        std::ostringstream out;
        out << what << ": expected " << expected << ", found " << found;
        throw Error(ErrorCode::usage, out.str());
    };
    if (o.batch < 1) refuse("batch", "at least 1", static_cast<double>(o.batch));
    if (o.beams && (*o.beams < 1 || *o.beams > 1024)) refuse("beams", "1 to 1024", static_cast<double>(*o.beams));
    if (o.hypotheses < 0 || (o.beams && o.hypotheses > *o.beams))
        refuse("hypotheses", "0 (one per beam) up to the number of beams", static_cast<double>(o.hypotheses));
    for (const SamplingOption &option : sampling_options)
        if (const auto value = option.of(o); value && !option.takes(*value))
            refuse(std::string(option.name), option.expected(), *value);
    if (o.length_penalty && !(*o.length_penalty >= -10 && *o.length_penalty <= 10))
        refuse("length_penalty", "-10 to 10", *o.length_penalty);
    if (o.max_length < 0) refuse("max_length", "0 (as the model says) or above", static_cast<double>(o.max_length));
    if (o.likeliest.value_or(0) > 128) refuse("likeliest", "0 to 128", static_cast<double>(*o.likeliest));
    if (o.prompt_scores && (!o.likeliest || !o.cached))
        throw Error(ErrorCode::usage, "prompt_scores: expected it with likeliest, and with caches");
    if (o.guess_ahead > 64) refuse("guess_ahead", "0 to 64", static_cast<double>(o.guess_ahead));
    if (o.min_length < 0 || (o.max_length != 0 && o.min_length > o.max_length))
        refuse("min_length", "0 up to max_length", static_cast<double>(o.min_length));
    for (const auto &[token, bias] : o.biases)
        if (std::isnan(bias) || bias == std::numeric_limits<double>::infinity())
            refuse("biases: token " + std::to_string(token), "a finite number, or -infinity", bias);
    if (o.stream && o.beams && *o.beams != 1)
        refuse("beams", "1, because a text is streamed", static_cast<double>(*o.beams));
    for (const auto &[what, texts] : {std::pair{"stop", &o.stop}, {"dry_breakers", &o.dry_breakers}})
        if (std::ranges::count(*texts, "") != 0)
            throw Error(ErrorCode::usage, std::string(what) + ": expected texts, found an empty one");
}

namespace {

// Windows of audio and images are long, and so is their encoding: at most 512 MiB of it at a time, but at least one.
size_t sources_at_once(const detail::SessionState &session, const GenerateOptions &options) {
    constexpr uint64_t most = 512u << 20; // bytes
    const std::optional<model::AudioInput> &audio = session.model->generation->audio;
    const int64_t frames = audio && audio->frames ? audio->frames->lengths.covering(audio->length) : 1;
    const plan::GraphPlan plan = plan_decode_step(*session.model, *session.runtime->plugins, frames);
    uint64_t bytes = 0; // of all rows of the plan, which has two
    for (const std::string &name : session.model->generation->encoded)
        bytes += plan.tensors[static_cast<size_t>(plan.inputs.at(name))].type.bytes();
    return std::max<uint64_t>(most * 2 / bytes / static_cast<uint64_t>(options.beams.value()), 1);
}

} // namespace

std::vector<std::vector<Hypothesis>> generate(detail::SessionState &session, const std::vector<std::string> &texts,
                                              const GenerateOptions &options) {
    check_options(options);
    std::vector<Ids> ids = tokenize(*session.model, *session.runtime->plugins, texts, options);
    return generate_from(session, {std::make_move_iterator(ids.begin()), std::make_move_iterator(ids.end())}, options);
}

GenerateOptions resolved(const model::Model &model, GenerateOptions options, bool one_beam) {
    const model::Generation &g = *model.generation;
    if (!options.beams) {
        options.beams = one_beam || options.stream ? 1 : g.decoding.num_beams;
        options.beams_compete = true;
    }
    if (!options.length_penalty) options.length_penalty = g.decoding.length_penalty;
    if (!options.repetition_penalty) {
        const auto suggested = g.sampling.find("repetition_penalty");
        options.repetition_penalty = suggested == g.sampling.end() ? 1 : suggested->second;
    }
    check_options(options);
    if (options.prompt_scores && (!g.encode.empty() || options.beams != 1))
        throw Error(ErrorCode::usage, "prompt_scores: expected a model that continues texts, and one beam");
    if (options.prompt_scores) options.reuse = false;
    if (options.mirostat != 0 && samples_beams(options))
        throw Error(ErrorCode::usage, "mirostat: expected one beam, or samples that do not compete as beams");
    if (options.timestamps != Timestamps::none) {
        const bool segments = g.audio && model.tokens.timestamps, words = segments && g.alignment;
        if (options.timestamps == Timestamps::segments ? !segments : options.timestamps != Timestamps::words || !words)
            throw Error(ErrorCode::usage, "timestamps: " + model.folder.string() + " gives " +
                                              (words      ? "those of segments and of words"
                                               : segments ? "those of segments alone ('alignment_heads' in "
                                                            "generation_config.json lists heads that tell words)"
                                                          : "none"));
    }
    const size_t tokens = g.target->size();
    for (const auto &[token, bias] : options.biases)
        if (token < 0 || static_cast<size_t>(token) >= tokens)
            throw Error(ErrorCode::usage, "biases: token " + std::to_string(token) + ": the model's tokens are 0 to " +
                                              std::to_string(tokens - 1));
    return options;
}

namespace {

// How many tokens may follow the prefix, if the caller does not say it.
size_t max_length_of(const model::Generation &g, size_t prefix, const std::string &text) {
    const std::optional<int64_t> in_all = g.decoding.max_length;
    if (!in_all) return static_cast<size_t>(g.max_length);
    const auto most = static_cast<size_t>(*in_all);
    if (prefix < most) return most - prefix;
    throw Error(ErrorCode::input, text + ": " + std::to_string(prefix) + " tokens, but the model's max_length, which " +
                                      "counts them, is " + std::to_string(most) +
                                      ": say how many may follow (--max-length)");
}

} // namespace

Task task_of(const model::Model &model, Source source, uint64_t number, size_t positions,
             const std::shared_ptr<const GenerateOptions> &options) {
    const model::Generation &g = *model.generation;
    Task task;
    ChosenTokens chosen = chosen_tokens(model, *options);
    task.prefix = std::move(chosen.start);
    task.first = chosen.first;
    task.number = number;
    task.positions = positions;
    task.options = options;
    if (g.encode.empty())
        for (const int32_t id : std::get<Ids>(source)) task.prefix.push_back({id}); // a prompt, to be continued
    const std::string text = "text " + std::to_string(number - options->first + 1);
    if (options->prompt_scores && std::ranges::any_of(task.prefix, [](const Ids &place) { return place.front() < 0; }))
        throw Error(ErrorCode::usage, text + ": prompt_scores: expected a prompt without images");
    if (task.prefix.empty())
        throw Error(ErrorCode::input, text + ": empty, and the model has no token that texts begin with");
    task.max_length = options->max_length != 0 ? static_cast<size_t>(options->max_length)
                                               : max_length_of(g, task.prefix.size(), text);
    task.source = std::move(source);
    return task;
}

namespace {

// The texts of one call, and what has become of them.
class Texts {
  public:
    Texts(const model::Model &model, const std::vector<Source> &sources, const GenerateOptions &options)
        : options_(options), out_(sources.size()) {
        const model::Generation &g = *model.generation;
        for (size_t i = 0; i < sources.size(); ++i) { // a prompt may be empty, a source not
            if (length_of(sources[i]) != 0 || g.encode.empty()) order_.push_back(i);
            answers_.emplace_back(model, sources[i], stops_of(model, options), !options.skip_special_tokens);
        }
        // Texts of similar length together, because those that begin together take as long as the longest. What is
        // shown as it comes stays in order: windows of audio follow each other.
        if (!g.source_values && !(g.audio && options.stream))
            std::ranges::stable_sort(order_, {}, [&](size_t i) { return length_of(sources[i]); });
    }

    [[nodiscard]] const std::vector<size_t> &order() const { return order_; }

    void take(Slots::Progress &&progress) {
        const size_t text = progress.id;
        if (progress.failed) {
            ++done_;
            if (options_.failed) return options_.failed(text, *progress.failed);
            throw Error(progress.failed->code(), "text " + std::to_string(text + 1) + ": " + progress.failed->what());
        }
        if (options_.stream) show(text, answers_[text].grow(progress.tokens, progress.found.has_value()));
        if (!progress.found) return;
        const auto most = static_cast<size_t>(options_.hypotheses != 0 ? options_.hypotheses : options_.beams.value());
        for (const Candidate &c : std::span(*progress.found).first(std::min(most, progress.found->size())))
            out_[text].push_back(answers_[text].hypothesis(c, progress.reused));
        ++done_;
    }
    [[nodiscard]] size_t done() const { return done_; }
    [[nodiscard]] std::vector<Hypothesis> &found(size_t text) { return out_[text]; }
    [[nodiscard]] std::vector<std::vector<Hypothesis>> results() { return std::move(out_); }

  private:
    void show(size_t text, const std::string &piece) const {
        if (!piece.empty()) options_.stream(text, piece);
    }

    const GenerateOptions &options_;
    std::vector<size_t> order_; // in which they begin
    std::vector<Answer> answers_;
    std::vector<std::vector<Hypothesis>> out_;
    size_t done_ = 0;
};

} // namespace

std::vector<detail::SeenImages::One> images_of(const detail::SessionState &session, const Source &source) {
    const auto *const ids = std::get_if<Ids>(&source);
    if (ids == nullptr) return {};
    if (session.model->generation->sees_ahead()) session.images.expect_whole(*ids);
    return session.images.among(*ids);
}

std::vector<std::vector<Hypothesis>> generate_from(detail::SessionState &session, const std::vector<Source> &sources,
                                                   const GenerateOptions &given) {
    check_options(given);
    const model::Model &model = *session.model;
    const GenerateOptions options = resolved(model, given);
    const size_t positions = longest_target(model);
    const auto shared = std::make_shared<const GenerateOptions>(options);
    Texts texts(model, sources, options);
    std::vector<Task> tasks;
    size_t longest = 0, longest_prefix = 0;
    for (const size_t i : texts.order()) {
        tasks.push_back(task_of(model, sources[i], options.first + i, positions, shared));
        tasks.back().images = images_of(session, sources[i]);
        longest_prefix = std::max(longest_prefix, tasks.back().prefix.size());
        longest = std::min(longest_prefix + tasks.back().max_length, positions);
    }
    const size_t most =
        !model.generation->takes_texts() ? std::min(options.batch, sources_at_once(session, options)) : options.batch;
    const size_t at_once = std::max<size_t>(std::min(most, tasks.size()), 1);
    Slots slots(session, {.texts = at_once,
                          .beams = static_cast<size_t>(options.beams.value()),
                          .length = longest,
                          .cached = options.cached,
                          .sure = options.max_length != 0 ? 0 : longest_prefix + 1, // the model's is rarely reached
                          .candidates = Search::candidates(model, options)});
    for (size_t i = 0; i < tasks.size(); ++i) slots.add(texts.order()[i], Search(model, std::move(tasks[i])));
    while (!slots.empty()) {
        const size_t batches = texts.done() / at_once;
        for (Slots::Progress &progress : slots.step()) {
            const size_t text = progress.id, row = progress.row;
            texts.take(std::move(progress));
            if (options.timestamps == Timestamps::words)
                for (Hypothesis &each : texts.found(text))
                    find_ends(session, slots.encoded(), row, length_of(sources[text]), each);
        }
        if (options.progress && (texts.done() / at_once != batches || slots.empty()))
            options.progress(texts.done(), tasks.size());
    }
    return texts.results();
}

} // namespace lamina::generation
