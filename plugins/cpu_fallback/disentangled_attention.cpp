// Disentangled attention: products of panels, as in attention, and two more for the distances.
//
// What a query adds to its scores for distances, and what a key adds, are products with the rows of pos_key and
// pos_query that the distances of a block need. Most of these are neighbours, so there are few more products than
// scores. Each score then takes its two from these.
#include "disentangled_attention/setting.hpp"

#include "arrays.hpp"
#include "kernels.hpp"
#include "matrix.hpp"
#include "panels.hpp"
#include "threads.hpp"

#include <algorithm>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

class DisentangledAttention {
  public:
    explicit DisentangledAttention(const Call &call)
        : s_(call), rows_(s_.rows_of_distances()), q_(call.in("q")), k_(call.in("k")), v_(call.in("v")),
          lengths_(call.in("key_lengths")), pos_key_(call.weight("pos_key")), pos_query_(call.weight("pos_query")),
          y_(call.out("y")), columns_(panel_columns(s_.length)) {}

    void run() const {
        const int64_t panels = ceil_div(s_.length, columns_), groups = ceil_div(panels, most_panels);
        const int64_t work = 2 * std::min(panels, most_panels) * columns_ * s_.length * s_.head_dim;
        in_ranges(s_.batch * s_.heads * groups, part_values / std::max<int64_t>(work, 1) + 1,
                  [&](int64_t begin, int64_t end) {
                      const Scratch scratch(*this);
                      for (int64_t i = begin; i < end; ++i) {
                          const int64_t first = i % groups * most_panels * columns_, head = i / groups;
                          attend({head / s_.heads, head % s_.heads},
                                 {first, std::min(first + most_panels * columns_, s_.length)}, scratch);
                      }
                  });
    }

  private:
    // What a group of panels of queries and a block of keys need of the products with distances stays in a cache.
    static constexpr int64_t most_panels = 4, key_block = 256;

    struct Head {
        int64_t b, head;
    };
    struct Range { // of queries, of keys, or of rows of pos_key and pos_query
        int64_t begin, end;
        [[nodiscard]] int64_t size() const { return end - begin; }
    };

    const disentangled_attention::Setting s_;
    const std::vector<uint32_t> rows_;
    const Tensor q_, k_, v_, lengths_, pos_key_, pos_query_, y_;
    const int64_t columns_;

    struct Scratch { // of one thread
        explicit Scratch(const DisentangledAttention &a)
            : keys(std::min(ceil_div(key_block, a.columns_), ceil_div(a.s_.length, a.columns_))),
              rows(a.most_rows((most_panels + 1) * a.columns_)), panel_rows(a.most_rows(key_block + a.columns_)),
              queries(most_panels * a.s_.head_dim, a.columns_), sums(most_panels * a.s_.head_dim, a.columns_),
              greatest(most_panels, a.columns_), total(most_panels, a.columns_), key(a.s_.head_dim, a.columns_),
              scores(std::min(key_block, a.s_.length), a.columns_), of_keys(a.pos_query_ ? keys * rows : 0, a.columns_),
              of_queries(a.pos_key_ ? panel_rows : 0, a.columns_) {}
        int64_t keys, rows, panel_rows; // panels of keys in a block; rows for one of them, or for one of queries
        Matrix queries, sums, greatest, total, key, scores, of_keys, of_queries;
    };

    [[nodiscard]] uint32_t row_of(int64_t distance) const {
        return rows_[static_cast<size_t>(s_.length - 1 + distance)];
    }
    // The most rows that so many distances in a row may have between the first and the last of them.
    [[nodiscard]] int64_t most_rows(int64_t distances) const {
        const size_t apart = std::min(static_cast<size_t>(distances), rows_.size()) - 1;
        uint32_t most = 0;
        for (size_t i = 0; i + apart < rows_.size(); ++i) most = std::max(most, rows_[i + apart] - rows_[i]);
        return most + int64_t{1};
    }
    // Those for all distances between some queries and some keys.
    [[nodiscard]] Range rows_between(Range queries, Range keys) const {
        return {row_of(queries.begin - keys.end + 1), row_of(queries.end - 1 - keys.begin) + int64_t{1}};
    }
    [[nodiscard]] int64_t place(Head at, int64_t t) const { // in q, k, v and y
        return ((at.b * s_.length + t) * s_.heads + at.head) * s_.head_dim;
    }
    [[nodiscard]] int64_t step() const { return s_.heads * s_.head_dim; }
    // The products of rows of a weight with a panel.
    void multiply_rows(const Tensor &weight, Head at, Range rows, const float *panel, float *out) const {
        multiply_panel({weight.f32().data() + rows.begin * step() + at.head * s_.head_dim, step(), 1}, rows.size(),
                       s_.head_dim, panel, out, columns_);
    }
    void pack(const Tensor &from, Head at, Range rows, float *panel) const {
        pack_panel({from.f32().data() + place(at, rows.begin), rows.size(), step()}, s_.head_dim, panel, columns_);
    }
    [[nodiscard]] Range panel_of(Range all, int64_t i) const {
        return {all.begin + i * columns_, std::min(all.begin + (i + 1) * columns_, all.end)};
    }

