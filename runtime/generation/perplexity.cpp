#include "generation/perplexity.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "generation/text_inputs.hpp"
#include "generation/texts.hpp"
#include "model/place.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace lamina::generation {
namespace {

void check_usage(const model::Model &model, size_t window) {
    const std::string who = model.folder.string() + " ";
    if (!model.generation)
        throw Error(ErrorCode::usage, who + "does not generate text: it " + model::what_it_does(model));
    if (!model.generation->encode.empty())
        throw Error(ErrorCode::usage, who + "has an encoder: only a model that continues texts has a perplexity");
    if (const size_t most = longest_target(model); window < 2 || window > most)
        throw Error(ErrorCode::usage, "a window of " + std::to_string(window) + " tokens: expected 2 to " +
                                          std::to_string(most) + ", as many as the model has positions for");
}

// -ln of the probability that the scores give to a token: logits, or probabilities.
double surprise(std::span<const float> scores, int32_t token, bool probabilities) {
    const double own = scores[static_cast<size_t>(token)];
    if (probabilities) return -std::log(own);
    const double most = *std::ranges::max_element(scores);
    double sum = 0;
    for (const float score : scores) sum += std::exp(score - most);
    return most + std::log(sum) - own;
}

// Of a text that is read window by window.
class Reader {
  public:
    Reader(detail::SessionState &session, size_t window)
        : session_(session), g_(*session.model->generation), window_(window) {}

    // Adds what the model is surprised by in the next tokens, of which there are at most a window.
    void read(std::span<const int32_t> ids, std::vector<double> &surprises) const {
        Ids padded(ids.begin(), ids.end());
        padded.resize(window_); // with any token: none sees those behind it
        const Tensor row = Tensor::of({1, static_cast<int64_t>(window_)}, padded);
        const TensorMap inputs = tokens_of(g_, {{g_.target_ids, row}}, 0, window_);
        // Caches in f32 would change nothing.
        const int64_t cached = session_.options.cache == DType::f32 ? 0 : static_cast<int64_t>(window_);
        const TensorMap outputs = session_.surviving_loss([&] { return session_.run(g_.decode, inputs, {}, cached); });
        const Tensor &scores = outputs.at(g_.scores);
        const size_t vocabulary = scores.f32().size() / window_, begin = surprises.size();
        surprises.resize(begin + ids.size() - 1);
        in_parallel(ids.size() - 1, cores(), [&](size_t i, size_t) {
            surprises[begin + i] =
                surprise(scores.f32().subspan(i * vocabulary, vocabulary), ids[i + 1], g_.probabilities);
        });
    }

  private:
    detail::SessionState &session_;
    const model::Generation &g_;
    const size_t window_;
};

Perplexity perplexity_of(const std::vector<double> &surprises) {
    const auto n = static_cast<double>(surprises.size());
    double sum = 0, squares = 0;
    for (const double s : surprises) sum += s;
    const double mean = sum / n;
    for (const double s : surprises) squares += (s - mean) * (s - mean);
    const double value = std::exp(mean);
    return {value, n > 1 ? value * std::sqrt(squares / (n - 1) / n) : 0, surprises.size()};
}

} // namespace

Perplexity perplexity(detail::SessionState &session, const std::string &text, const PerplexityOptions &options) {
    const model::Model &model = *session.model;
    check_usage(model, options.window);
    Ids ids;
    for (const Ids &choice : model.tokens.start) ids.push_back(choice.front());
    const Ids of_text = model.generation->input().encode(text, true);
    ids.insert(ids.end(), of_text.begin(), of_text.end());
    if (ids.size() < 2)
        throw Error(ErrorCode::input, "a text of " + std::to_string(ids.size()) +
                                          " tokens has no perplexity: expected at least 2, since the first is given");
    const Reader reader(session, options.window);
    std::vector<double> surprises;
    for (size_t at = 0; at < ids.size(); at += options.window) {
        session.runtime->working();
        const std::span<const int32_t> part(ids.data() + at, std::min(options.window, ids.size() - at));
        if (part.size() > 1) reader.read(part, surprises); // the first has none before it
        if (options.progress) options.progress(at + part.size(), ids.size());
    }
    const Perplexity out = perplexity_of(surprises);
    if (!std::isfinite(out.value))
        throw Error(ErrorCode::failure,
                    "the perplexity is not finite: the model gives a token of the text no chance at "
                    "all, or a score of its is NaN or infinite; 'lamina compare' finds the layer");
    return out;
}

} // namespace lamina::generation
