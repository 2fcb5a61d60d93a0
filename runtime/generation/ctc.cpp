#include "generation/ctc.hpp"

#include "generation/scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace lamina::generation {
namespace {

constexpr double no_chance = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
double log_sum(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == no_chance ? a : a + std::log1p(std::exp(b - a));
}

// The first label with the same text as each one: labels count by their texts.
std::vector<size_t> first_alike(const model::Speech &speech) {
    std::map<std::string_view, size_t> first;
    std::vector<size_t> out;
    for (const std::string &label : speech.labels) out.push_back(first.emplace(label, out.size()).first->second);
    return out;
}

// Of the labels that are the first with their text, their probabilities together.
class Frames {
  public:
    Frames(const model::Speech &speech, std::span<const double> log_probabilities)
        : labels_(speech.labels.size()), values_(log_probabilities.begin(), log_probabilities.end()) {
        const std::vector<size_t> first = first_alike(speech);
        for (size_t label = 0; label < labels_; ++label) {
            if (first[label] == label && speech.labels[label] != speech.blank) spoken_.push_back(label);
            if (first[label] == label && speech.labels[label] == speech.blank) blank_ = label;
            for (size_t f = 0; first[label] != label && f < count(); ++f) {
                double &sum = values_[f * labels_ + first[label]];
                sum = log_sum(sum, values_[f * labels_ + label]);
            }
        }
    }
    [[nodiscard]] size_t count() const { return values_.size() / labels_; }
    [[nodiscard]] double of(size_t frame, size_t label) const { return values_[frame * labels_ + label]; }
    [[nodiscard]] size_t blank() const { return blank_; }
    // The likeliest of those that are not blank.
    [[nodiscard]] std::vector<size_t> spoken(size_t frame, size_t most) const {
        std::vector<size_t> out(std::min(most, spoken_.size()));
        const auto likelier = [&](size_t a, size_t b) {
            return of(frame, a) != of(frame, b) ? of(frame, a) > of(frame, b) : a < b;
        };
        std::ranges::partial_sort_copy(spoken_, out, likelier);
        return out;
    }

  private:
    size_t labels_, blank_ = 0;
    std::vector<double> values_;
    std::vector<size_t> spoken_;
};

// The texts that were kept, by number, each as another one with a label behind it. Text 0 is empty.
class Prefixes {
  public:
    using Longer = std::pair<size_t, size_t>; // a text, and the label behind it

    [[nodiscard]] Longer last_of(size_t text) const { return all_[text]; }
    [[nodiscard]] bool ends_in(size_t text, size_t label) const { return text != 0 && all_[text].second == label; }
    // Made when first asked for.
    size_t number_of(const Longer &text) {
        const auto [found, is_new] = numbers_.try_emplace(text, all_.size());
        if (is_new) all_.push_back(text);
        return found->second;
    }
    [[nodiscard]] std::vector<size_t> labels(size_t text) const {
        std::vector<size_t> out;
        for (; text != 0; text = all_[text].first) out.push_back(all_[text].second);
        std::ranges::reverse(out);
        return out;
    }

  private:
    static constexpr Longer empty{SIZE_MAX, SIZE_MAX}; // behind no text
    std::vector<Longer> all_{empty};
    std::map<Longer, size_t> numbers_{{empty, 0}};
};

// Of a text after some frames: the probabilities of paths that end in a blank, and of those that end in its last label.
struct Ending {
    double blank = no_chance, label = no_chance;
    [[nodiscard]] double both() const { return log_sum(blank, label); }
};

// The frames of the likeliest path of a text: its labels, with blanks that may be between them, and must be between two
// of the same (the Viterbi algorithm).
std::vector<model::Speech::Run> aligned(const Frames &frames, const std::vector<size_t> &labels) {
    const size_t states = 2 * labels.size() + 1; // those with even numbers are blanks
    const auto label_of = [&](size_t state) { return state % 2 == 0 ? frames.blank() : labels[state / 2]; };
    std::vector<double> best(states, no_chance), next(states);
    std::vector<uint8_t> steps(frames.count() * states); // how many states each one is behind the one before it
    best[0] = 0;
    for (size_t f = 0; f < frames.count(); ++f) {
        for (size_t s = 0; s < states; ++s) {
            const bool may_skip = s % 2 == 1 && (s < 2 || labels[s / 2] != labels[s / 2 - 1]);
            uint8_t step = 0;
            for (uint8_t back = 1; back <= (may_skip ? 2 : 1) && back <= s; ++back)
                if (best[s - back] > best[s - step]) step = back;
            next[s] = best[s - step] + frames.of(f, label_of(s));
            steps[f * states + s] = step;
        }
        best.swap(next);
    }
    size_t state = states > 1 && best[states - 2] > best[states - 1] ? states - 2 : states - 1;
    std::vector<model::Speech::Run> out(labels.size());
    for (size_t i = 0; i < labels.size(); ++i) out[i].label = static_cast<int32_t>(labels[i]);
    for (size_t f = frames.count(); f-- > 0;) {
        if (state % 2 == 1) {
            model::Speech::Run &run = out[state / 2];
            if (run.end == 0) run.end = f + 1;
            run.begin = f;
        }
        state -= steps[f * states + state];
    }
    return out;
}

} // namespace

