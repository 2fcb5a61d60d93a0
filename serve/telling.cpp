#include "telling.hpp"

#include "openai_scores.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lamina::serve {
namespace {

// Of a completion.
Choice whole_text(const Answer &answer, const Echo *echo) {
    const Hypothesis &found = answer.hypothesis;
    const bool alone = echo != nullptr && echo->alone;
    Choice out{.text = (echo != nullptr ? echo->text : "") + (alone ? "" : found.text),
               .finish = alone ? Finish::length : found.finish};
    if (!answer.options.likeliest) return out;
    std::vector<ScoredToken> scores;
    int64_t offset = 0;
    if (echo != nullptr) {
        scores = echo->scores(found.prompt_scores);
        offset = offset_before(echo->text, scores);
    }
    if (!alone) scores.insert(scores.end(), found.scores.begin(), found.scores.end());
    out.scores = completion_scores(scores, offset);
    return out;
}

} // namespace

std::vector<ScoredToken> Echo::scores(std::vector<ScoredToken> known) const {
    if (known.size() > tokens) // the model has tokens that texts begin with
        known.erase(known.begin(), known.end() - static_cast<std::ptrdiff_t>(tokens));
    if (known.size() < tokens) known.insert(known.begin(), ScoredToken{first, {}});
    return known;
}

Choice choice_of(std::optional<AnswerParts> parts, const Answer &answer, const Echo *echo) {
    if (!parts) return whole_text(answer, echo);
    const Hypothesis &found = answer.hypothesis;
    Choice out{.text = "", .finish = found.finish};
    if (answer.options.likeliest) out.scores = chat_scores(found.scores);
    std::vector<AnswerPart> all = parts->push(found.text);
    std::ranges::move(parts->finish(), std::back_inserter(all));
    for (const AnswerPart &part : all) {
        switch (part.kind) {
        case AnswerPart::Kind::thought:
            out.thought += part.text;
            break;
        case AnswerPart::Kind::text:
            out.text += part.text;
            break;
        case AnswerPart::Kind::call:
            out.calls.push_back({id_of_call(), part.text, ""});
            break;
        case AnswerPart::Kind::arguments:
            out.calls.back().arguments += part.text;
            break;
        }
    }
    return out;
}

size_t tokens_of(std::string_view part, const Hypothesis &answer, const std::vector<TokenText> &texts) {
    const std::string_view whole = answer.text;
    const size_t begin = whole.find(part), end = begin + part.size();
    if (part.empty() || begin == std::string_view::npos) return 0;
    size_t out = 0, at = 0;
    size_t passed = 0, of_passed = 0; // tokens that are not in the text, or otherwise, and their bytes
    for (const int32_t token : answer.tokens) {
        if (static_cast<size_t>(token) >= texts.size()) continue; // a row of the model that has no token
        const std::string &bytes = texts.at(static_cast<size_t>(token)).bytes;
        if (at >= end) break;
        const size_t found = whole.substr(at, of_passed + bytes.size()).find(bytes);
        if (found == std::string_view::npos) {
            ++passed, of_passed += bytes.size();
            continue;
        }
        at += found + bytes.size();
        if (at > begin) out += 1 + (found > 0 ? passed : 0); // special ones are not in the text
        passed = of_passed = 0;
    }
    return out;
}

std::string Telling::of(Work::News news, bool last) {
    if (alone_) news.text.clear(), news.scores.clear();
    if (echo_ != nullptr && (last || !news.text.empty() || !news.prompt_scores.empty() || !news.scores.empty())) {
        const Echo &echo = *std::exchange(echo_, nullptr);
        if (echo.scored) events_->take_prompt(echo.text, echo.scores(std::move(news.prompt_scores)));
        news.text.insert(0, echo.text);
    }
    events_->take(std::move(news.scores));
    if (!parts_) return news.text.empty() ? "" : events_->of({AnswerPart::Kind::text, news.text});
    std::string out;
    for (const AnswerPart &part : parts_->push(news.text)) out += tell(part);
    if (!last) return out;
    for (const AnswerPart &part : parts_->finish()) out += tell(part);
    return out;
}

std::string Telling::tell(const AnswerPart &part) {
    called_ = called_ || part.kind == AnswerPart::Kind::call;
    return events_->of(part);
}

} // namespace lamina::serve
