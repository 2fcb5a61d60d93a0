#include "generation/search.hpp"

#include "generation/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lamina::generation {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

// What is subtracted from a model's scores to make them log probabilities: log softmax, in double. Log probabilities
// stay the same.
double shift_of(std::span<const float> scores) {
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const float s : scores) sum += std::exp(s - most);
    return most + std::log(sum);
}

// The beams of one text.
class Text {
  public:
    Text(const model::OutputTokens &marks, const SearchTask &task, size_t index, const GenerateOptions &options)
        : marks_(marks), task_(task), options_(options), places_(task.prefixes[index]), number_(task.numbers[index]),
          live_(static_cast<size_t>(options.beams)) {
        take_places();
        // All beams begin the same, so at first only one counts, and later splits. Samples differ by chance.
        for (size_t b = 1; b < live_.size() && !sampled(); ++b) live_[b].log_probability = never;
    }

    [[nodiscard]] bool done() const { return done_; }
    [[nodiscard]] const Ids &tokens() const { return live_.front().tokens; }

    // What each beam takes next: the prefix, then its own last token. Nothing once the text is done.
    [[nodiscard]] Ids next(size_t beam) const {
        if (done_) return {};
        if (steps_ == 0) return {prefix_.begin() + static_cast<std::ptrdiff_t>(fed_), prefix_.end()};
        const Ids &tokens = live_[beam].tokens;
        return {tokens.empty() ? prefix_.back() : tokens.back()};
    }

    // Takes the scores (beams, V) of the next tokens; `parents` gets the beam that each beam continues.
    void advance(std::span<float> scores, std::span<int32_t> parents) {
        if (done_) return;
        const size_t vocabulary = scores.size() / live_.size();
        if (steps_ == 0) {
            fed_ = prefix_.size();
            if (take_choice(scores.first(vocabulary))) return;
        }
        for (size_t b = 0; b < live_.size(); ++b)
            if (live_[b].log_probability != never) adjust(scores.subspan(b * vocabulary, vocabulary), live_[b].tokens);
        if (sampled())
            sample(scores, vocabulary);
        else
            extend(scores, vocabulary, parents);
        ++steps_;
        stop();
        const bool full = steps_ >= task_.max_length || prefix_.size() + steps_ > task_.positions;
        if (full)
            for (Candidate &c : live_)
                if (c.log_probability != never) finish(c, Finish::length);
        done_ = full || finished_.size() >= live_.size() ||
                std::ranges::all_of(live_, [](const Candidate &c) { return c.log_probability == never; });
    }

    [[nodiscard]] std::vector<Candidate> take() {
        std::stable_sort(finished_.begin(), finished_.end(),
                         [](const auto &a, const auto &b) { return a.score > b.score; });
        if (finished_.size() > live_.size()) finished_.resize(live_.size());
        return std::move(finished_);
    }

  private:
    struct Choice {
        double log_probability;
        size_t beam;
        int32_t token;
    };

    [[nodiscard]] bool sampled() const { return options_.temperature > 0; }
    [[nodiscard]] bool ends(int32_t token) const { return std::ranges::count(marks_.end, token) != 0; }

    // The places of the prefix up to one that leaves a choice.
    void take_places() {
        while (prefix_.size() < places_.size() && places_[prefix_.size()].size() == 1)
            prefix_.push_back(places_[prefix_.size()].front());
    }

    // The likeliest token of the place that comes next, if there is one; all beams begin the same.
    bool take_choice(std::span<const float> scores) {
        if (prefix_.size() == places_.size()) return false;
        const auto score = [&](int32_t token) { return scores[static_cast<size_t>(token)]; };
        prefix_.push_back(*std::ranges::max_element(places_[prefix_.size()], {}, score));
        take_places();
        return true;
    }

    void adjust(std::span<float> scores, const Ids &tokens) const {
        penalize(scores, {prefix_, tokens}, options_.repetition_penalty);
        suppress(scores, marks_.suppress);
        if (steps_ == 0) suppress(scores, marks_.begin_suppress);
    }

    void finish(Candidate c, Finish how) {
        const auto length = static_cast<double>(c.tokens.size() + (how == Finish::end ? 1 : 0));
        c.score = c.log_probability / std::pow(length, options_.length_penalty);
        c.finish = how;
        finished_.push_back(std::move(c));
    }

    // Ends the beams whose text came to a stop.
    void stop() {
        if (!task_.stops) return;
        for (Candidate &c : live_) {
            if (c.log_probability == never || !task_.stops(c.tokens)) continue;
            finish(c, Finish::stop);
            c.log_probability = never;
        }
    }

