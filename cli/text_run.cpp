#include "text_run.hpp"

#include "interrupt.hpp"

#include <lamina/texts.hpp>

namespace lamina::cli {
namespace {

Json as_json(const std::string &text, const std::vector<Hypothesis> &hypotheses) {
    Json all = Json::array();
    for (const Hypothesis &h : hypotheses)
        all.push_back({{"output", h.text}, {"log_probability", h.log_probability}, {"score", h.score}});
    return {{"text", text}, {"output", hypotheses.empty() ? "" : hypotheses.front().text}, {"hypotheses", all}};
}

std::string as_line(const std::string &text, const std::vector<Hypothesis> &hypotheses) {
    return hypotheses.empty() ? "\n" : text + "\t" + hypotheses.front().text + "\n";
}

} // namespace

void TextRun::words(const std::vector<std::string> &texts) {
    answer(texts, texts.size());
    finish();
}

void TextRun::lines(LineReader lines) {
    // More than one batch at a time, so that the session can put texts of like length together.
    const size_t most = options_.batch * 16;
    for (auto texts = lines.next(most); !texts.empty(); texts = lines.next(most)) {
        const std::optional<Error> refused = cut_at_refused(texts);
        answer(texts, 0);
        if (refused) throw *refused;
    }
    finish();
}

void TextRun::answer(const std::vector<std::string> &texts, size_t all) {
    options_.progress = [&](size_t done, size_t) {
        stop_if_interrupted();
        output_.progress("texts", answered_ + done, all);
    };
    options_.first = answered_;
    const auto answers = session_.hypotheses(texts, options_);
    answered_ += texts.size();
    std::string text;
    for (size_t i = 0; i < texts.size(); ++i) {
        if (output_.json())
            json_.push_back(as_json(texts[i], answers[i]));
        else
            text += as_line(texts[i], answers[i]);
    }
    output_.print(text);
    stop_if_interrupted();
}

void TextRun::finish() {
    if (output_.json()) output_.print_json(json_);
    output_.clear_progress();
}

std::optional<Error> TextRun::cut_at_refused(std::vector<std::string> &texts) const {
    const std::optional<RefusedText> refused = tokenize(model_, texts).refused;
    if (!refused) return std::nullopt;
    texts.resize(refused->text);
    return Error(ErrorCode::input,
                 "stdin, line " + std::to_string(answered_ + refused->text + 1) + ": " + refused->why);
}

} // namespace lamina::cli
