#include "generation/search.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "base/utf8.hpp"
#include "generation/filters.hpp"
#include "generation/stop.hpp"
#include "grammar/parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace lamina::generation {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

constexpr size_t usual_tokens = 256; // of a text; there is room for them from the beginning

// How many extensions of a beam go on even if it ends in every way, and one more.
size_t choices_of_beam(const model::Model &model) { return std::max<size_t>(2, 1 + model.tokens.end.size()); }

// How many extensions of all beams are looked at.
size_t choices_of(const model::Model &model, const GenerateOptions &options) {
    return choices_of_beam(model) * static_cast<size_t>(options.beams.value());
}

Error no_token_left() {
    return Error(ErrorCode::input, "no token is left to choose: the model's settings of generation, such as "
                                   "no_repeat_ngram_size and suppress_tokens, or the grammar of the answer exclude all "
                                   "of them");
}

// Of the grammar of a text with the model's tokens. Those at the beginning of a text may differ from others.
std::shared_ptr<grammar::Constraint> constraint_of(const model::Generation &model, const Task &task) {
    if (!task.options->grammar) return nullptr;
    const auto *const prompt = std::get_if<Ids>(&task.source);
    const bool begins = !model.encode.empty() || prompt == nullptr || model.target->decode(*prompt, false).empty();
    const bool special = !task.options->skip_special_tokens;
    const auto rest = model.target->tokens(false, special);
    return grammar::constraint_of(*task.options->grammar, begins ? model.target->tokens(true, special) : rest, rest);
}

void normalize(std::span<float> scores) {
    const double shift = shift_of(scores);
    for (float &s : scores) s = static_cast<float>(s - shift);
}

} // namespace

Search::Search(const model::Model &model, Task task)
    : model_(model), task_(std::move(task)), processors_(model, options(), task_.first),
      constraint_(constraint_of(*model.generation, task_)), live_(static_cast<size_t>(options().beams.value())) {
    for (Beam &beam : live_) beam.tokens.reserve(task_.prefix.size() + std::min(task_.max_length, usual_tokens));
    finished_.reserve(live_.size() + 1);
    if (options().likeliest) seen_.assign(live_.size(), TokenScores(*options().likeliest));
    take_places();
    // All beams begin the same, so at first only one counts, and later splits. Samples differ by chance.
    for (size_t b = 1; b < live_.size() && !sampled(); ++b) live_[b].log_probability = never;
}

bool Search::ends(int32_t token) const { return std::ranges::count(model_.tokens.end, token) != 0; }

void Search::begin(size_t fed) {
    fed_ = fed;
    if (steps_ != 0) return;
    reused_ = fed;
    prompt_scores_.clear();
}

void Search::score(std::span<const Scores> scores) {
    const size_t known = prompt_scores_.size();
    prompt_scores_.resize(known + scores.size());
    in_parallel(scores.size(), cores(), [&](size_t i, size_t) {
        TokenScores next(*options().likeliest);
        next.take_all(scores[i].all(), {});
        prompt_scores_[known + i] = next.of(whole(0)[known + i + 1]);
    });
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
    if (constraint_ && seen_.empty() && live_.size() == 1 && live_.front().log_probability != never) take_forced();
    const bool none_live = std::ranges::all_of(live_, [](const Beam &beam) { return beam.log_probability == never; });
    done_ = none_live || (!sampled() && finished_.size() == live_.size() && !may_improve());
}

// Whether the best beam may still become better than the finished texts, of which there are as many as beams.
bool Search::may_improve() const {
    using model::EarlyStopping;
    const EarlyStopping when = model_.generation->decoding.early_stopping;
    if (live_.size() == 1 || when == EarlyStopping::at_once) return false;
    const bool at_longest = when == EarlyStopping::never && options().length_penalty > 0.0;
    const Beam &best = *std::ranges::max_element(live_, {}, &Beam::log_probability);
    return score_of(best.log_probability, at_longest ? longest() : steps_) > finished_.back().score;
}

double Search::score_of(double log_probability, size_t length) const {
    return log_probability / std::pow(static_cast<double>(length), options().length_penalty.value());
}

std::vector<Candidate> Search::take() {
    for (Candidate &each : finished_) {
        each.guessed = guessed_, each.accepted = accepted_;
        each.prompt_scores = prompt_scores_;
        const auto prefix = whole(0).first(model_.generation->encode.empty() ? 0 : prefix_);
        each.prefix.assign(prefix.begin(), prefix.end());
    }
    return std::move(finished_);
}

size_t Search::longest() const { return std::min(task_.max_length, task_.positions + 1 - prefix_); }

