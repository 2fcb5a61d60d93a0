#include "generation/processors.hpp"

#include "generation/sampling.hpp"
#include "generation/timestamps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::generation {
namespace {

constexpr float excluded = -std::numeric_limits<float>::infinity();

void penalize_all(std::span<float> scores, std::span<const int32_t> tokens, double penalty, Ids &room) {
    if (penalty == 1) return;
    room.assign(tokens.begin(), tokens.end());
    penalize(scores, room, penalty);
}

// Suppresses what would complete a sequence of `size` tokens that occurs in `of`.
void suppress_repeats(std::span<float> scores, std::span<const int32_t> tokens, std::span<const int32_t> of,
                      size_t size) {
    if (size == 0 || tokens.size() + 1 < size || of.size() < size) return;
    const auto begun = tokens.last(size - 1);
    for (size_t i = 0; i + size <= of.size(); ++i) {
        const auto last = static_cast<size_t>(of[i + size - 1]);
        if (last < scores.size() && std::ranges::equal(of.subspan(i, size - 1), begun)) scores[last] = excluded;
    }
}

// Whether the text ends in all tokens of a sequence but its last one.
bool is_begun(std::span<const int32_t> sequence, std::span<const int32_t> tokens) {
    const size_t length = sequence.size() - 1;
    return length <= tokens.size() && std::ranges::equal(sequence.first(length), tokens.last(length));
}

void force(std::span<float> scores, std::span<const int32_t> tokens) {
    std::ranges::fill(scores, excluded);
    for (const int32_t token : tokens) scores[static_cast<size_t>(token)] = 0;
}

void make_finite(std::span<float> scores) {
    constexpr float most = std::numeric_limits<float>::max();
    for (float &score : scores) score = std::isnan(score) ? 0 : std::clamp(score, -most, most);
}

} // namespace

bool Processors::change_most_steps() const {
    return options_.repetition_penalty != 1.0 || options_.frequency_penalty != 0 || options_.presence_penalty != 0 ||
           options_.dry_multiplier != 0 || !options_.biases.empty() || options_.min_length != 0 ||
           options_.ignore_end || options_.timestamps != Timestamps::none ||
           settings_.encoder_repetition_penalty != 1 || settings_.no_repeat_ngram_size != 0 ||
           settings_.encoder_no_repeat_ngram_size != 0 || !settings_.sequence_bias.empty() ||
           !settings_.bad_words_ids.empty() || settings_.min_length != 0 || settings_.min_new_tokens.value_or(0) != 0 ||
           settings_.exponential_decay_length_penalty || settings_.remove_invalid_values;
}

bool Processors::change(const Unfinished &text) const {
    return change_most_steps() || forces_begin(text) || forces_end(text) || is_begin(text);
}

// Tokens of begin_suppress are not chosen first, or after the token that is forced to be first. Before Whisper's texts,
// several are given.
bool Processors::is_begin(const Unfinished &text) const {
    const std::optional<model::AudioInput> &audio = model_.generation->audio;
    const bool whispers = audio && !audio->frames;
    const bool forced = first_ && text.prefix == 1 && !whispers;
    return !model_.tokens.begin_suppress.empty() && text.tokens.size() == text.prefix + (forced ? 1 : 0);
}

bool Processors::forces_begin(const Unfinished &text) const { return first_ && text.tokens.size() == 1; }

bool Processors::forces_end(const Unfinished &text) const {
    return !settings_.forced_eos_token_id.empty() && text.tokens.size() + 1 == text.longest;
}

bool Processors::is_short(const Unfinished &text) const {
    const auto given = static_cast<int64_t>(text.tokens.size() - text.prefix);
    if (options_.ignore_end || given < options_.min_length) return true;
    if (settings_.min_new_tokens) return given < *settings_.min_new_tokens;
    return text.tokens.size() < static_cast<size_t>(settings_.min_length);
}

