#include "generation/generation.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/search.hpp"
#include "generation/stop.hpp"
#include "generation/texts.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace lamina::generation {
namespace {

void check_options(const GenerateOptions &o) {
    const auto refuse = [](const char *what, const char *expected, double found) {
        std::ostringstream out;
        out << what << ": expected " << expected << ", found " << found;
        throw Error(ErrorCode::usage, out.str());
    };
    if (o.batch < 1) refuse("batch", "at least 1", static_cast<double>(o.batch));
    if (o.beams < 1 || o.beams > 1024) refuse("beams", "1 to 1024", static_cast<double>(o.beams));
    if (o.hypotheses < 0 || o.hypotheses > o.beams)
        refuse("hypotheses", "0 (one per beam) up to the number of beams", static_cast<double>(o.hypotheses));
    if (!(o.temperature >= 0 && o.temperature <= 1e6)) refuse("temperature", "0 (greedy) or above", o.temperature);
    if (!(o.top_p > 0 && o.top_p <= 1)) refuse("top_p", "above 0, at most 1", o.top_p);
    if (!(o.min_p >= 0 && o.min_p <= 1)) refuse("min_p", "0 to 1", o.min_p);
    if (!(o.repetition_penalty > 0 && o.repetition_penalty <= 100))
        refuse("repetition_penalty", "above 0, at most 100", o.repetition_penalty);
    if (!(o.length_penalty >= -10 && o.length_penalty <= 10)) refuse("length_penalty", "-10 to 10", o.length_penalty);
    if (o.max_length < 0) refuse("max_length", "0 (as the model says) or above", static_cast<double>(o.max_length));
    if (o.stream && o.beams != 1) refuse("beams", "1, because a text is streamed", static_cast<double>(o.beams));
    for (const std::string &text : o.stop)
        if (text.empty()) throw Error(ErrorCode::usage, "stop: expected texts, found an empty one");
}

// The texts that are generated, as far as they have come.
class Answers {
  public:
    Answers(const model::Generation &model, const std::vector<Source> &sources, const GenerateOptions &options)
        : model_(model), options_(options), sources_(sources), streamed_(sources.size()) {}

    [[nodiscard]] bool stops(const Ids &tokens) const {
        return generation::stops(*model_.target, tokens, options_.stop);
    }

    // The same tokens may be announced again, when work is repeated after a device was lost.
    void grow(size_t text, const Ids &tokens) {
        Streamed &s = streamed_[text];
        if (!s.stream) s.stream = begin(text);
        for (; s.tokens < tokens.size(); ++s.tokens) s.text += s.stream->push(tokens[s.tokens]);
        show(text, safe_length(s.text, options_.stop));
    }

    [[nodiscard]] Hypothesis hypothesis(size_t text, const Candidate &c) {
        const auto stream = begin(text);
        std::string written;
        for (const int32_t token : c.tokens) written += stream->push(token);
        written += stream->finish();
        written.resize(first_stop(written, options_.stop));
        if (options_.stream) {
            streamed_[text].text = written;
            show(text, written.size());
        }
        return {written, c.tokens, c.log_probability, c.score, c.finish, c.reused};
    }

  private:
    struct Streamed {
        std::unique_ptr<model::TextStream> stream;
        size_t tokens = 0;
        std::string text;
        size_t shown = 0; // of its bytes
    };

    void show(size_t text, size_t length) {
        Streamed &s = streamed_[text];
        if (length <= s.shown) return;
        options_.stream(text, std::string_view(s.text).substr(s.shown, length - s.shown));
        s.shown = length;
    }

    // A tokenizer's text depends on what comes before: a continuation begins with a blank, a text does not.
    [[nodiscard]] std::unique_ptr<model::TextStream> begin(size_t text) const {
        auto stream = model_.target->stream();
        if (model_.encode.empty() && model_.target->split() == model::TextCodec::Split::tokenizer)
            for (const int32_t token : std::get<Ids>(sources_[text])) (void)stream->push(token);
        return stream;
    }