Unfinished Search::unfinished(size_t beam) const {
    const bool has_prompt = model_.generation->encode.empty();
    const auto *const source = std::get_if<Ids>(&task_.source);
    const std::span<const int32_t> read = source == nullptr || has_prompt ? std::span<const int32_t>() : *source;
    return {.tokens = whole(beam),
            .prefix = prefix_,
            .longest = prefix_ + longest(),
            .source = has_prompt ? whole(beam).first(prefix_) : read};
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

// Whether and how a text ends with this token.
std::optional<Finish> Search::finish_of(size_t beam, int32_t token) {
    if (ends(token)) return Finish::end;
    if (stops_at(beam, token)) return Finish::stop;
    if (completes(beam, token)) return Finish::end;
    return steps_ + 1 >= longest() ? std::optional(Finish::length) : std::nullopt;
}

// A stop text of the model may begin in the prompt, and may be a special token; one of the caller's is looked for in
// what the caller gets.
bool Search::stops_at(size_t beam, int32_t token) {
    const std::vector<std::string> &texts = stops_of(model_, options());
    if (texts.empty()) return false;
    Ids &tokens = live_[beam].tokens;
    tokens.push_back(token);
    const bool own = options().stop.empty();
    const bool stop =
        stops(*model_.generation->target, whole(beam), own ? 0 : prefix_, texts, own || !options().skip_special_tokens);
    tokens.pop_back();
    return stop;
}

void Search::finish(size_t beam, int32_t token, double log_probability, Finish how) {
    const auto tokens = without_prefix(beam);
    Candidate found{Ids(tokens.begin(), tokens.end()), log_probability, score_of(log_probability, steps_ + 1), how,
                    live_[beam].scores};
    if (!ends(token)) {
        found.tokens.push_back(token);
        if (!seen_.empty()) found.scores.push_back(seen_[beam].of(token));
    }
    const auto at = std::ranges::upper_bound(finished_, found.score, std::greater<>(), &Candidate::score);
    finished_.insert(at, std::move(found));
    if (finished_.size() > live_.size()) finished_.pop_back();
}

size_t Search::candidates(const model::Model &model, const GenerateOptions &options) {
    constexpr size_t usual = 64, most = 128; // the layer chooses no more
    if (generation::samples_beams(options)) return 0;
    if (Processors(model, options).change_most_steps()) return 0;
    // Suppressed tokens are not among the candidates, and count in the log probabilities that beams compete by.
    const bool sampled = options.temperature > 0;
    if (!sampled && options.beams != 1 && !model.tokens.suppress.empty()) return 0;
    if (sampled && has_rare_filters(options) && (options.top_k == 0 || options.top_n_sigma > 0)) return 0;
    const size_t needed = std::max(sampled ? options.top_k : choices_of(model, options), options.likeliest.value_or(0));
    return needed <= usual ? usual : needed <= most ? most : 0;
}

// What the grammar lets follow; nothing without one.
std::shared_ptr<const grammar::TokenSet> Search::following(size_t beam) {
    if (!constraint_) return nullptr;
    return constraint_->after(without_prefix(beam), live_[beam].place);
}

// Whether the grammar lets nothing follow this token.
bool Search::completes(size_t beam, int32_t token) {
    if (!constraint_) return false;
    Beam &b = live_[beam];
    const auto before = b.place;
    b.tokens.push_back(token);
    const bool out = !following(beam)->may_go_on;
    b.tokens.pop_back();
    b.place = before;
    return out;
}

// Where text must follow, its tokens need no steps. The last of them waits: it may be part of a longer one, with what
// is chosen next.
void Search::take_forced() {
    Beam &beam = live_.front();
    std::string text = constraint_->forced(without_prefix(0), beam.place);
    text.resize(first_invalid_utf8(text)); // it may end within a character
    if (text.empty()) return;
    Ids tokens;
    try {
        tokens = model_.generation->target->encode(text, false);
    } catch (const Error &) { // it ends within a word, where words are tokens
        return;
    }
    if (!constraint_->are_text(tokens, text)) return; // tokenizers may add a blank
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (const auto how = finish_of(0, tokens[i])) {
            finish(0, tokens[i], beam.log_probability, *how);
            beam.log_probability = never;
            return;
        }
        beam.tokens.push_back(tokens[i]);
        ++steps_;
    }
}

bool Search::may_follow(int32_t token) const {
    return !following_ || (ends(token) ? following_->may_end : following_->has(token));
}

