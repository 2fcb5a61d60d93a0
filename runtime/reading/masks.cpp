// As the pipeline "fill-mask" of transformers finds them (pipelines/fill_mask.py).
#include "reading/masks.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lamina::reading {
namespace {

// The best words of a row of scores, with their probabilities.
std::vector<WordScore> words_of(const Tokenizer &tokenizer, std::span<const float> row, size_t best) {
    std::vector<int32_t> ids(row.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto score = [&](int32_t id) { return row[static_cast<size_t>(id)]; };
    const auto last = ids.begin() + static_cast<std::ptrdiff_t>(std::min(best, ids.size()));
    std::ranges::partial_sort(ids, last,
                              [&](int32_t a, int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    const double most = row.empty() ? 0 : score(ids.front());
    double sum = 0;
    for (const float value : row) sum += std::exp(value - most);
    std::vector<WordScore> out;
    for (auto id = ids.begin(); id != last; ++id)
        out.push_back({tokenizer.decode({&*id, 1}, false), *id, std::exp(score(*id) - most) / sum});
    return out;
}

} // namespace

std::vector<std::vector<MaskedWord>> fill_masks(detail::SessionState &session, const std::vector<std::string> &texts,
                                                const FillOptions &options) {
    const model::Reading &model = reading_of(*session.model);
    if (options.best < 1) throw Error(ErrorCode::usage, "best: expected at least 1, found 0");
    for (size_t i = 0; i < texts.size(); ++i)
        if (texts[i].find(model.mask) == std::string::npos)
            throw Error(ErrorCode::input, "text " + std::to_string(i + 1) +
                                              ": no word is missing; expected a text with " + in_quotes(model.mask) +
                                              " in the place of one");
    std::vector<std::vector<MaskedWord>> out;
    for (const Found &found : read(session, single(texts), {.batch = options.batch, .progress = options.progress})) {
        std::vector<MaskedWord> &masks = out.emplace_back();
        const auto count = static_cast<size_t>(std::ranges::count(found.encoding.ids, model.mask_id));
        const size_t width = count == 0 ? 0 : found.values.size() / count;
        for (size_t i = 0; i < found.encoding.size(); ++i)
            if (found.encoding.ids[i] == model.mask_id)
                masks.push_back({found.encoding.offsets[i],
                                 words_of(model.tokenizer, std::span(found.values).subspan(masks.size() * width, width),
                                          options.best)});
    }
    return out;
}

} // namespace lamina::reading