    void attend(Head at, Range queries, const Scratch &scratch) const {
        const int64_t panels = ceil_div(queries.size(), columns_), values = s_.head_dim * columns_;
        for (int64_t p = 0; p < panels; ++p) {
            pack(q_, at, panel_of(queries, p), scratch.queries.data() + p * values);
            scale(scratch.queries.data() + p * values, values, static_cast<float>(s_.scale));
        }
        std::ranges::fill(scratch.sums.all(), 0.0F);
        std::ranges::fill(scratch.greatest.all(), least_score);
        std::ranges::fill(scratch.total.all(), 0.0F);
        const int64_t keys = lengths_ ? lengths_.i32()[static_cast<size_t>(at.b)] : s_.length;
        for (int64_t begin = 0; begin < keys; begin += key_block) {
            const Range block{begin, std::min(begin + key_block, keys)};
            if (pos_query_) multiply_keys(at, queries, block, scratch);
            for (int64_t p = 0; p < panels; ++p) attend_block(at, queries, p, block, scratch);
        }
        for (int64_t p = 0; p < panels; ++p) {
            const Range panel = panel_of(queries, p);
            divide_by_totals(scratch.sums.data() + p * values, s_.head_dim, columns_,
                             scratch.total.data() + p * columns_);
            unpack_panel(scratch.sums.data() + p * values, s_.head_dim, columns_, nullptr, nullptr,
                         y_.f32().data() + place(at, panel.begin), panel.size(), step());
        }
    }

    // For each panel of keys, the products with the rows that the queries need.
    void multiply_keys(Head at, Range queries, Range block, const Scratch &scratch) const {
        for (int64_t p = 0; p < ceil_div(block.size(), columns_); ++p) {
            const Range keys = panel_of(block, p);
            pack(k_, at, keys, scratch.key.data());
            scale(scratch.key.data(), s_.head_dim * columns_, static_cast<float>(s_.scale));
            multiply_rows(pos_query_, at, rows_between(queries, keys), scratch.key.data(),
                          scratch.of_keys.data() + p * scratch.rows * columns_);
        }
    }

    void attend_block(Head at, Range queries, int64_t p, Range block, const Scratch &scratch) const {
        const float *const panel = scratch.queries.data() + p * s_.head_dim * columns_;
        float *const scores = scratch.scores.data(), *const sums = scratch.sums.data() + p * s_.head_dim * columns_;
        const Range own = panel_of(queries, p);
        multiply_panel({k_.f32().data() + place(at, block.begin), step(), 1}, block.size(), s_.head_dim, panel, scores,
                       columns_);
        if (pos_key_) {
            const Range rows = rows_between(own, block);
            multiply_rows(pos_key_, at, rows, panel, scratch.of_queries.data());
            for (int64_t j = block.begin; j < block.end; ++j)
                add(scores + (j - block.begin) * columns_, own, j, rows.begin, scratch.of_queries.data(), 1);
        }
        if (pos_query_)
            for (int64_t j = block.begin; j < block.end; ++j) {
                const int64_t of = (j - block.begin) / columns_;
                add(scores + (j - block.begin) * columns_, own, j, rows_between(queries, panel_of(block, of)).begin,
                    scratch.of_keys.data() + of * scratch.rows * columns_ + (j - block.begin) % columns_, 0);
            }
        softmax_block(scores, block.size(), columns_,
                      {scratch.greatest.data() + p * columns_, scratch.total.data() + p * columns_}, sums, s_.head_dim);
        multiply_panel({v_.f32().data() + place(at, block.begin), 1, step()}, s_.head_dim, block.size(), scores, sums,
                       columns_, true);
    }

    // To the scores of a key, the products of rows from `first_row` on for the distances to these queries; from one
    // query to the next, products are `query_step` farther.
    void add(float *scores, Range queries, int64_t key, int64_t first_row, const float *products,
             int64_t query_step) const {
        const uint32_t *const rows = rows_.data() + s_.length - 1 + queries.begin - key;
        for (int64_t i = 0; i < queries.size(); ++i)
            scores[i] += products[(rows[i] - first_row) * columns_ + i * query_step];
    }
};

} // namespace

void disentangled_attention(const Call &call) { DisentangledAttention(call).run(); }

} // namespace lamina::plugin::cpu_fallback