// How many tokens may follow.
size_t Search::choosable(const Scores &scores) const {
    if (!following_) return scores.vocabulary;
    return following_->count() + (following_->may_end ? model_.tokens.end.size() : 0);
}

// Ranks the candidates of a beam. Returns false if they do not say which tokens are the likeliest.
bool Search::rank_known(const Scores &scores, size_t beam) {
    following_ = following(beam);
    if (!seen_.empty() && !seen_[beam].take(scores)) return false;
    if (scores.tokens.empty() || processors_.change(unfinished(beam))) return false;
    if (competes() && !model_.tokens.suppress.empty()) return false;
    const double shift = scores.best.front() + std::log(scores.sum); // log softmax
    log_probabilities_.assign(scores.best.begin(), scores.best.end());
    for (double &p : log_probabilities_) p -= shift;
    tokens_.assign(scores.tokens.begin(), scores.tokens.end());
    size_t kept = 0;
    for (size_t i = 0; following_ && i < tokens_.size(); ++i) {
        if (!may_follow(tokens_[i])) continue;
        log_probabilities_[kept] = log_probabilities_[i];
        tokens_[kept++] = tokens_[i];
    }
    if (following_) log_probabilities_.resize(kept), tokens_.resize(kept);
    return true;
}

// The `count` likeliest tokens of a beam, or more: from its candidates if these are enough.
void Search::rank(const Scores &scores, size_t beam, size_t count) {
    if (!rank_known(scores, beam) || tokens_.size() < std::min(count, choosable(scores))) rank_all(scores, beam, count);
}

