// What depends on where words and patches stand on a page.
#include "layout_bias/setting.hpp"

#include "kernels.hpp"
#include "threads.hpp"

#include <algorithm>
#include <vector>

namespace lamina::plugin::cpu_fallback {

// The buckets of a query and all keys are found once, for all heads.
void layout_bias(const Call &call) {
    const Tensor boxes = call.in("boxes"), lengths = call.in("lengths"), y = call.out("y"), mask = call.out("key_mask");
    const Tensor table = call.weight("table"), across = call.weight("x_table"), down = call.weight("y_table");
    const LayoutSetting s(call);
    const LayoutBuckets distances(table, call.integer("max_distance")),
        places(across, call.integer("max_box_distance"));
    const auto scale = static_cast<float>(call.real("scale"));
    const auto count = static_cast<size_t>(s.rows);
    const auto of_query = [&](int64_t b, int64_t i, std::vector<size_t> &by_order, std::vector<size_t> &by_left,
                              std::vector<size_t> &by_bottom) {
        const LayoutPlace query = s.of(boxes, b, i);
        for (size_t j = 0; j < count; ++j) {
            const LayoutPlace key = s.of(boxes, b, static_cast<int64_t>(j));
            if (table) by_order[j] = distances.of(key.position - query.position);
            if (across)
                by_left[j] = places.of(key.left - query.left), by_bottom[j] = places.of(key.bottom - query.bottom);
        }
        for (int64_t h = 0; h < s.heads; ++h) {
            const auto row = y.row((b * s.heads + h) * s.rows + i);
            std::ranges::fill(row, 0.0F);
            const auto add = [&](const Tensor &values, const std::vector<size_t> &buckets) {
                const auto of_head = values.row(h);
                for (size_t j = 0; j < count; ++j) row[j] += of_head[buckets[j]];
            };
            if (across) add(across, by_left), add(down, by_bottom);
            if (table) add(table, by_order);
            for (float &value : row) value *= scale;
        }
    };
    for (int64_t b = 0; b < boxes.dim(0); ++b)
        for (int64_t j = 0; j < s.rows; ++j)
            mask.i32()[static_cast<size_t>(b * s.rows + j)] =
                s.counts(lengths.i32()[static_cast<size_t>(b)], j) ? 1 : 0;
    in_ranges(boxes.dim(0) * s.rows, part_values / (s.rows * (s.heads + 8)) + 1, [&](int64_t first, int64_t end) {
        std::vector<size_t> by_order(count), by_left(count), by_bottom(count);
        for (int64_t r = first; r < end; ++r) of_query(r / s.rows, r % s.rows, by_order, by_left, by_bottom);
    });
}

void layout_embedding(const Call &call) {
    const Tensor x = call.in("x"), boxes = call.in("boxes"), y = call.out("y");
    const Tensor across = call.weight("x_table"), down = call.weight("y_table"), heights = call.weight("height_table"),
                 widths = call.weight("width_table");
    in_ranges(y.rows(), part_values / (8 * y.cols()) + 1, [&](int64_t first, int64_t end) {
        for (int64_t r = first; r < end; ++r) {
            const auto box = boxes.i32().subspan(static_cast<size_t>(4 * r), 4);
            const float *from = x.row(r).data();
            float *to = y.row(r).data();
            const auto add = [&](const Tensor &table, int32_t row) {
                for (const float value : table.row(std::max(row, 0))) *to++ = *from++ + value;
            };
            add(across, box[0]), add(down, box[1]), add(across, box[2]), add(down, box[3]);
            add(heights, box[3] - box[1]), add(widths, box[2] - box[0]);
        }
    });
}

} // namespace lamina::plugin::cpu_fallback
