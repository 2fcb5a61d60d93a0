// What the reference, the plan and the CPU kernel have in common.
#pragma once

#include <lamina/plugin/call.hpp>
#include <lamina/plugin/distance_buckets.hpp>

#include <algorithm>
#include <cmath>

namespace lamina::plugin {

// Where a row stands: in its text or its image, and on the page.
struct LayoutPlace {
    int64_t position, left, bottom;
};

struct LayoutSetting {
    int64_t heads, texts, image, rows; // rows of a page: of its text, of its image, and of both
    int64_t side = 0;                  // patches of a side of the image

    explicit LayoutSetting(const Call &call)
        : heads(call.integer("heads")), texts(call.in("boxes").dim(1)), image(call.integer("image_rows")),
          rows(texts + image),
          side(static_cast<int64_t>(std::lround(std::sqrt(std::max<double>(static_cast<double>(image) - 1, 0))))) {}

    // Whether a row is a word of a text of this length, or of the image.
    [[nodiscard]] bool counts(int64_t length, int64_t row) const { return row < length || row >= texts; }
    // Of the row of an image: the first is of the whole, the others are of its patches. Places are from 0 to 1000.
    [[nodiscard]] LayoutPlace of_image(int64_t i) const {
        constexpr int64_t longest = 1000;
        if (i == 0) return {0, 1, longest - 1};
        return {i, (i - 1) % side * longest / side, ((i - 1) / side + 1) * longest / side};
    }
    [[nodiscard]] LayoutPlace of(const Tensor &boxes, int64_t batch, int64_t row) const {
        if (row >= texts) return of_image(row - texts);
        const auto box = boxes.i32().subspan(static_cast<size_t>(4 * (batch * texts + row)), 4);
        return {row, box[0], box[3]};
    }
};

// The buckets of a table, one for each distance from -max_distance to max_distance.
class LayoutBuckets {
  public:
    LayoutBuckets(const Tensor &table, int64_t max_distance) : max_distance_(max_distance) {
        if (table) buckets_ = DistanceBuckets{table.dim(1) / 2, max_distance}.of_both_directions();
    }

    [[nodiscard]] const std::vector<uint32_t> &all() const { return buckets_; }
    [[nodiscard]] size_t of(int64_t distance) const {
        return buckets_[static_cast<size_t>(std::clamp(distance, -max_distance_, max_distance_) + max_distance_)];
    }

  private:
    int64_t max_distance_;
    std::vector<uint32_t> buckets_; // none: there is no table
};

} // namespace lamina::plugin