    const model::Generation &model_;
    const GenerateOptions &options_;
    const std::vector<Source> &sources_; // of all texts
    std::vector<Streamed> streamed_;
};

// Windows of audio are long, and so is their encoding: at most 512 MiB of it at a time, but at least one window.
size_t windows_at_once(const detail::SessionState &session, const GenerateOptions &options) {
    constexpr uint64_t most = 512u << 20; // bytes
    const plan::GraphPlan plan = plan_decode_step(*session.model, *session.runtime->plugins);
    uint64_t bytes = 0; // of all rows of the plan, which has two
    for (const std::string &name : session.model->generation->encoded)
        bytes += plan.tensors[static_cast<size_t>(plan.inputs.at(name))].type.bytes();
    return std::max<uint64_t>(most * 2 / bytes / static_cast<uint64_t>(options.beams), 1);
}

// The search task for a batch of texts, given by their numbers.
SearchTask task_of(const model::Model &model, const std::vector<Source> &sources, std::span<const size_t> batch,
                   size_t positions, const GenerateOptions &options, Answers &answers) {
    const model::Generation &g = *model.generation;
    const std::vector<Ids> start = start_of(model, options.choices);
    SearchTask task;
    task.positions = positions;
    task.max_length = static_cast<size_t>(options.max_length != 0 ? options.max_length : g.max_length);
    for (const size_t i : batch) {
        std::vector<Ids> prefix = start;
        if (!g.encode.empty())
            task.sources.push_back(sources[i]);
        else
            for (const int32_t id : std::get<Ids>(sources[i])) prefix.push_back({id}); // a prompt, to be continued
        if (prefix.empty())
            throw Error(ErrorCode::input,
                        "text " + std::to_string(i + 1) + ": empty, and the model has no token that texts begin with");
        task.prefixes.push_back(std::move(prefix));
        task.numbers.push_back(options.first + i);
    }
    if (!options.stop.empty()) task.stops = [&answers](const Ids &tokens) { return answers.stops(tokens); };
    if (options.stream)
        task.grown = [&answers, batch](size_t text, const Ids &tokens) { answers.grow(batch[text], tokens); };
    return task;
}

} // namespace

std::vector<Ids> start_of(const model::Model &model, const Choices &choices) {
    std::vector<Ids> out = model.tokens.start;
    for (const auto &[name, wanted] : choices) {
        const auto choice = model.tokens.choices.find(name);
        if (choice == model.tokens.choices.end())
            throw Error(ErrorCode::usage, name + ": " + model.folder.string() + " has no such setting" +
                                              (model.tokens.choices.empty()
                                                   ? ""
                                                   : "; its settings are " + joined(names_of(model.tokens.choices))));
        const auto &[place, ids] = choice->second;
        const auto id = ids.find(wanted);
        if (id == ids.end())
            throw Error(ErrorCode::usage, name + ": " + in_quotes(wanted) + " is not supported by the model" +
                                              did_you_mean(wanted, names_of(ids)) +
                                              "; supported: " + joined(names_of(ids)));
        out[place] = {id->second};
    }
    return out;
}

std::vector<std::vector<Hypothesis>> generate(detail::SessionState &session, const std::vector<std::string> &texts,
                                              const GenerateOptions &options) {
    check_options(options);
    std::vector<Ids> ids = tokenize(*session.model, *session.runtime->plugins, texts, options.special_tokens);
    return generate_from(session, {std::make_move_iterator(ids.begin()), std::make_move_iterator(ids.end())}, options);
}

std::vector<std::vector<Hypothesis>> generate_from(detail::SessionState &session, const std::vector<Source> &sources,
                                                   const GenerateOptions &options) {
    check_options(options);
    const model::Model &model = *session.model;
    const model::Generation &g = *model.generation;
    const size_t positions = longest_target(model, *session.runtime->plugins);

    // Texts of similar length together, because a batch is as long as its longest text.
    std::vector<size_t> order;
    for (size_t i = 0; i < sources.size(); ++i)
        if (length_of(sources[i]) != 0 || g.encode.empty()) order.push_back(i); // a prompt may be empty, a source not
    if (!g.audio) std::ranges::stable_sort(order, {}, [&](size_t i) { return length_of(sources[i]); });

    const auto most = static_cast<size_t>(options.hypotheses != 0 ? options.hypotheses : options.beams);
    Answers answers(g, sources, options);
    std::vector<std::vector<Hypothesis>> out(sources.size());
    const size_t rows = g.audio ? std::min(options.batch, windows_at_once(session, options)) : options.batch;
    for (size_t first = 0; first < order.size(); first += rows) {
        const auto batch = std::span(order).subspan(first, std::min(rows, order.size() - first));
        const SearchTask task = task_of(model, sources, batch, positions, options, answers);
        const auto found = session.surviving_loss([&] { return search(session, task, options); });
        for (size_t i = 0; i < batch.size(); ++i)
            for (const Candidate &c : std::span(found[i]).first(std::min(most, found[i].size())))
                out[batch[i]].push_back(answers.hypothesis(batch[i], c));
        if (options.progress) options.progress(first + batch.size(), order.size());
    }
    return out;
}

} // namespace lamina::generation
