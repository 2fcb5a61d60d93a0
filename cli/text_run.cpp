#include "text_run.hpp"

#include "interrupt.hpp"
#include "table.hpp"

#include "base/utf8.hpp"

#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace lamina::cli {
namespace {

Json as_json(const TokenScore &score) {
    const bool whole = first_invalid_utf8(score.text) == score.text.size(); // it may be a part of a character
    return {{"token", score.token},
            {"text", whole ? score.text : printable(score.text)},
            {"log_probability", score.log_probability}};
}

Json as_json(const std::vector<ScoredToken> &scores) {
    Json out = Json::array();
    for (const ScoredToken &score : scores) {
        Json each = as_json(static_cast<const TokenScore &>(score));
        Json likeliest = Json::array();
        for (const TokenScore &other : score.likeliest) likeliest.push_back(as_json(other));
        each["likeliest"] = std::move(likeliest);
        out.push_back(std::move(each));
    }
    return out;
}

// How many of these texts, at least one of them, are answered together: memory follows the tokens, not the texts.
size_t at_once(std::span<const std::vector<int32_t>> texts) {
    constexpr size_t most_tokens = 32768;
    size_t count = 0, longest = 0;
    for (const std::vector<int32_t> &text : texts) {
        longest = std::max(longest, text.size());
        if (count != 0 && (count + 1) * longest > most_tokens) break;
        ++count;
    }
    return count;
}

std::string seconds(std::chrono::duration<double> time) { return significant(time.count(), 2) + " s"; }

} // namespace

std::string finish_name(Finish finish) {
    switch (finish) {
    case Finish::end:
        return "end";
    case Finish::stop:
        return "stop";
    case Finish::length:
        break;
    }
    return "length";
}

Json answers_as_json(const char *key, const std::string &of, const std::vector<Hypothesis> &hypotheses) {
    Json all = Json::array();
    for (const Hypothesis &h : hypotheses) {
        Json each{{"output", h.text},
                  {"log_probability", h.log_probability},
                  {"score", h.score},
                  {"tokens", h.tokens},
                  {"finish", finish_name(h.finish)}};
        if (!h.scores.empty()) each["scores"] = as_json(h.scores);
        if (!h.prompt_scores.empty()) each["prompt_scores"] = as_json(h.prompt_scores);
        all.push_back(std::move(each));
    }
    return {{key, of}, {"output", hypotheses.empty() ? "" : hypotheses.front().text}, {"hypotheses", all}};
}

std::string Pace::summary(size_t tokens) const {
    const std::chrono::duration<double> all = Clock::now() - begin_;
    std::string out = std::to_string(tokens) + (tokens == 1 ? " token in " : " tokens in ") + seconds(all);
    if (!first_ || tokens < 2) return out;
    const std::chrono::duration<double> rest = Clock::now() - *first_;
    const double speed = static_cast<double>(tokens - 1) / rest.count();
    return out + ", " + (speed < 100 ? significant(speed, 3) : significant(std::round(speed), 15)) +
           " a second; the first after " + seconds(*first_ - begin_);
}

bool TextRun::continues_texts(const Model &model) {
    const std::optional<TextGeneration> generation = inspect(model).generation;
    return generation && generation->encode.empty() && generation->source.split == TextFormat::Split::tokenizer;
}

int TextRun::words(const std::vector<std::string> &texts) {
    if (continues_ && texts.size() == 1 && options_.beams == 1 && !output_.json()) {
        stream(texts.front(), [&] { return session_.hypotheses(texts, options_).front(); });
        return 0;
    }
    int status = 0;
    answer(texts, texts.size(), [&](size_t text, const Error &why) {
        print_error("text " + std::to_string(text + 1) + ": " + why.what());
        show_error(texts[text], why.what());
        status = static_cast<int>(why.code());
    });
    if (output_.json()) output_.print_json(json_);
    return status;
}

int TextRun::lines(LineReader lines) {
    // More than one batch at a time, so that the session can put texts of like length together.
    const size_t most = options_.batch * 16;
    for (auto texts = lines.next(most); !texts.empty(); texts = lines.next(most)) {
        const auto refuse = [&](size_t text, const std::string &why, ErrorCode code) {
            lines.refuse(text, why, code);
            show_error(texts[text], why);
        };
        for (size_t first = 0; first < texts.size();) {
            const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(first);
            const TextIds read = prompt_ids(model_, {begin, texts.end()}, options_);
            for (std::span<const std::vector<int32_t>> rest = read.ids; !rest.empty();) {
                const size_t count = at_once(rest);
                const auto from = texts.begin() + static_cast<std::ptrdiff_t>(first);
                answer({from, from + static_cast<std::ptrdiff_t>(count)}, 0,
                       [&](size_t text, const Error &why) { refuse(first + text, why.what(), why.code()); });
                rest = rest.subspan(count);
                first += count;
            }
            if (read.refused) refuse(first++, read.refused->why, ErrorCode::input);
        }
    }
    if (output_.json()) output_.print_json(json_);
    return lines.status(output_);
}

void TextRun::answer(const std::vector<std::string> &texts, size_t all, const Unanswered &unanswered) {
    std::map<size_t, Error> failed;
    options_.failed = [&](size_t text, const Error &why) { failed.emplace(text, why); };
    options_.progress = [&](size_t done, size_t) {
        stop_if_interrupted();
        output_.progress("texts", answered_ + done, all);
    };
    options_.first = answered_;
    const auto answers = session_.hypotheses(texts, options_);
    answered_ += texts.size();
    output_.clear_progress();
    for (size_t i = 0; i < texts.size(); ++i)
        if (const auto why = failed.find(i); why != failed.end())
            unanswered(i, why->second);
        else
            show(texts[i], answers[i]);
    stop_if_interrupted();
}

void TextRun::show(const std::string &text, const std::vector<Hypothesis> &hypotheses) {
    if (output_.json())
        json_.push_back(answers_as_json("text", text, hypotheses));
    else if (continues_)
        output_.print(text + (hypotheses.empty() ? "" : hypotheses.front().text) + "\n\n");
    else
        output_.print(hypotheses.empty() ? "\n" : text + "\t" + hypotheses.front().text + "\n");
}

void TextRun::show_error(const std::string &text, const std::string &why) {
    if (output_.json()) json_.push_back({{"text", text}, {"error", why}});
}

void TextRun::prompt(const std::string &text, const std::vector<Image> &images) {
    const std::string place = inspect(model_).generation.value().images.value().mark;
    std::string marks;
    for (size_t i = 0; i < images.size() && text.find(place) == std::string::npos; ++i) marks += place;
    const std::vector<int32_t> ids = image_prompt_ids(session_, marks + text, images, options_.special_tokens);
    const auto generate = [&] { return generate_from_ids(session_, ids, options_); };
    if (!output_.json() && options_.beams == 1) return stream(text, generate);
    show(text, generate());
    if (output_.json()) output_.print_json(json_);
}

void TextRun::stream(const std::string &text, const std::function<std::vector<Hypothesis>()> &generate) {
    Pace pace;
    std::string before = text; // printed with the first token: an error before that is not in the middle of a line
    options_.stream = [&](size_t, std::string_view piece) {
        pace.token();
        output_.print(std::exchange(before, "") + std::string(piece));
        stop_if_interrupted();
    };
    const std::vector<Hypothesis> answers = generate();
    output_.print(before + "\n");
    output_.note(pace.summary(answers.empty() ? 0 : answers.front().tokens.size()));
}

} // namespace lamina::cli
