#include "generation/search.hpp"

#include "generation/sampling.hpp"
#include "generation/stop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace lamina::generation {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

constexpr size_t usual_tokens = 256; // of a text; there is room for them from the beginning

// What is subtracted from a model's scores to make them log probabilities: log softmax, in double. Log probabilities
// stay the same.
double shift_of(std::span<const float> scores) {
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const float s : scores) sum += std::exp(s - most);
    return most + std::log(sum);
}

} // namespace

Search::Search(const model::Model &model, Task task)
    : model_(model), task_(std::move(task)), live_(static_cast<size_t>(options().beams)) {
    for (Beam &beam : live_) beam.tokens.reserve(task_.prefix.size() + std::min(task_.max_length, usual_tokens));
    take_places();
    // All beams begin the same, so at first only one counts, and later splits. Samples differ by chance.
    for (size_t b = 1; b < live_.size() && !sampled(); ++b) live_[b].log_probability = never;
}

bool Search::ends(int32_t token) const { return std::ranges::count(model_.tokens.end, token) != 0; }

void Search::begin(size_t fed) {
    fed_ = fed;
    if (steps_ == 0) reused_ = fed;
}

std::span<const int32_t> Search::next(size_t beam) const {
    if (done_ || live_[beam].log_probability == never) return {};
    return whole(beam).subspan(fed_);
}

void Search::advance(std::span<const Scores> scores, std::span<int32_t> parents) {
    if (done_) return;
    fed_ = prefix_ + steps_;
    if (steps_ == 0 && take_choice(scores.front())) return;
    if (sampled())
        sample(scores);
    else
        extend(scores, parents);
    ++steps_;
    stop();
    const bool full = steps_ >= task_.max_length || prefix_ + steps_ > task_.positions;
    for (size_t b = 0; b < live_.size() && full; ++b)
        if (live_[b].log_probability != never) finish(b, live_[b].log_probability, Finish::length);
    done_ = full || finished_.size() >= live_.size() ||
            std::ranges::all_of(live_, [](const Beam &beam) { return beam.log_probability == never; });
}

std::vector<Candidate> Search::take() {
    std::stable_sort(finished_.begin(), finished_.end(),
                     [](const auto &a, const auto &b) { return a.score > b.score; });
    if (finished_.size() > live_.size()) finished_.resize(live_.size());
    return std::move(finished_);
}

// The next token of the prefix.
void Search::take_token(int32_t token) {
    for (Beam &beam : live_) beam.tokens.push_back(token);
    ++prefix_;
}

// The places of the prefix up to one that leaves a choice.
void Search::take_places() {
    while (prefix_ < task_.prefix.size() && task_.prefix[prefix_].size() == 1)
        take_token(task_.prefix[prefix_].front());
}

// The likeliest token of the place that comes next, if there is one; all beams begin the same.
bool Search::take_choice(const Scores &scores) {
    if (prefix_ == task_.prefix.size()) return false;
    const std::span<const float> all = scores.all();
    const auto score = [&](int32_t token) { return all[static_cast<size_t>(token)]; };
    take_token(*std::ranges::max_element(task_.prefix[prefix_], {}, score));
    take_places();
    return true;
}

// Whether adjust() does more than to suppress the tokens that are not among the candidates anyway.
bool Search::adjusts() const {
    return options().repetition_penalty != 1 || (steps_ == 0 && !model_.tokens.begin_suppress.empty());
}

void Search::adjust(std::span<float> scores, size_t beam) {
    if (options().repetition_penalty != 1) {
        const Ids &tokens = live_[beam].tokens;
        tokens_.reserve(tokens.capacity()); // grows as rarely as the text
        tokens_ = tokens;
        penalize(scores, tokens_, options().repetition_penalty);
    }
    suppress(scores, model_.tokens.suppress);
    if (steps_ == 0) suppress(scores, model_.tokens.begin_suppress);
}

void Search::finish(size_t beam, double log_probability, Finish how) {
    const auto tokens = without_prefix(beam);
    const auto length = static_cast<double>(tokens.size() + (how == Finish::end ? 1 : 0));
    finished_.push_back({Ids(tokens.begin(), tokens.end()), log_probability,
                         log_probability / std::pow(length, options().length_penalty), how});
}

// Ends the beams whose text came to a stop.
void Search::stop() {
    const std::vector<std::string> &texts = options().stop;
    for (size_t b = 0; b < live_.size() && !texts.empty(); ++b) {
        if (live_[b].log_probability == never) continue;
        if (!stops(*model_.generation->target, without_prefix(b), texts)) continue;
        finish(b, live_[b].log_probability, Finish::stop);
        live_[b].log_probability = never;
    }
}

size_t Search::candidates(const GenerateOptions &options) {
    constexpr size_t usual = 64, most = 128; // the layer chooses no more
    if (options.repetition_penalty != 1) return 0;
    const size_t needed = options.temperature > 0 ? options.top_k : 2 * static_cast<size_t>(options.beams);
    return needed <= usual ? usual : needed <= most ? most : 0;
}

