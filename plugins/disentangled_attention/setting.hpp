// A call of disentangled_attention, read once for the reference, the plan and the kernel of the CPU.
#pragma once

#include <lamina/plugin.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace disentangled_attention {

using namespace lamina::plugin;

struct Setting {
    int64_t batch, length, heads, head_dim;
    int64_t span; // S: pos_key and pos_query have 2 S rows; 0: there is neither
    int64_t max_distance;
    double scale;

    explicit Setting(const Call &call)
        : batch(call.in("q").dim(0)), length(call.in("q").dim(1)), heads(call.integer("heads")),
          head_dim(call.in("q").cols() / heads), span(span_of(call)), max_distance(call.integer("max_distance")),
          scale(call.real("scale") == 0 ? 1 / std::sqrt(static_cast<double>(head_dim * terms_of(call)))
                                        : call.real("scale")) {}

    // The rows of pos_key and pos_query for all distances from a key to a query, from 1 - length to length - 1.
    [[nodiscard]] std::vector<uint32_t> rows_of_distances() const {
        std::vector<uint32_t> out(static_cast<size_t>(2 * length - 1));
        for (int64_t d = 0; d < length; ++d) {
            const int64_t place = max_distance == 0 ? std::min(d, span) : place_of(d);
            out[static_cast<size_t>(length - 1 + d)] = row(span + place);
            out[static_cast<size_t>(length - 1 - d)] = row(span - place);
        }
        return out;
    }

    // The last distance that has a row of its own, if distances share rows.
    [[nodiscard]] int64_t exact() const { return span / 2; }

  private:
    // In float, in the order of the original code: rounding decides where a bucket begins.
    [[nodiscard]] int64_t place_of(int64_t distance) const {
        if (distance <= exact()) return distance;
        const auto middle = static_cast<double>(exact()), farthest = static_cast<double>(max_distance - 1);
        const float range = std::log(static_cast<float>(farthest / middle)),
                    part = std::log(static_cast<float>(distance) / static_cast<float>(middle)) / range;
        return static_cast<int64_t>(std::ceil(part * static_cast<float>(exact() - 1))) + exact();
    }
    [[nodiscard]] uint32_t row(int64_t place) const {
        return static_cast<uint32_t>(std::clamp<int64_t>(place, 0, std::max<int64_t>(2 * span - 1, 0)));
    }
    static int64_t span_of(const Call &call) {
        for (const char *name : {"pos_key", "pos_query"})
            if (call.weight(name)) return call.weight(name).dim(0) / 2;
        return 0;
    }
    static int64_t terms_of(const Call &call) {
        return 1 + static_cast<bool>(call.weight("pos_key")) + static_cast<bool>(call.weight("pos_query"));
    }
};

} // namespace disentangled_attention