    // The best 2 * beams extensions: enough to keep all beams live even if every beam ends. Ties go to the first beam
    // and the lowest token, as in greedy search.
    std::vector<Choice> best_choices(std::span<const float> scores, size_t vocabulary) {
        const size_t most = 2 * live_.size();
        std::vector<Choice> best; // so far; beams and tokens come in order, so an equal one goes behind
        const auto likelier = [](const Choice &a, const Choice &b) { return a.log_probability > b.log_probability; };
        for (size_t b = 0; b < live_.size(); ++b) {
            if (live_[b].log_probability == never) continue;
            const auto of_beam = scores.subspan(b * vocabulary, vocabulary);
            const double shift = shift_of(of_beam);
            for (size_t v = 0; v < vocabulary; ++v) {
                const Choice choice{live_[b].log_probability + (of_beam[v] - shift), b, static_cast<int32_t>(v)};
                if (best.size() == most && !likelier(choice, best.back())) continue;
                if (best.size() == most) best.pop_back();
                best.insert(std::upper_bound(best.begin(), best.end(), choice, likelier), choice);
            }
        }
        return best;
    }

    void extend(std::span<const float> scores, size_t vocabulary, std::span<int32_t> parents) {
        std::vector<Candidate> next;
        const std::vector<Choice> choices = best_choices(scores, vocabulary);
        for (size_t rank = 0; rank < choices.size() && next.size() < live_.size(); ++rank) {
            const Choice &choice = choices[rank];
            Candidate c{live_[choice.beam].tokens, choice.log_probability};
            if (ends(choice.token)) {
                if (rank < live_.size())
                    finish(std::move(c), Finish::end); // an end that is not among the best is dropped
                continue;
            }
            c.tokens.push_back(choice.token);
            parents[next.size()] = static_cast<int32_t>(choice.beam);
            next.push_back(std::move(c));
        }
        while (next.size() < live_.size()) next.push_back({{}, never});
        live_ = std::move(next);
    }

    void sample(std::span<const float> scores, size_t vocabulary) {
        for (size_t b = 0; b < live_.size(); ++b) {
            Candidate &c = live_[b];
            if (c.log_probability == never) continue;
            const auto of_beam = scores.subspan(b * vocabulary, vocabulary);
            const double shift = shift_of(of_beam);
            log_probabilities_.assign(of_beam.begin(), of_beam.end());
            for (double &p : log_probabilities_) p -= shift;
            const double chance = uniform(options_.seed, number_, b, c.tokens.size());
            const auto token = static_cast<size_t>(draw(log_probabilities_, options_, chance));
            c.log_probability += log_probabilities_[token];
            if (ends(static_cast<int32_t>(token))) {
                finish(c, Finish::end);
                c.log_probability = never;
            } else {
                c.tokens.push_back(static_cast<int32_t>(token));
            }
        }
    }

    const model::OutputTokens &marks_;
    const SearchTask &task_;
    const GenerateOptions &options_;
    const std::vector<Ids> &places_; // of the prefix
    Ids prefix_;
    size_t fed_ = 0; // of the prefix
    uint64_t number_;
    size_t steps_ = 0;                       // taken
    std::vector<Candidate> live_, finished_; // live: one per beam; log_probability `never`: unused
    std::vector<double> log_probabilities_;
    bool done_ = false;
};

} // namespace

std::vector<std::vector<Candidate>> search(detail::SessionState &session, const SearchTask &task,
                                           const GenerateOptions &options) {
    const auto beams = static_cast<size_t>(options.beams);
    std::vector<Text> texts;
    std::vector<Source> sources; // one a row
    size_t longest = 0;
    for (size_t i = 0; i < task.prefixes.size(); ++i) {
        texts.emplace_back(session.model->tokens, task, i, options);
        longest = std::max(longest, task.prefixes[i].size());
        if (!task.sources.empty()) sources.insert(sources.end(), beams, task.sources[i]);
    }
    const size_t rows = texts.size() * beams;
    Decoder decoder(session, sources,
                    {.rows = rows,
                     .length = std::min(longest + task.max_length, task.positions),
                     .cached = options.cached,
                     .reuse = options.reuse,
                     .sure = options.max_length != 0 ? 0 : longest + 1}); // the model's maximum is rarely reached

    std::vector<Ids> tokens(rows);
    Ids parents(rows);
    const size_t scores_of_text = beams * decoder.vocabulary();
    while (!std::ranges::all_of(texts, &Text::done)) {
        for (size_t r = 0; r < rows; ++r) tokens[r] = texts[r / beams].next(r % beams);
        const std::span<float> scores = decoder.step(tokens);
        std::iota(parents.begin(), parents.end(), 0);
        for (size_t i = 0; i < texts.size(); ++i) {
            const auto mine = std::span(parents).subspan(i * beams, beams);
            std::iota(mine.begin(), mine.end(), 0);
            texts[i].advance(scores.subspan(i * scores_of_text, scores_of_text), mine);
            for (int32_t &parent : mine) parent += static_cast<int32_t>(i * beams);
            if (task.grown && beams == 1 && !texts[i].done()) task.grown(i, texts[i].tokens());
        }
        if (!std::is_sorted(parents.begin(), parents.end()) ||
            std::adjacent_find(parents.begin(), parents.end()) != parents.end())
            decoder.reorder(parents); // something moved
    }
    std::vector<std::vector<Candidate>> out;
    for (size_t i = 0; i < texts.size(); ++i)
        for (Candidate &c : out.emplace_back(texts[i].take())) c.reused = decoder.reused(i * beams);
    return out;
}

} // namespace lamina::generation
