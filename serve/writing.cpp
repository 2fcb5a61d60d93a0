#include "writing.hpp"

#include <algorithm>
#include <functional>

namespace lamina::serve {

std::vector<const Answer *> Writing::best() const {
    std::vector<const Answer *> out;
    for (auto begin = answers.begin(); begin != answers.end(); begin += static_cast<std::ptrdiff_t>(choices)) {
        std::vector<const Answer *> all;
        for (size_t i = 0; i < choices; ++i) all.push_back(begin[static_cast<std::ptrdiff_t>(i)].get());
        if (told < choices)
            std::ranges::stable_sort(all, std::greater<>(), [](const Answer *a) { return a->hypothesis.score; });
        out.insert(out.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(told));
    }
    return out;
}

size_t Writing::thought(size_t answer) const {
    if (!form.chat) return 0;
    thoughts_.resize(answers.size());
    if (!thoughts_[answer]) {
        const std::string text = choice_of(parts(), *answers[answer], nullptr).thought;
        thoughts_[answer] = text.empty() ? 0 : tokens_of(text, answers[answer]->hypothesis, engine->tokens(true));
    }
    return *thoughts_[answer];
}

std::optional<std::chrono::duration<double>> Writing::first_token() const {
    std::optional<std::chrono::duration<double>> out;
    for (const auto &each : answers)
        if (const auto time = each->began(); time && (!out || *time - each->asked < *out)) out = *time - each->asked;
    return out;
}

Usage Writing::used() const {
    Usage out{.prompt = prompt_tokens};
    for (size_t i = 0; i < answers.size(); ++i) {
        if (!answers[i]->ended()) continue; // its engine writes it
        if (echoes.empty() || !echoes.front().alone) out.answer += answers[i]->hypothesis.tokens.size();
        out.thought += thought(i);
        out.guessed += answers[i]->hypothesis.guessed;
        out.accepted += answers[i]->hypothesis.accepted;
        if (i % choices == 0) out.reused += answers[i]->hypothesis.reused;
    }
    out.reused = std::min(out.reused, out.prompt);
    return out;
}

} // namespace lamina::serve