// The `count` likeliest tokens of a beam, or more: from its candidates if these are enough.
void Search::rank(const Scores &scores, size_t beam, size_t count) {
    if (count > scores.tokens.size() || adjusts()) return rank_all(scores, beam, count);
    const double shift = scores.best.front() + std::log(scores.sum); // log softmax
    log_probabilities_.assign(scores.best.begin(), scores.best.end());
    for (double &p : log_probabilities_) p -= shift;
    tokens_.assign(scores.tokens.begin(), scores.tokens.end());
}

void Search::rank_all(const Scores &scores, size_t beam, size_t count) {
    const std::span<float> all = scores.all();
    adjust(all, beam);
    const double shift = shift_of(all);
    tokens_.resize(all.size());
    std::iota(tokens_.begin(), tokens_.end(), 0);
    count = std::min(count, all.size());
    const auto score = [&](int32_t token) { return all[static_cast<size_t>(token)]; };
    std::partial_sort(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(count), tokens_.end(),
                      [&](int32_t a, int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    tokens_.resize(count);
    log_probabilities_.clear();
    for (const int32_t token : tokens_) log_probabilities_.push_back(score(token) - shift);
}

// The best 2 * beams extensions: enough to keep all beams live even if every beam ends. Ties go to the first beam
// and the lowest token, as in greedy search.
void Search::find_choices(std::span<const Scores> scores) {
    const size_t most = 2 * live_.size();
    choices_.clear();
    for (size_t b = 0; b < live_.size(); ++b) {
        if (live_[b].log_probability == never) continue;
        rank(scores[b], b, most);
        for (size_t i = 0; i < std::min(most, tokens_.size()); ++i)
            choices_.push_back({live_[b].log_probability + log_probabilities_[i], b, i, tokens_[i]});
    }
    std::ranges::sort(choices_, [](const Choice &x, const Choice &y) {
        return std::tuple(y.log_probability, x.beam, x.place) < std::tuple(x.log_probability, y.beam, y.place);
    });
    choices_.resize(std::min(most, choices_.size()));
}

void Search::extend(std::span<const Scores> scores, std::span<int32_t> parents) {
    find_choices(scores);
    size_t kept = 0;
    for (size_t rank = 0; rank < choices_.size() && kept < live_.size(); ++rank) {
        const Choice choice = choices_[rank];
        if (!ends(choice.token))
            choices_[kept++] = choice;
        else if (rank < live_.size()) // an end that is not among the best is dropped
            finish(choice.beam, choice.log_probability, Finish::end);
    }
    choices_.resize(kept);
    for (Beam &beam : live_) beam.log_probability = never;
    // The first choice of a beam stays in its row, whose caches need not move.
    for (Choice &choice : choices_) {
        Beam &beam = live_[choice.beam];
        if (beam.log_probability != never) continue;
        beam.log_probability = choice.log_probability;
        choice.row = choice.beam;
    }
    // Others take the rows that this leaves.
    for (size_t row = 0; Choice & choice : choices_) {
        if (choice.row) continue;
        while (live_[row].log_probability != never) ++row;
        live_[row].tokens = live_[choice.beam].tokens;
        live_[row].log_probability = choice.log_probability;
        choice.row = row;
    }
    for (const Choice &choice : choices_) {
        live_[*choice.row].tokens.push_back(choice.token);
        parents[*choice.row] = static_cast<int32_t>(choice.beam);
    }
}

void Search::sample(std::span<const Scores> scores) {
    for (size_t b = 0; b < live_.size(); ++b) {
        Beam &beam = live_[b];
        if (beam.log_probability == never) continue;
        const size_t place = draw_place(scores[b], b);
        const int32_t token = tokens_[place];
        beam.log_probability += log_probabilities_[place];
        if (ends(token)) {
            finish(b, beam.log_probability, Finish::end);
            beam.log_probability = never;
        } else {
            beam.tokens.push_back(token);
        }
    }
}

// Where a random token is among the ranked ones. It is drawn from all tokens where the candidates do not determine it.
size_t Search::draw_place(const Scores &scores, size_t beam) {
    const size_t kept = options().top_k > 0 ? std::min(options().top_k, scores.vocabulary) : scores.vocabulary;
    const double chance = uniform(options().seed, task_.number, beam, without_prefix(beam).size());
    const auto drawn = [&](size_t known) {
        rank(scores, beam, known);
        return draw({std::span(log_probabilities_).first(known), kept - known}, options(), chance, weights_);
    };
    if (kept == scores.vocabulary && !scores.tokens.empty() && !adjusts())
        if (const auto place = drawn(scores.tokens.size())) return *place;
    return drawn(kept).value();
}

} // namespace lamina::generation
