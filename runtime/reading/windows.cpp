#include "reading/windows.hpp"

#include "reading/reading.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>

namespace lamina::reading {
namespace {

// The tokens of a text: special ones, the prompt, the text itself, special ones.
struct Parts {
    std::span<const int32_t> before, own, behind; // before: with the prompt
};

Parts parts_of(const Encoding &text, size_t prompt) {
    const std::span<const int32_t> ids = text.ids;
    const auto is_own = [&](bool special) { return !special; };
    const auto first = std::ranges::find_if(text.special, is_own);
    const auto begin = static_cast<size_t>(first - text.special.begin());
    const auto rest = std::find_if(text.special.rbegin(), std::make_reverse_iterator(first), is_own);
    const auto end = static_cast<size_t>(rest.base() - text.special.begin());
    const size_t own = std::min(begin + prompt, end);
    return {ids.first(own), ids.subspan(own, end - own), ids.subspan(end)};
}

bool has_length_1(std::span<const double> vector) {
    double squares = 0;
    for (const double v : vector) squares += v * v;
    return std::abs(std::sqrt(squares) - 1) < 1e-3;
}

} // namespace

std::vector<TextWindow> windows_of(const model::Model &model, const std::vector<std::string> &texts,
                                   const ReadOptions &options) {
    const WholeTexts whole = read_whole(model, texts, options);
    const auto longest = static_cast<size_t>(reading_of(model).longest);
    std::vector<TextWindow> out;
    for (size_t i = 0; i < texts.size(); ++i) {
        const Parts text = parts_of(whole.encodings[i], whole.prompts[i]);
        const size_t around = text.before.size() + text.behind.size();
        if (around >= longest)
            throw Error(ErrorCode::input, "text " + std::to_string(i + 1) + ": the prompt and special tokens are " +
                                              std::to_string(around) + " tokens, and the model takes " +
                                              std::to_string(longest) + ": there is no room for a text");
        const size_t most = longest - around;
        for (size_t at = 0; at == 0 || at < text.own.size(); at += most) {
            const auto own = text.own.subspan(at, std::min(most, text.own.size() - at));
            TextWindow &window = out.emplace_back();
            window.text = i;
            window.tokens = own.size();
            for (const auto part : {text.before, own, text.behind})
                window.ids.insert(window.ids.end(), part.begin(), part.end());
        }
    }
    return out;
}

Tensor mean_of(const std::vector<TextWindow> &windows, const Tensor &vectors) {
    if (vectors.shape().size() != 2 || vectors.shape()[0] != static_cast<int64_t>(windows.size()))
        throw Error(ErrorCode::usage, "the mean of windows: expected a vector for each of the " +
                                          std::to_string(windows.size()) + " windows, found " +
                                          to_string(vectors.shape()));
    const auto width = static_cast<size_t>(vectors.shape().at(1));
    const size_t texts = windows.empty() ? 0 : windows.back().text + 1;
    Tensor out(TensorType{DType::f32, {static_cast<int64_t>(texts), static_cast<int64_t>(width)}});
    std::vector<double> sum(width), one(width);
    for (size_t w = 0; w < windows.size();) {
        const size_t text = windows[w].text;
        std::ranges::fill(sum, 0);
        double weights = 0;
        bool unit = true; // all of them have length 1
        for (; w < windows.size() && windows[w].text == text; ++w) {
            std::ranges::copy(vectors.f32().subspan(w * width, width), one.begin());
            const double weight = std::max<double>(static_cast<double>(windows[w].tokens), 1);
            for (size_t k = 0; k < width; ++k) sum[k] += weight * one[k];
            weights += weight;
            unit = unit && has_length_1(one);
        }
        double length = weights;
        if (unit) length = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
        for (size_t k = 0; k < width; ++k)
            out.f32()[text * width + k] = static_cast<float>(length > 0 ? sum[k] / length : 0);
    }
    return out;
}

} // namespace lamina::reading
