#include "generation/draft.hpp"

#include "base/utf8.hpp"
#include "generation/texts.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

namespace lamina::generation {
namespace {

struct Best {
    int32_t token;
    double probability;
};

Best best_of(const Scores &scores) {
    if (!scores.tokens.empty()) return {scores.tokens.front(), 1 / scores.sum};
    const std::span<const float> all = scores.all();
    const auto best = std::ranges::max_element(all);
    double sum = 0;
    for (const float each : all) sum += std::exp(double{each} - double{*best});
    return {static_cast<int32_t>(best - all.begin()), 1 / sum};
}

} // namespace

std::string Draft::why_not(const model::Model &model, const model::Model &draft) {
    const auto writes = [](const model::Model &each) {
        return each.generation && each.generation->encode.empty() && !each.generation->recurrent();
    };
    for (const model::Model *each : {&model, &draft})
        if (!writes(*each))
            return each->folder.string() + ": expected a model without an encoder that writes texts, and whose layers "
                                           "have no memories";
    const model::TextCodec &known = *model.generation->target, &other = *draft.generation->target;
    const std::string both = model.folder.string() + " and " + draft.folder.string();
    if (known.size() != other.size())
        return both + ": expected the same vocabulary, found " + std::to_string(known.size()) + " and " +
               std::to_string(other.size()) + " tokens";
    for (size_t i = 0; i < known.size(); ++i) {
        const auto id = static_cast<int32_t>(i);
        if (known.token(id) != other.token(id))
            return both + ": expected the same vocabulary; token " + std::to_string(i) + " is " +
                   in_quotes(known.token(id)) + " and " + in_quotes(other.token(id));
    }
    return "";
}

Draft::~Draft() {
    try {
        const std::scoped_lock turn(session_->turn);
        decoder_.reset();
    } catch (const Error &) { // a callback of the draft's session destroys this
        decoder_.reset();
    }
}

std::vector<int32_t> Draft::guess(std::span<const int32_t> text, size_t most) {
    if (!possible_) return {};
    const std::scoped_lock turn(session_->turn);
    const uint64_t stops = detail::RuntimeState::stops;
    try {
        return session_->surviving_loss([&] { return write(text, most); });
    } catch (const NoAnswer &) {
        return {};
    } catch (const Error &why) { // texts are written without it, unless the program stops the call
        if (detail::RuntimeState::stops != stops) throw;
        const std::string draft = session_->model->folder.string();
        session_->runtime->notify_once("the draft " + draft + " guesses no more: " + why.what(), "draft " + draft);
        decoder_.reset();
        possible_ = false;
        return {};
    }
}

std::vector<int32_t> Draft::write(std::span<const int32_t> text, size_t most) {
    constexpr double sure = 0.4; // fewer guesses are right than wrong below this, and a wrong one ends all
    const size_t positions = longest_target(*session_->model);
    if (text.size() + most > positions) return {};
    if (std::ranges::any_of(text, [](int32_t token) { return token < 0; })) return {}; // of an image
    if (decoder_ != nullptr && !decoder_->holds_caches()) decoder_.reset();
    if (decoder_ == nullptr)
        decoder_ = std::make_unique<Decoder>(
            *session_, std::vector<Source>(),
            Decoder::Shape{.rows = 1, .length = positions, .sure = text.size() + most, .candidates = 1});
    std::vector<int32_t> out;
    std::span<const int32_t> tokens = text.subspan(decoder_->begin(0, 1, text, true));
    while (true) {
        const auto [token, probability] = best_of(decoder_->step({&tokens, 1}).front());
        if (probability < sure && !out.empty()) return out;
        out.push_back(token);
        if (out.size() == most) return out;
        tokens = std::span<const int32_t>(out).last(1);
    }
}

} // namespace lamina::generation
