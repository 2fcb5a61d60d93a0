#include "generation/search.hpp"

#include "generation/sampling.hpp"
#include "generation/stop.hpp"

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

} // namespace

Search::Search(const model::Model &model, Task task)
    : model_(model), task_(std::move(task)), live_(static_cast<size_t>(options().beams)) {
    take_places();
    // All beams begin the same, so at first only one counts, and later splits. Samples differ by chance.
    for (size_t b = 1; b < live_.size() && !sampled(); ++b) live_[b].log_probability = never;
}

bool Search::ends(int32_t token) const { return std::ranges::count(model_.tokens.end, token) != 0; }

Ids Search::whole(size_t beam) const {
    Ids out = prefix_;
    out.insert(out.end(), live_[beam].tokens.begin(), live_[beam].tokens.end());
    return out;
}

void Search::begin(size_t fed) {
    fed_ = fed;
    if (steps_ == 0) reused_ = fed;
}

Ids Search::next(size_t beam) const {
    const Candidate &c = live_[beam];
    if (done_ || c.log_probability == never) return {};
    if (fed_ + 1 == prefix_.size() + c.tokens.size() && !c.tokens.empty()) return {c.tokens.back()};
    const Ids all = whole(beam);
    return {all.begin() + static_cast<std::ptrdiff_t>(fed_), all.end()};
}

void Search::advance(std::span<const Scores> scores, std::span<int32_t> parents) {
    if (done_) return;
    fed_ = prefix_.size() + steps_;
    if (steps_ == 0 && take_choice(scores.front())) return;
    if (sampled())
        sample(scores);
    else
        extend(scores, parents);
    ++steps_;
    stop();
    const bool full = steps_ >= task_.max_length || prefix_.size() + steps_ > task_.positions;
    if (full)
        for (Candidate &c : live_)
            if (c.log_probability != never) finish(c, Finish::length);
    done_ = full || finished_.size() >= live_.size() ||
            std::ranges::all_of(live_, [](const Candidate &c) { return c.log_probability == never; });
}

std::vector<Candidate> Search::take() {
    std::stable_sort(finished_.begin(), finished_.end(),
                     [](const auto &a, const auto &b) { return a.score > b.score; });
    if (finished_.size() > live_.size()) finished_.resize(live_.size());
    return std::move(finished_);
}

// The places of the prefix up to one that leaves a choice.
void Search::take_places() {
    while (prefix_.size() < task_.prefix.size() && task_.prefix[prefix_.size()].size() == 1)
        prefix_.push_back(task_.prefix[prefix_.size()].front());
}

// The likeliest token of the place that comes next, if there is one; all beams begin the same.
bool Search::take_choice(const Scores &scores) {
    if (prefix_.size() == task_.prefix.size()) return false;
    const std::span<const float> all = scores.all();
    const auto score = [&](int32_t token) { return all[static_cast<size_t>(token)]; };
    prefix_.push_back(*std::ranges::max_element(task_.prefix[prefix_.size()], {}, score));
    take_places();
    return true;
}

// Whether adjust() does more than to suppress the tokens that are not among the candidates anyway.
bool Search::adjusts() const {
    return options().repetition_penalty != 1 || (steps_ == 0 && !model_.tokens.begin_suppress.empty());
}

void Search::adjust(std::span<float> scores, const Ids &tokens) const {
    penalize(scores, {prefix_, tokens}, options().repetition_penalty);
    suppress(scores, model_.tokens.suppress);
    if (steps_ == 0) suppress(scores, model_.tokens.begin_suppress);
}

void Search::finish(Candidate c, Finish how) {
    const auto length = static_cast<double>(c.tokens.size() + (how == Finish::end ? 1 : 0));
    c.score = c.log_probability / std::pow(length, options().length_penalty);
    c.finish = how;
    finished_.push_back(std::move(c));
}

// Ends the beams whose text came to a stop.
void Search::stop() {
    const std::vector<std::string> &texts = options().stop;
    for (Candidate &c : live_) {
        if (texts.empty() || c.log_probability == never) continue;
        if (!stops(*model_.generation->target, c.tokens, texts)) continue;
        finish(c, Finish::stop);
        c.log_probability = never;
    }
}

size_t Search::candidates(size_t beams) {
    constexpr size_t usual = 64, most = 128; // the layer chooses no more
    return 2 * beams <= usual ? usual : 2 * beams <= most ? most : 0;
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
    adjust(all, live_[beam].tokens);
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
std::vector<Search::Choice> Search::best_choices(std::span<const Scores> scores) {
    const size_t most = 2 * live_.size();
    std::vector<Choice> best;
    for (size_t b = 0; b < live_.size(); ++b) {
        if (live_[b].log_probability == never) continue;
        rank(scores[b], b, most);
        for (size_t i = 0; i < std::min(most, tokens_.size()); ++i)
            best.push_back({live_[b].log_probability + log_probabilities_[i], b, tokens_[i]});
    }
    std::ranges::stable_sort(best, std::ranges::greater(), &Choice::log_probability);
    best.resize(std::min(most, best.size()));
    return best;
}

void Search::extend(std::span<const Scores> scores, std::span<int32_t> parents) {
    std::vector<Choice> kept; // the likeliest first
    const std::vector<Choice> choices = best_choices(scores);
    for (size_t rank = 0; rank < choices.size() && kept.size() < live_.size(); ++rank) {
        const Choice &choice = choices[rank];
        if (!ends(choice.token))
            kept.push_back(choice);
        else if (rank < live_.size()) // an end that is not among the best is dropped
            finish(Candidate{live_[choice.beam].tokens, choice.log_probability}, Finish::end);
    }
    // The first choice of a beam stays in its row, whose caches need not move. Others take the rows that this leaves.
    std::vector<Candidate> next(live_.size(), Candidate{{}, never});
    const auto put = [&](const Choice &choice, size_t row) {
        next[row] = Candidate{live_[choice.beam].tokens, choice.log_probability};
        next[row].tokens.push_back(choice.token);
        parents[row] = static_cast<int32_t>(choice.beam);
    };
    std::vector<Choice> others;
    for (const Choice &choice : kept)
        if (next[choice.beam].log_probability == never)
            put(choice, choice.beam);
        else
            others.push_back(choice);
    for (size_t row = 0; const Choice &choice : others) {
        while (next[row].log_probability != never) ++row;
        put(choice, row);
    }
    live_ = std::move(next);
}

void Search::sample(std::span<const Scores> scores) {
    for (size_t b = 0; b < live_.size(); ++b) {
        Candidate &c = live_[b];
        if (c.log_probability == never) continue;
        const size_t place = draw_place(scores[b], b);
        const int32_t token = tokens_[place];
        c.log_probability += log_probabilities_[place];
        if (ends(token)) {
            finish(c, Finish::end);
            c.log_probability = never;
        } else {
            c.tokens.push_back(token);
        }
    }
}

// Where a random token is among the ranked ones. It is drawn from all tokens where the candidates do not determine it.
size_t Search::draw_place(const Scores &scores, size_t beam) {
    const size_t kept = options().top_k > 0 ? std::min(options().top_k, scores.vocabulary) : scores.vocabulary;
    const double chance = uniform(options().seed, task_.number, beam, live_[beam].tokens.size());
    const auto drawn = [&](size_t known) {
        rank(scores, beam, known);
        return draw({std::span(log_probabilities_).first(known), kept - known}, options(), chance);
    };
    if (kept == scores.vocabulary && !scores.tokens.empty() && !adjusts())
        if (const auto place = drawn(scores.tokens.size())) return *place;
    return drawn(kept).value();
}

} // namespace lamina::generation
