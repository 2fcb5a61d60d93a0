// Buckets of distances, as T5 has them: near ones have a bucket each, farther ones share some
// (plugins/relative_position_bias/README.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace lamina::plugin {

struct DistanceBuckets {
    int64_t count, max_distance; // count: of each direction; those at max_distance and beyond share the last one

    [[nodiscard]] int64_t exact() const { return count / 2; } // how many are of a single distance
    [[nodiscard]] bool valid() const { return exact() >= 1 && max_distance > exact(); }

    // In float, in the order of the original code: rounding decides where a bucket begins.
    [[nodiscard]] int64_t of(int64_t distance) const {
        if (distance < exact()) return distance;
        const auto d = static_cast<float>(distance), e = static_cast<float>(exact());
        const auto range =
            static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact())));
        const float part = std::log(d / e) / range;
        return std::min(exact() + static_cast<int64_t>(part * static_cast<float>(count - exact())), count - 1);
    }

    // Of the distances from -max_distance to max_distance, those above 0 in buckets of their own, which come second.
    [[nodiscard]] std::vector<uint32_t> of_both_directions() const {
        std::vector<uint32_t> out;
        for (int64_t d = -max_distance; d <= max_distance; ++d)
            out.push_back(static_cast<uint32_t>(of(std::abs(d)) + (d > 0 ? count : 0)));
        return out;
    }
    // The same, with all above 0 in the bucket of 0.
    [[nodiscard]] std::vector<uint32_t> of_one_direction() const {
        std::vector<uint32_t> out;
        for (int64_t d = -max_distance; d <= max_distance; ++d)
            out.push_back(static_cast<uint32_t>(of(std::max<int64_t>(-d, 0))));
        return out;
    }
};

} // namespace lamina::plugin