void Search::rank_all(const Scores &scores, size_t beam, size_t count) {
    const std::span<float> all = scores.all();
    if (!seen_.empty()) seen_[beam].take_all(all, model_.tokens.suppress);
    if (competes()) normalize(all);
    room_.reserve(live_[beam].tokens.capacity()); // grows as rarely as the text
    processors_.apply(all, unfinished(beam), room_);
    const double shift = competes() && !model_.generation->decoding.renormalize_logits ? 0 : shift_of(all);
    tokens_.resize(following_ ? 0 : all.size());
    std::iota(tokens_.begin(), tokens_.end(), 0);
    if (following_) {
        following_->for_each([this](int32_t token) {
            if (!ends(token)) tokens_.push_back(token);
        });
        if (following_->may_end) tokens_.insert(tokens_.end(), model_.tokens.end.begin(), model_.tokens.end.end());
    }
    count = std::min(count, tokens_.size());
    const auto score = [&](int32_t token) { return all[static_cast<size_t>(token)]; };
    std::partial_sort(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(count), tokens_.end(),
                      [&](int32_t a, int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    tokens_.resize(count);
    log_probabilities_.clear();
    for (const int32_t token : tokens_) log_probabilities_.push_back(score(token) - shift);
}

// The best extensions: enough to keep all beams live even if every beam ends in every way. Ties go to the first beam
// and the lowest token, as in greedy search.
void Search::find_choices(std::span<const Scores> scores) {
    const size_t most = choices_of(model_, options());
    choices_.clear();
    choices_.reserve(live_.size() * (samples_beams() ? scores.front().vocabulary : most));
    for (size_t b = 0; b < live_.size(); ++b) {
        if (live_[b].log_probability == never) continue;
        rank(scores[b], b, samples_beams() ? scores[b].vocabulary : live_.size() == 1 && constraint_ ? 1 : most);
        if (samples_beams()) leave_out_unsampled(b);
        for (size_t i = 0; i < tokens_.size() && (i < most || samples_beams()); ++i)
            if (log_probabilities_[i] != never)
                choices_.push_back({live_[b].log_probability + log_probabilities_[i], b, i, tokens_[i]});
    }
    if (choices_.empty() && finished_.empty()) throw no_token_left();
    if (samples_beams()) draw_choices(most, scores.front().vocabulary);
    std::ranges::sort(choices_, [](const Choice &x, const Choice &y) {
        return std::tuple(y.log_probability, x.beam, x.place) < std::tuple(x.log_probability, y.beam, y.place);
    });
    choices_.resize(std::min(most, choices_.size()));
}

// Makes the log probabilities of a beam's tokens those that extensions are drawn by.
void Search::leave_out_unsampled(size_t beam) {
    if (log_probabilities_.empty() || log_probabilities_.front() == never) return;
    for (double &p : log_probabilities_) p /= options().temperature;
    weights_.resize(log_probabilities_.size());
    std::ranges::transform(log_probabilities_, weights_.begin(),
                           [&](double p) { return std::exp(p - log_probabilities_.front()); });
    const Chances chances = chances_of(options().seed, task_.number, beam, steps_);
    leave_out({weights_, log_probabilities_, choices_of_beam(model_), chances.filter}, options());
    const double all = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    const double shift =
        model_.generation->decoding.renormalize_logits ? log_probabilities_.front() + std::log(all) : 0;
    for (size_t i = 0; i < weights_.size(); ++i)
        log_probabilities_[i] = weights_[i] == 0 ? never : log_probabilities_[i] - shift;
}

// Keeps so many choices, drawn by their probabilities.
void Search::draw_choices(size_t most, size_t vocabulary) {
    for (Choice &c : choices_) {
        const uint64_t number = c.beam * vocabulary + static_cast<size_t>(c.token);
        c.luck = c.log_probability + perturbation(uniform(options().seed, task_.number, number, steps_));
    }
    if (most >= choices_.size()) return;
    std::ranges::nth_element(choices_, choices_.begin() + static_cast<std::ptrdiff_t>(most), std::greater<>(),
                             &Choice::luck);
    choices_.resize(most);
}

void Search::extend(std::span<const Scores> scores, std::span<int32_t> parents) {
    find_choices(scores);
    size_t kept = 0;
    for (size_t rank = 0; rank < choices_.size() && (rank < live_.size() || kept < live_.size()); ++rank) {
        const Choice choice = choices_[rank];
        if (const auto how = finish_of(choice.beam, choice.token); !how)
            choices_[kept++] = choice;
        else if (rank < live_.size()) // an end that is not among the best is dropped
            finish(choice.beam, choice.token, choice.log_probability, *how);
    }
    choices_.resize(kept);
    place_choices(parents);
}

void Search::place_choices(std::span<int32_t> parents) {
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
        live_[row].place = live_[choice.beam].place;
        live_[row].scores = live_[choice.beam].scores;
        live_[row].log_probability = choice.log_probability;
        choice.row = row;
    }
    for (const Choice &choice : choices_) {
        live_[*choice.row].tokens.push_back(choice.token);
        if (!seen_.empty()) live_[*choice.row].scores.push_back(seen_[choice.beam].of(choice.token));
        parents[*choice.row] = static_cast<int32_t>(choice.beam);
    }
}

void Search::sample(std::span<const Scores> scores) {
    // All are drawn before one is added, because a device may be lost meanwhile: then nothing has happened.
    drawn_.resize(live_.size());
    for (size_t b = 0; b < live_.size(); ++b) drawn_[b].before = live_[b].memory;
    try {
        for (size_t b = 0; b < live_.size(); ++b) {
            if (live_[b].log_probability == never) continue;
            const size_t place = draw_place(scores[b], b);
            drawn_[b].token = tokens_[place], drawn_[b].log_probability = log_probabilities_[place];
        }
    } catch (...) {
        for (size_t b = 0; b < live_.size(); ++b) live_[b].memory = drawn_[b].before;
        throw;
    }
    for (size_t b = 0; b < live_.size(); ++b) {
        Beam &beam = live_[b];
        if (beam.log_probability == never) continue;
        const int32_t token = drawn_[b].token;
        beam.log_probability += drawn_[b].log_probability;
        if (const auto how = finish_of(b, token)) {
            finish(b, token, beam.log_probability, *how);
            beam.log_probability = never;
        } else {
            beam.tokens.push_back(token);
            if (!seen_.empty()) beam.scores.push_back(seen_[b].of(token));
        }
    }
}

// Where a random token is among the ranked ones. It is drawn from all tokens where the candidates do not determine it.
size_t Search::draw_place(const Scores &scores, size_t beam) {
    const Chances chances = chances_of(options().seed, task_.number, beam, without_prefix(beam).size());
    const bool known = rank_known(scores, beam) && !tokens_.empty();
    const size_t all = choosable(scores);
    const size_t kept = options().top_k > 0 && options().top_h == 0 && options().top_n_sigma == 0
                            ? std::min(options().top_k, all)
                            : all;
    const auto drawn = [&](size_t count, size_t others) {
        return draw({std::span(log_probabilities_).first(count), others, following_ != nullptr}, options(), chances,
                    live_[beam].memory, weights_);
    };
    if (known && tokens_.size() >= kept) return drawn(kept, 0).value();
    if (known && kept == all && !has_rare_filters(options()))
        if (const auto place = drawn(tokens_.size(), kept - tokens_.size())) return *place;
    rank_all(scores, beam, kept);
    if (tokens_.empty() || log_probabilities_.front() == never) throw no_token_left();
    return drawn(tokens_.size(), 0).value();
}

} // namespace lamina::generation