void Processors::apply(std::span<float> scores, const Unfinished &text, Ids &room) const {
    add_biases(scores, text);
    penalize_all(scores, text.source, 1 / settings_.encoder_repetition_penalty, room);
    penalize_all(scores, text.tokens, options_.repetition_penalty.value(), room);
    count_tokens(scores, text, room);
    if (options_.dry_multiplier > 0) discourage_repeats(scores, text.tokens);
    suppress_repeats(scores, text.tokens, text.tokens, static_cast<size_t>(settings_.no_repeat_ngram_size));
    suppress_repeats(scores, text.tokens, text.source, static_cast<size_t>(settings_.encoder_no_repeat_ngram_size));
    for (const Ids &sequence : settings_.bad_words_ids)
        if (is_begun(sequence, text.tokens)) scores[static_cast<size_t>(sequence.back())] = excluded;
    if (is_short(text)) suppress(scores, model_.tokens.end);
    if (forces_begin(text)) force(scores, {&*first_, 1});
    if (forces_end(text)) force(scores, settings_.forced_eos_token_id);
    if (settings_.remove_invalid_values) make_finite(scores);
    if (settings_.exponential_decay_length_penalty) favour_ends(scores, text);
    suppress(scores, model_.tokens.suppress);
    if (is_begin(text)) suppress(scores, model_.tokens.begin_suppress);
    if (is_chosen_ && forces_begin(text)) force(scores, {&*first_, 1});
    if (options_.timestamps != Timestamps::none)
        apply_timestamp_rules(scores, text.tokens.subspan(text.prefix), *model_.tokens.timestamps,
                              model_.tokens.end.front());
}

void Processors::add_biases(std::span<float> scores, const Unfinished &text) const {
    for (const auto &[sequence, bias] : settings_.sequence_bias)
        if (is_begun(sequence, text.tokens)) scores[static_cast<size_t>(sequence.back())] += static_cast<float>(bias);
    for (const auto &[token, bias] : options_.biases)
        if (static_cast<size_t>(token) < scores.size()) scores[static_cast<size_t>(token)] += static_cast<float>(bias);
}

void Processors::count_tokens(std::span<float> scores, const Unfinished &text, Ids &room) const {
    if (options_.frequency_penalty == 0 && options_.presence_penalty == 0) return;
    const auto answer = text.tokens.subspan(text.prefix);
    room.assign(answer.begin(), answer.end());
    std::ranges::sort(room);
    for (size_t i = 0; i < room.size(); ++i) {
        const double once = i == 0 || room[i] != room[i - 1] ? options_.presence_penalty : 0;
        scores[static_cast<size_t>(room[i])] -= static_cast<float>(options_.frequency_penalty + once);
    }
}

bool Processors::breaks(int32_t token) const {
    if (token < 0) return true; // of an image
    const auto [found, is_new] = breaks_.try_emplace(token);
    if (is_new) {
        const std::string text = model_.generation->target->decode({&token, 1}, false);
        found->second = std::ranges::any_of(options_.dry_breakers,
                                            [&](const auto &b) { return text.find(b) != std::string::npos; });
    }
    return found->second;
}

// DRY (github.com/oobabooga/text-generation-webui, pull request 5677).
void Processors::discourage_repeats(std::span<float> scores, std::span<const int32_t> tokens) const {
    constexpr size_t longest = 100; // what is beyond makes no difference
    constexpr double most = 1e30;
    if (tokens.empty() || breaks(tokens.back())) return;
    std::map<int32_t, size_t> lengths; // of the longest sequence that a token would repeat once more
    for (size_t next = 1; next < tokens.size(); ++next) {
        if (tokens[next - 1] != tokens.back() || breaks(tokens[next])) continue;
        size_t length = 1;
        while (length < longest && length < next && tokens[next - 1 - length] == tokens[tokens.size() - 1 - length] &&
               !breaks(tokens[next - 1 - length]))
            ++length;
        size_t &known = lengths[tokens[next]];
        known = std::max(known, length);
    }
    for (const auto &[token, length] : lengths) {
        if (length < options_.dry_allowed_length || static_cast<size_t>(token) >= scores.size()) continue;
        const auto beyond = static_cast<double>(length - options_.dry_allowed_length);
        scores[static_cast<size_t>(token)] -=
            static_cast<float>(std::min(most, options_.dry_multiplier * std::pow(options_.dry_base, beyond)));
    }
}

void Processors::favour_ends(std::span<float> scores, const Unfinished &text) const {
    const auto [start, factor] = *settings_.exponential_decay_length_penalty;
    const size_t from = text.prefix + static_cast<size_t>(start);
    if (text.tokens.size() <= from) return;
    const double growth = std::pow(factor, static_cast<double>(text.tokens.size() - from)) - 1;
    for (const int32_t token : model_.tokens.end) {
        float &score = scores[static_cast<size_t>(token)];
        if (std::isfinite(score)) score += static_cast<float>(std::abs(score) * growth);
    }
}

} // namespace lamina::generation
