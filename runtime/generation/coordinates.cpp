#include "generation/coordinates.hpp"

#include <algorithm>

namespace lamina::generation {

std::array<int32_t, 3> Coordinates::of(int32_t id) {
    if (id >= 0) {
        image_ = nullptr;
        const auto time = static_cast<int32_t>(time_++);
        return {time, time, time};
    }
    const bool goes_on =
        image_ != nullptr && row_ + 1 < image_->tokens() && int64_t{id} == -1 - image_->first - row_ - 1;
    if (!goes_on) {
        image_ = images_->of(id);
        begin_ = time_;
        time_ += std::max(image_->columns, image_->tokens() / image_->columns);
    }
    row_ = -1 - int64_t{id} - image_->first;
    return {static_cast<int32_t>(begin_), static_cast<int32_t>(begin_ + row_ / image_->columns),
            static_cast<int32_t>(begin_ + row_ % image_->columns)};
}

void Coordinates::pass(std::span<const int32_t> ids) {
    const bool words =
        std::ranges::count_if(ids, [](int32_t id) { return id < 0; }) == 0; // without a branch: it is fast
    if (words && !ids.empty()) {
        image_ = nullptr;
        time_ += std::ssize(ids);
        return;
    }
    for (const int32_t id : ids) (void)of(id);
}

} // namespace lamina::generation
