// As the pipeline "question-answering" of transformers 4 finds them (pipelines/question_answering.py).
#include "reading/answers.hpp"

#include "base/utf8.hpp"
#include "reading/spans.hpp"
#include "tokenizer/unicode.hpp"

#include <algorithm>

namespace lamina::reading {
namespace {

// A question with a part of its text.
struct Window {
    size_t pair;
    size_t question; // tokens of it, the special ones aside
    Encoding encoding;
};

// A text that is too long for the model is read in windows. Each shares this many tokens with the one before it.
size_t shared_tokens(size_t longest) { return std::min<size_t>(longest / 2, 128); }

void add_windows(const model::Reading &model, const TextPair &pair, size_t number, std::vector<Window> &out) {
    const auto refuse = [&](const std::string &why) {
        throw Error(ErrorCode::input, "question " + std::to_string(number + 1) + ": " + why);
    };
    constexpr EncodeOptions bare{.add_special_tokens = false};
    const auto longest = static_cast<size_t>(model.longest);
    const Encoding all = model.tokenizer.encode(pair.first, pair.second),
                   alone = model.tokenizer.encode(pair.second, bare);
    const size_t question = question_tokens(all, model.tokenizer.encode(pair.first, bare), alone), text = alone.size();
    if (question == 0 || text == 0) refuse("expected a question and a text that are not empty");
    if (all.size() <= longest) {
        out.push_back({number, question, all});
        return;
    }
    const size_t shared = shared_tokens(longest), taken = all.size() - text;
    if (taken + shared >= longest)
        refuse("it has " + std::to_string(question) + " tokens, which leaves no room for the text; the model takes " +
               std::to_string(longest) + " of both");
    const size_t room = longest - taken;
    for (const size_t begin : window_starts(text, room, shared))
        out.push_back({number, question, without(all, [&](size_t token) {
                           return token < question || (token - question >= begin && token - question < begin + room);
                       })});
}

// The answers to one question, from all windows of its text.
class Answers {
  public:
    Answers(const std::string &text, const AnswerOptions &options) : text_(text), options_(options) {
        for (size_t at = 0; at < text.size(); at += utf8_length(text, at)) bytes_.push_back(at);
        bytes_.push_back(text.size());
    }

    void add(const Window &window, std::span<const float> values) {
        const Encoding &tokens = window.encoding;
        std::vector<bool> counts(tokens.size());
        for (size_t i = 0, own = 0; i < tokens.size(); ++i)
            counts[i] = tokens.special[i] ? i == 0 : own++ >= window.question; // the first stands for no answer
        std::vector<double> begins = probabilities(values, 0, counts), ends = probabilities(values, 1, counts);
        if (counts[0]) none_ = std::min(none_, begins[0] * ends[0]);
        begins[0] = ends[0] = 0;
        for (const Span &each : best(begins, ends)) add(tokens, each);
    }

    std::vector<Answer> take() {
        if (options_.may_be_none) found_.push_back({"", {0, 0}, none_});
        std::ranges::stable_sort(found_, std::ranges::greater{}, &Answer::score);
        if (found_.size() > options_.best) found_.resize(options_.best);
        return std::move(found_);
    }

  private:
    const std::string &text_;
    const AnswerOptions &options_;
    std::vector<size_t> bytes_; // the offset of each character, and the end
    std::vector<Answer> found_;
    double none_ = 1;

    // More than are asked for, because several may be the same words.
    [[nodiscard]] std::vector<Span> best(const std::vector<double> &begins, const std::vector<double> &ends) const {
        return best_spans(begins, ends, options_.longest,
                          2 * std::min(options_.best, begins.size() * begins.size()) + 10);
    }

    // An answer has whole words, and its score is the sum of those with the same ones.
    void add(const Encoding &tokens, const Span &span) {
        size_t first = span.first, last = span.last;
        const auto continues = [&](size_t a, size_t b) {
            return !tokens.special[a] && tokens.words[a] == tokens.words[b];
        };
        while (first > 0 && continues(first - 1, first)) --first;
        while (last + 1 < tokens.size() && continues(last + 1, last)) ++last;
        const size_t begin = std::min(tokens.offsets[first].begin, bytes_.size() - 1),
                     end = std::clamp(tokens.offsets[last].end, begin, bytes_.size() - 1);
        std::string words = text_.substr(bytes_[begin], bytes_[end] - bytes_[begin]);
        const auto same = std::ranges::find_if(
            found_, [&](const Answer &a) { return tokenizer::lower_case(a.text) == tokenizer::lower_case(words); });
        if (same != found_.end())
            same->score += span.score;
        else
            found_.push_back({std::move(words), {begin, end}, span.score});
    }
};

} // namespace

std::vector<std::vector<Answer>> answer(detail::SessionState &session, const std::vector<TextPair> &pairs,
                                        const AnswerOptions &options) {
    if (options.best < 1) throw Error(ErrorCode::usage, "best: expected at least 1, found 0");
    if (options.longest < 1) throw Error(ErrorCode::usage, "longest: expected at least 1, found 0");
    const model::Reading &model = reading_of(*session.model);
    std::vector<Window> windows;
    for (size_t i = 0; i < pairs.size(); ++i) add_windows(model, pairs[i], i, windows);
    std::vector<Encoding> encodings;
    for (const Window &window : windows) encodings.push_back(window.encoding);
    const std::vector<Found> found =
        run(session, model, std::move(encodings), {.most = options.batch, .progress = options.progress});
    std::vector<Answers> answers;
    for (const TextPair &pair : pairs) answers.emplace_back(pair.second, options);
    for (size_t i = 0; i < windows.size(); ++i) answers[windows[i].pair].add(windows[i], found[i].values);
    std::vector<std::vector<Answer>> out;
    for (Answers &each : answers) out.push_back(each.take());
    return out;
}

} // namespace lamina::reading
