#include "session/seen_images.hpp"

#include "base/hash.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace lamina::detail {

SeenImages::One SeenImages::find(const Tensor &given, int64_t columns, int64_t tokens) {
    const uint64_t hash = hash_of(given.bytes());
    const std::scoped_lock lock(mutex_);
    for (const auto &[first, weak] : known_) {
        const One image = weak.lock();
        if (!image || image->hash != hash || image->columns != columns || image->tokens() != tokens) continue;
        if (!std::ranges::equal(image->given.bytes(), given.bytes())) continue;
        keep(image);
        return image;
    }
    return nullptr;
}

SeenImages::One SeenImages::add(Tensor given, int64_t columns, Tensor rows) {
    const uint64_t hash = hash_of(given.bytes());
    return add(SeenImage{.hash = hash, .given = std::move(given), .columns = columns, .rows = std::move(rows)});
}

SeenImages::One SeenImages::joined(const std::vector<int32_t> &ids, std::vector<One> images) {
    const auto count = std::ssize(ids);
    Tensor given = Tensor::of({1, count}, ids);
    if (const One known = find(given, count, count)) return known;
    const int64_t width = images.front()->rows.shape()[2];
    SeenImage prompt{.hash = hash_of(given.bytes()),
                     .given = std::move(given),
                     .columns = count,
                     .rows = Tensor(TensorType{DType::f32, {1, count, width}}),
                     .words = ids};
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0) continue;
        std::ranges::copy(row(ids[i]).values, prompt.rows.f32().subspan(i * static_cast<size_t>(width)).begin());
        prompt.words[i] = -1;
    }
    prompt.images = std::move(images); // so that nobody else gets their ids
    return add(std::move(prompt));
}

SeenImages::One SeenImages::add(SeenImage image) {
    const std::scoped_lock lock(mutex_);
    image.first = places(image.tokens());
    const auto out = std::make_shared<const SeenImage>(std::move(image));
    known_[out->first] = out;
    keep(out);
    return out;
}

// Ids come around again after two thousand millions; those of images that somebody still uses are passed over.
int64_t SeenImages::places(int64_t count) {
    std::erase_if(known_, [](const auto &entry) { return entry.second.expired(); });
    int64_t first = next_;
    if (first + count > INT32_MAX) first = 0;
    for (const auto &[used, weak] : known_)
        if (const One image = weak.lock(); image && used < first + count && first < used + image->tokens())
            first = used + image->tokens();
    next_ = first + count;
    return first;
}

void SeenImages::keep(const One &image) {
    kept_.remove(image);
    kept_.push_front(image);
    uint64_t bytes = 0;
    for (auto it = kept_.begin(); it != kept_.end();) {
        bytes += (*it)->given.bytes().size() + (*it)->rows.bytes().size();
        it = bytes > most_bytes && it != kept_.begin() ? kept_.erase(it) : std::next(it);
    }
}

SeenImages::One SeenImages::at(int32_t id) const {
    const int64_t place = -1 - int64_t{id};
    const auto after = known_.upper_bound(place);
    const One image = after == known_.begin() ? nullptr : std::prev(after)->second.lock();
    if (image && place < image->first + image->tokens()) return image;
    throw Error(ErrorCode::input, "the image of the token " + std::to_string(id) +
                                      " is not known: it was given to another session, or long ago");
}

std::vector<SeenImages::One> SeenImages::among(std::span<const int32_t> tokens) const {
    const std::scoped_lock lock(mutex_);
    std::vector<One> out;
    for (const int32_t token : tokens) {
        if (token >= 0) continue;
        const One image = at(token);
        if (out.empty() || out.back() != image) out.push_back(image);
    }
    return out;
}

void SeenImages::expect_whole(std::span<const int32_t> tokens) const {
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i] >= 0) continue;
        const One image = at(tokens[i]);
        const auto count = static_cast<size_t>(image->tokens());
        const bool ends = image->words.empty() ? i + count < tokens.size() : i + count <= tokens.size();
        bool whole = ends && (i + count == tokens.size() || tokens[i + count] >= 0);
        for (size_t row = 0; whole && row < count; ++row)
            whole = int64_t{tokens[i + row]} == -1 - image->first - static_cast<int64_t>(row);
        if (!whole)
            throw Error(ErrorCode::input, "token " + std::to_string(i) + ": the tokens of " +
                                              (image->words.empty() ? "an image" : "a prompt") +
                                              " see each other, so expected all of its " + std::to_string(count) +
                                              (image->words.empty() ? ", and one of text behind them" : "") +
                                              ", as image_prompt_ids() gives them");
        i += count;
    }
}

SeenImages::One SeenImages::of(int32_t id) const {
    const std::scoped_lock lock(mutex_);
    return at(id);
}

SeenImages::Row SeenImages::row(int32_t id) const {
    const std::scoped_lock lock(mutex_);
    const One image = at(id);
    const auto width = static_cast<size_t>(image->rows.shape()[2]),
               row = static_cast<size_t>(-1 - int64_t{id} - image->first);
    return {image->rows.f32().subspan(row * width, width), image->words.empty() ? -1 : image->words[row]};
}

} // namespace lamina::detail
