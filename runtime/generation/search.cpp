#include "generation/search.hpp"

#include "generation/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lamina::generation {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

// log softmax of a model's scores, in double. Log probabilities stay the same.
void log_softmax(std::span<const float> scores, std::vector<double> &out) {
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const float s : scores) sum += std::exp(s - most);
    const double shift = most + std::log(sum);
    out.resize(scores.size());
    for (size_t i = 0; i < scores.size(); ++i) out[i] = scores[i] - shift;
}

// The beams of one text.
class Text {
  public:
    Text(const SearchTask &task, size_t index, const GenerateOptions &options)
        : task_(task), options_(options), prefix_(task.prefixes[index]), number_(task.numbers[index]),
          live_(static_cast<size_t>(options.beams)) {
        // All beams begin the same, so at first only one counts, and later splits. Samples differ by chance.
        for (size_t b = 1; b < live_.size() && !sampled(); ++b) live_[b].log_probability = never;
    }

    [[nodiscard]] bool done() const { return done_; }

    [[nodiscard]] int32_t token(size_t beam, size_t position) const {
        if (position < prefix_.size()) return prefix_[position];
        const Ids &tokens = live_[beam].tokens;
        return tokens.empty() ? prefix_.back() : tokens.back();
    }

    // Takes the scores (beams, V) after `position`; `parents` gets the beam that each beam continues.
    void advance(std::span<const float> scores, size_t position, std::span<int32_t> parents) {
        if (done_ || position + 1 < prefix_.size()) return;
        const size_t vocabulary = scores.size() / live_.size();
        if (sampled())
            sample(scores, vocabulary);
        else
            extend(scores, vocabulary, parents);
        const bool full = position + 2 - prefix_.size() >= task_.max_length || // tokens, with the one just taken
                          position + 1 >= task_.positions;                     // where that one would stand
        if (full)
            for (Candidate &c : live_)
                if (c.log_probability != never) finish(std::move(c), false);
        done_ = full || finished_.size() >= live_.size();
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

    void finish(Candidate c, bool ended) {
        const auto length = static_cast<double>(c.tokens.size() + (ended ? 1 : 0));
        c.score = c.log_probability / std::pow(length, options_.length_penalty);
        finished_.push_back(std::move(c));
    }

    // The best 2 * beams extensions: enough to keep all beams live even if every beam ends. Ties go to the first beam
    // and the lowest token, as in greedy search.
    std::vector<Choice> best_choices(std::span<const float> scores, size_t vocabulary) {
        std::vector<Choice> all;
        for (size_t b = 0; b < live_.size(); ++b) {
            if (live_[b].log_probability == never) continue;
            log_softmax(scores.subspan(b * vocabulary, vocabulary), log_probabilities_);
            for (size_t v = 0; v < vocabulary; ++v)
                all.push_back({live_[b].log_probability + log_probabilities_[v], b, static_cast<int32_t>(v)});
        }
        const size_t most = std::min(all.size(), 2 * live_.size());
        std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end(),
                          [](const Choice &a, const Choice &b) {
                              if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
                              return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
                          });
        all.resize(most);
        return all;
    }

    void extend(std::span<const float> scores, size_t vocabulary, std::span<int32_t> parents) {
        std::vector<Candidate> next;
        const std::vector<Choice> choices = best_choices(scores, vocabulary);
        for (size_t rank = 0; rank < choices.size() && next.size() < live_.size(); ++rank) {
            const Choice &choice = choices[rank];
            Candidate c{live_[choice.beam].tokens, choice.log_probability, 0};
            if (choice.token == task_.end) {
                if (rank < live_.size()) finish(std::move(c), true); // an end that is not among the best is dropped
                continue;
            }
            c.tokens.push_back(choice.token);
            parents[next.size()] = static_cast<int32_t>(choice.beam);
            next.push_back(std::move(c));
        }
        while (next.size() < live_.size()) next.push_back({{}, never, 0});
        live_ = std::move(next);
    }

    void sample(std::span<const float> scores, size_t vocabulary) {
        for (size_t b = 0; b < live_.size(); ++b) {
            Candidate &c = live_[b];
            if (c.log_probability == never) continue;
            log_softmax(scores.subspan(b * vocabulary, vocabulary), log_probabilities_);
            const double chance = uniform(options_.seed, number_, b, c.tokens.size());
            const auto token = static_cast<size_t>(draw(log_probabilities_, options_, chance));
            c.log_probability += log_probabilities_[token];
            if (static_cast<int32_t>(token) == task_.end) {
                finish(c, true);
                c.log_probability = never;
            } else {
                c.tokens.push_back(static_cast<int32_t>(token));
            }
        }
    }

    const SearchTask &task_;
    const GenerateOptions &options_;
    const Ids &prefix_;
    uint64_t number_;
    std::vector<Candidate> live_, finished_; // live: one per beam; log_probability `never`: unused
    std::vector<double> log_probabilities_;
    bool done_ = false;
};

} // namespace

std::vector<std::vector<Candidate>> search(detail::SessionState &session, const SearchTask &task,
                                           const GenerateOptions &options) {
    const auto beams = static_cast<size_t>(options.beams);
    std::vector<Text> texts;
    std::vector<Ids> sources; // one a row
    size_t longest = 0;
    for (size_t i = 0; i < task.prefixes.size(); ++i) {
        texts.emplace_back(task, i, options);
        longest = std::max(longest, task.prefixes[i].size());
        if (!task.sources.empty()) sources.insert(sources.end(), beams, task.sources[i]);
    }
    const size_t rows = texts.size() * beams;
    Decoder decoder(session, sources, {rows, std::min(longest + task.max_length, task.positions), options.cached});

    Ids tokens(rows), parents(rows);
    const auto undone = [](const Text &t) { return !t.done(); };
    for (size_t position = 0; std::any_of(texts.begin(), texts.end(), undone); ++position) {
        for (size_t r = 0; r < rows; ++r) tokens[r] = texts[r / beams].token(r % beams, position);
        const std::span<const float> scores = decoder.step(tokens, position);
        std::iota(parents.begin(), parents.end(), 0);
        for (size_t i = 0; i < texts.size(); ++i) {
            const auto mine = std::span(parents).subspan(i * beams, beams);
            std::iota(mine.begin(), mine.end(), 0);
            texts[i].advance(scores.subspan(i * beams * decoder.vocabulary(), beams * decoder.vocabulary()), position,
                             mine);
            for (int32_t &parent : mine) parent += static_cast<int32_t>(i * beams);
        }
        if (!std::is_sorted(parents.begin(), parents.end()) ||
            std::adjacent_find(parents.begin(), parents.end()) != parents.end())
            decoder.reorder(parents); // something moved
    }
    std::vector<std::vector<Candidate>> out;
    for (Text &text : texts) out.push_back(text.take());
    return out;
}

} // namespace lamina::generation
