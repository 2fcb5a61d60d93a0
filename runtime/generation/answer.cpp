#include "generation/answer.hpp"

#include "generation/stop.hpp"

#include <algorithm>

namespace lamina::generation {

// A tokenizer's text depends on what comes before: a continuation begins with a blank, a text does not.
std::unique_ptr<model::TextStream> Answer::begin() const {
    auto stream = model_.target->stream(special_);
    if (model_.encode.empty() && model_.target->split() == model::TextCodec::Split::tokenizer)
        for (const int32_t token : std::get<Ids>(source_))
            if (token >= 0) (void)stream->push(token); // not of an image
    stream->drop_held();
    return stream;
}

// A time that speech recognition writes is no part of the text, although its token is not special in files.
std::string Answer::text_of(model::TextStream &stream, int32_t token) const {
    return !special_ && times_ && token >= times_->none ? "" : stream.push(token);
}

std::string Answer::grow(std::span<const int32_t> tokens, bool last) {
    if (!stream_) stream_ = begin();
    for (; taken_ < tokens.size(); ++taken_) held_ += text_of(*stream_, tokens[taken_]);
    if (last) held_ += stream_->finish();
    const size_t safe = last ? first_stop(held_, stops_) : safe_length(held_, stops_);
    std::string piece = held_.substr(0, safe);
    held_.erase(0, safe);
    return piece;
}

Hypothesis Answer::hypothesis(const Candidate &c, size_t reused) const {
    const auto stream = begin();
    std::string text;
    for (const int32_t token : c.tokens) text += text_of(*stream, token);
    text += stream->finish();
    text.resize(first_stop(text, stops_));
    return {text,      c.tokens,   c.log_probability,           c.score,  c.finish, reused, with_texts(c.scores),
            c.guessed, c.accepted, with_texts(c.prompt_scores), c.prefix, {}};
}

std::vector<ScoredToken> Answer::with_texts(std::span<const ScoredToken> scores) const {
    std::vector<ScoredToken> out(scores.begin(), scores.end());
    if (out.empty()) return out;
    const auto texts = model_.target->tokens(false, true);
    const auto name = [&](TokenScore &score) {
        if (static_cast<size_t>(score.token) < texts->size()) score.text = texts->bytes_of(score.token);
    };
    for (ScoredToken &each : out) {
        name(each);
        std::ranges::for_each(each.likeliest, name);
    }
    return out;
}

} // namespace lamina::generation
