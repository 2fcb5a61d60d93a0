#include "reader.hpp"

#include <lamina/texts.hpp>

#include <algorithm>
#include <numeric>

namespace lamina::serve {

void Reader::add(std::shared_ptr<Embedding> work) {
    Reading reading{std::move(work), {}};
    const std::vector<std::string> &texts = reading.work->texts;
    reading.order.resize(texts.size());
    std::iota(reading.order.begin(), reading.order.end(), size_t{0});
    std::ranges::stable_sort(reading.order, {}, [&](size_t i) { return texts[i].size(); });
    reading_.push_back(std::move(reading));
}

void Reader::step() {
    for (const Reading &each : reading_)
        if (each.work->left()) each.work->end();
    std::erase_if(reading_, [](const Reading &each) { return each.work->ended(); });
    const std::vector<Part> piece = next_piece();
    try {
        if (!piece.empty()) read(piece);
    } catch (...) { // nothing fails because of what it is read together with
        for (const Part &part : piece) try {
                read({part});
            } catch (...) {
                part.of->work->end(std::current_exception());
            }
    }
    for (const Reading &each : reading_)
        if (each.begun == each.order.size() && !each.work->ended()) each.work->end();
    std::erase_if(reading_, [](const Reading &each) { return each.work->ended(); });
    if (!reading_.empty()) std::ranges::rotate(reading_, reading_.begin() + 1); // if there are more than a piece has
}

// A text of each request in turn.
std::vector<Reader::Part> Reader::next_piece() {
    size_t left = ReadOptions().batch;
    std::vector<Part> out;
    for (Reading &each : reading_) out.push_back({&each, {}});
    for (bool more = true; more && left > 0;) {
        more = false;
        for (Part &part : out) {
            Reading &reading = *part.of;
            if (left == 0 || reading.begun == reading.order.size()) continue;
            part.texts.push_back(reading.order[reading.begun++]);
            --left;
            more = true;
        }
    }
    std::erase_if(out, [](const Part &part) { return part.texts.empty(); });
    return out;
}

void Reader::read(const std::vector<Part> &parts) {
    std::vector<std::string> texts;
    for (const Part &part : parts)
        for (const size_t i : part.texts) texts.push_back(part.of->work->texts[i]);
    const Tensor vectors = embed(session_, texts);
    metrics_.batch(model_, parts.size());
    const auto width = static_cast<size_t>(vectors.shape().at(1));
    std::span<const float> rest = vectors.f32();
    for (const Part &part : parts) {
        Embedding &work = *part.of->work;
        if (work.vectors.shape().empty())
            work.vectors =
                Tensor(TensorType{DType::f32, {static_cast<int64_t>(work.texts.size()), static_cast<int64_t>(width)}});
        for (const size_t i : part.texts) {
            std::ranges::copy(rest.first(width), work.vectors.f32().subspan(i * width).begin());
            rest = rest.subspan(width);
        }
    }
}

} // namespace lamina::serve