std::vector<double> log_probabilities_of(std::span<const float> scores, size_t labels) {
    if (!std::ranges::all_of(scores, [](float v) { return std::isfinite(v); }))
        throw NoAnswer(ErrorCode::input, "a score of the model is NaN or infinite; 'lamina compare' finds the layer");
    std::vector<double> out(scores.begin(), scores.end());
    for (size_t at = 0; at < out.size(); at += labels) {
        const auto frame = std::span(out).subspan(at, labels);
        const double most = *std::ranges::max_element(frame);
        double sum = 0;
        for (const double v : frame) sum += std::exp(v - most);
        for (double &v : frame) v -= most + std::log(sum);
    }
    return out;
}

Spelled likeliest_path(const model::Speech &speech, std::span<const double> log_probabilities) {
    const size_t labels = speech.labels.size();
    std::vector<int32_t> path;
    Spelled out;
    for (size_t at = 0; at < log_probabilities.size(); at += labels) {
        const auto frame = log_probabilities.subspan(at, labels);
        const auto best = std::ranges::max_element(frame);
        path.push_back(static_cast<int32_t>(best - frame.begin()));
        out.log_probability += *best;
    }
    out.runs = speech.collapsed(path);
    return out;
}

Spelled likeliest_text(const model::Speech &speech, std::span<const double> log_probabilities, size_t beams) {
    constexpr size_t most_labels = 64; // of a frame: what is less likely than so many others is not said there
    const Frames frames(speech, log_probabilities);
    Prefixes texts;
    std::vector<std::pair<size_t, Ending>> kept{{0, {.blank = 0}}}; // by text, the likeliest first
    for (size_t f = 0; f < frames.count(); ++f) {
        std::map<Prefixes::Longer, Ending> next;
        const auto add = [&](double &to, double path, size_t label) { to = log_sum(to, path + frames.of(f, label)); };
        const std::vector<size_t> spoken = frames.spoken(f, most_labels);
        for (const auto &[text, ending] : kept) {
            add(next[texts.last_of(text)].blank, ending.both(), frames.blank());
            for (const size_t label : spoken) {
                const bool again = texts.ends_in(text, label); // a label goes on, unless a blank came between
                if (again) add(next[texts.last_of(text)].label, ending.label, label);
                add(next[{text, label}].label, again ? ending.blank : ending.both(), label);
            }
        }
        using Found = std::pair<const Prefixes::Longer, Ending>;
        std::vector<std::pair<double, const Found *>> best; // the likeliest first, then as `next` has them
        for (const Found &each : next) best.emplace_back(-each.second.both(), &each);
        const auto end = best.begin() + static_cast<std::ptrdiff_t>(std::min(best.size(), beams));
        std::partial_sort(best.begin(), end, best.end(), [](const auto &a, const auto &b) {
            return a.first != b.first ? a.first < b.first : a.second->first < b.second->first;
        });
        kept.clear();
        for (auto each = best.begin(); each != end; ++each)
            kept.emplace_back(texts.number_of(each->second->first), each->second->second);
    }
    return {aligned(frames, texts.labels(kept.front().first)), kept.front().second.both()};
}

std::vector<Transcript::Segment> segments_of(const model::Speech &speech, std::span<const model::Speech::Run> runs,
                                             Timestamps which) {
    const double frame =
        static_cast<double>(speech.audio.frames->lengths.step) / static_cast<double>(speech.audio.rate);
    std::vector<Transcript::Segment> out;
    bool within = false; // a word
    for (const model::Speech::Run &run : runs) {
        const bool delimits = speech.labels[static_cast<size_t>(run.label)] == speech.delimiter;
        if (which == Timestamps::words && delimits) {
            within = false;
            continue;
        }
        if (which == Timestamps::characters || !within)
            out.push_back({.begin = static_cast<double>(run.begin) * frame, .end = 0, .text = {}, .tokens = {}});
        within = true;
        out.back().end = static_cast<double>(run.end) * frame;
        out.back().tokens.push_back(run.label);
    }
    for (Transcript::Segment &each : out) {
        each.text = speech.text_of(each.tokens);
        if (each.text.empty()) each.text = speech.space; // between words
    }
    return out;
}

} // namespace lamina::generation
