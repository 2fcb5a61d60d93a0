// Attention: two products with the softmax between them, for a few queries of a head at a time.
#include "arrays.hpp"
#include "kernels.hpp"
#include "panels.hpp"
#include "product.hpp"
#include "threads.hpp"

#include <lamina/plugin/dtype.hpp>
#include <lamina/plugin/product_numbers.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace lamina::plugin::cpu_fallback {
namespace {

class Attention {
  public:
    explicit Attention(const Call &call)
        : call_(call), q_(call.in("q"), call.flag("batch_first")), k_(call.in("k"), call.flag("batch_first")),
          cached_(static_cast<bool>(call.state("key_cache"))), causal_(call.flag("causal")),
          two_sided_(call.integer("window") != 0 && call.flag("two_sided")), heads_(call.integer("heads")),
          kv_heads_(call.integer("kv_heads")), head_dim_(q_.channels / heads_),
          key_rows_(cached_ ? call.state("key_cache").dim(1) : k_.length), window_(call.integer("window")),
          softcap_(static_cast<float>(call.real("softcap"))),
          score_factor_((call.real("scale") == 0 ? 1 / std::sqrt(static_cast<float>(head_dim_))
                                                 : static_cast<float>(call.real("scale"))) /
                        (softcap_ == 0 ? 1 : softcap_)),
          position_(call.in("position")), ahead_(call.in("ahead")), first_keys_(call.in("first_keys")),
          query_lengths_(call.in("query_lengths")), lengths_(call.in("key_lengths")), bias_(call.in("score_bias")),
          by_distance_(call.in("distance_bias")), slopes_(call.weight("slopes")), sinks_(call.weight("sinks")),
          key_mask_(call.in("key_mask")), mask_(key_mask_ ? key_mask_ : call.in("keep_mask")), queries_(call.in("q")),
          out_(call.out("y")), keys_(cached_ ? call.state("key_cache") : call.in("k")),
          values_(call.in("v").stands_in() ? keys_
                  : cached_                ? call.state("value_cache")
                                           : call.in("v")) {}

    void run() const {
        if (cached_) {
            append(call_.in("k"), keys_);
            if (!call_.in("v").stands_in()) append(call_.in("v"), values_);
        }
        if (q_.length == 1 && !mask_ && !first_keys_ && !query_lengths_)
            attend_single_queries();
        else
            attend_panels();
    }

  private:
    const Call &call_;
    const Sequence q_, k_;
    const bool cached_, causal_, two_sided_;
    const int64_t heads_, kv_heads_, head_dim_, key_rows_, window_;
    const float softcap_, score_factor_; // of the products; with a soft cap, scores are divided by it before tanh
    // Looked up by name once, not for each row.
    const Tensor position_, ahead_, first_keys_, query_lengths_, lengths_, bias_, by_distance_, slopes_, sinks_,
        key_mask_, mask_, queries_, out_;
    const Tensor keys_, values_; // all of them, or their caches

    // The position of a sequence's first query. Without a cache, queries and keys move together.
    [[nodiscard]] int64_t first_position(int64_t b) const {
        return position_ && cached_ ? position_.i32()[static_cast<size_t>(b)] : 0;
    }

    void append(const Tensor &rows, const Tensor &cache) const {
        for (int64_t b = 0; b < k_.batch; ++b)
            for (int64_t j = 0; j < k_.length && first_position(b) + j < key_rows_; ++j) {
                const std::span<const float> row = rows.row(k_.row(b, j));
                const int64_t to = b * key_rows_ + first_position(b) + j;
                if (cache.dtype() == LAMINA_F16)
                    std::ranges::transform(row, cache.f16().begin() + to * cache.cols(), narrow_f16);
                else if (cache.dtype() == LAMINA_Q8_0)
                    put_q8_0(row.data(), cache.cols(), cache.row_to_write(to));
                else
                    std::ranges::copy(row, cache.f32().begin() + to * cache.cols());
            }
    }

    struct Keys { // of one sequence, that some query may attend to, before masks; rows of the cache or of k
        int64_t begin, end;
    };

    // ---- One query a sequence, as when a text is generated ----

    // Keys and values are read as they are stored, in ranges of keys: each on one thread for all heads, a few rows at a
    // time, so that memory is read once and from front to back. How long ranges are depends on the keys alone, and so
    // results do not depend on threads.
    struct Range {
        int64_t b;
        Keys keys;
    };
    // Of the ranges: for each head, the greatest score, and relative to it the sum of weights and that of values.
    struct Sums {
        Matrix greatest, total, values;
    };

    void attend_single_queries() const {
        const Array<Range> kept(q_.batch * most_ranges);
        const std::span<const Range> ranges = ranges_of_keys(kept.data());
        const auto count = static_cast<int64_t>(ranges.size());
        int64_t longest = 0;
        for (const Range &range : ranges) longest = std::max(longest, range.keys.end - range.keys.begin);
        const Sums sums{{count, heads_}, {count, heads_}, {count, heads_ * head_dim_}};
        const int64_t work = std::max<int64_t>(longest * heads_ * head_dim_, 1);
        in_ranges(count, part_values / work + 1, [&](int64_t begin, int64_t end) {
            const Matrix scores(heads_, longest);
            for (int64_t i = begin; i < end; ++i) attend(ranges[static_cast<size_t>(i)], i, scores.data(), sums);
        });
        for (int64_t b = 0, first = 0, end = 0; b < q_.batch; ++b, first = end) {
            while (end < count && ranges[static_cast<size_t>(end)].b == b) ++end;
            for (int64_t h = 0; h < heads_; ++h) join(b, h, first, end, sums);
        }
    }
    static constexpr int64_t most_ranges = 16; // of a sequence
    [[nodiscard]] std::span<const Range> ranges_of_keys(Range *const first) const {
        constexpr int64_t least = 64; // keys of a range, but for the last
        Range *next = first;
        for (int64_t b = 0; b < q_.batch; ++b) {
            const auto [begin, end] = keys_of(b);
            const int64_t size = std::max<int64_t>(ceil_div(ceil_div(end - begin, most_ranges), least), 1) * least;
            for (int64_t at = begin; at < end; at += size) *next++ = {b, {at, std::min(at + size, end)}};
        }
        return {first, next};
    }
    void attend(const Range &range, int64_t number, float *scores, const Sums &sums) const {
        const auto [b, keys] = range;
        const int64_t sharing = heads_ / kv_heads_, n = keys.end - keys.begin;
        float *const o = sums.values.data() + number * heads_ * head_dim_;
        std::fill_n(scores, heads_ * n, 0.0F);
        std::fill_n(o, heads_ * head_dim_, 0.0F);
        const float *const own = queries_.f32().data() + b * heads_ * head_dim_;
        const FewRowsFor padded(stored_head(keys_, b, 0, keys), own, heads_);
        const FewRows q = padded.rows();
        in_blocks(keys_, keys, [&](Keys some) {
            for (int64_t h = 0; h < kv_heads_; ++h)
                add_products(stored_head(keys_, b, h, some), {q.values + h * sharing * q.step, sharing, q.step},
                             scores + h * sharing * n + some.begin - keys.begin, n);
        });
        for (int64_t h = 0; h < heads_; ++h) {
            float *const row = scores + h * n;
            scale(row, n, score_factor_);
            finish_scores(b, h, 0, keys, row, 1);
            const float most = std::max(greatest(row, n), least_score);
            sums.greatest.data()[number * heads_ + h] = most;
            sums.total.data()[number * heads_ + h] = static_cast<float>(exponentials(row, n, most));
        }
        in_blocks(values_, keys, [&](Keys some) {
            for (int64_t h = 0; h < kv_heads_; ++h)
                add_weighted(stored_head(values_, b, h, some), scores + h * sharing * n + some.begin - keys.begin, n,
                             sharing, o + h * sharing * head_dim_, head_dim_);
        });
    }
    // Calls f for some keys at a time, whose rows stay in a cache while all heads read them.
    template <class F> void in_blocks(const Tensor &all, Keys keys, F &&f) const {
        constexpr int64_t bytes = 65536;
        const int64_t size = std::clamp<int64_t>(bytes / std::max<int64_t>(all.row_bytes(), 1), 4, 128);
        for (int64_t at = keys.begin; at < keys.end; at += size) f({at, std::min(at + size, keys.end)});
    }
    // Of one head, what ranges [first, end) found.
    void join(int64_t b, int64_t h, int64_t first, int64_t end, const Sums &sums) const {
        float *const o = out_.f32().data() + (b * heads_ + h) * head_dim_;
        std::fill_n(o, head_dim_, 0.0F);
        const float sink = sink_of(h);
        float most = sink;
        for (int64_t i = first; i < end; ++i) most = std::max(most, sums.greatest.data()[i * heads_ + h]);
        double total = sinks_ ? std::exp(double{sink} - most) : 0;
        for (int64_t i = first; i < end; ++i) {
            const double share = std::exp(double{sums.greatest.data()[i * heads_ + h]} - most);
            total += share * sums.total.data()[i * heads_ + h];
            const float *const values = sums.values.data() + (i * heads_ + h) * head_dim_;
            const auto factor = static_cast<float>(share);
            for (int64_t c = 0; c < head_dim_; ++c) o[c] += factor * values[c];
        }
        scale(o, head_dim_, static_cast<float>(total == 0 ? 0 : 1 / total));
    }
    // The score of a key whose value is 0; the least one, if there is none.
    [[nodiscard]] float sink_of(int64_t head) const {
        return sinks_ ? sinks_.f32()[static_cast<size_t>(head)] : least_score;
    }
    // Some keys or values of a head, as they are stored.
    [[nodiscard]] WeightRows stored_head(const Tensor &all, int64_t b, int64_t kv_head, Keys keys) const {
        const StorageType &type = storage_type(all.dtype());
        const int64_t first = cached_ ? b * key_rows_ + keys.begin : k_.row(b, keys.begin);
        return {all.dtype(), all.stored_row(first) + type.row_bytes(kv_head * head_dim_), keys.end - keys.begin,
                head_dim_, all.row_bytes() * (cached_ ? 1 : k_.time_stride)};
    }

    // ---- Keys ----

    [[nodiscard]] Keys keys_of(int64_t b) const {
        const int64_t first = first_position(b);
        int64_t end = cached_ ? std::min(first + q_.length, key_rows_) : k_.length;
        if (causal_) end = std::min(end, first + q_.length + (ahead_ ? q_.length - 1 : 0));
        if (two_sided_) end = std::min(end, first + q_.length - 1 + window_);
        if (lengths_) end = std::min<int64_t>(end, lengths_.i32()[static_cast<size_t>(b)]);
        return {first_keys_ ? 0 : std::min(begin_of(b, 0), end), end};
    }
    [[nodiscard]] int64_t begin_of(int64_t b, int64_t query) const {
        return window_ == 0 ? 0 : std::max<int64_t>(first_position(b) + query + 1 - window_, 0);
    }

    [[nodiscard]] int64_t ahead_of(int64_t b, int64_t query) const {
        return ahead_ ? ahead_.i32()[static_cast<size_t>(b * q_.length + query)] : 0;
    }

    // So many first keys a query may attend to wherever its others begin.
    [[nodiscard]] int64_t first_keys_of(int64_t b) const {
        return first_keys_ ? first_keys_.i32()[static_cast<size_t>(b)] : 0;
    }
    // Queries from this one on attend to nothing.
    [[nodiscard]] int64_t queries_of(int64_t b) const {
        return query_lengths_ ? query_lengths_.i32()[static_cast<size_t>(b)] : q_.length;
    }

    // Those that query i may attend to, among `all` of its sequence, without the first keys.
    [[nodiscard]] Keys keys_of_query(int64_t b, int64_t i, Keys all) const {
        if (i >= queries_of(b)) return {all.begin, all.begin};
        const int64_t at = first_position(b) + i;
        int64_t end = causal_ ? at + 1 + ahead_of(b, i) : all.end;
        if (two_sided_) end = std::min(end, at + window_);
        end = std::clamp(end, all.begin, all.end);
        return {std::clamp(begin_of(b, i), all.begin, end), end};
    }

    // ---- Several queries a sequence ----

    // The scores of a panel and so many keys stay in the second cache, beside the keys and their values, which serve a
    // few panels before they are left. So what a thread needs does not grow with the sequence.
    static constexpr int64_t key_block = 512, most_panels = 8;

    struct Panel { // `count` queries of a head, and the keys that some of them may attend to
        int64_t b, head, first, count;
        Keys keys;
        float *q, *o; // (head_dim, columns)
        Softmax softmax;
    };
    struct Scratch { // of one thread, for most_panels
        Matrix queries, out, greatest, total;
        Matrix scores;                   // of one panel and key_block
        std::vector<float> keys, values; // widened, if the caches are not in f32
    };

    void attend_panels() const {
        for (int64_t b = 0; b < q_.batch; ++b)
            if (masks_within(b)) expect_finite_values(b);
        const int64_t columns = panel_columns(q_.length), panels = ceil_div(q_.length, columns);
        const int64_t of_keys = heads_ / kv_heads_ * panels; // panels that have the same keys are neighbours
        const int64_t work = std::max<int64_t>(columns * key_rows_ * head_dim_, 1);
        in_ranges(q_.batch * heads_ * panels, part_values / work + 1, [&](int64_t begin, int64_t end) {
            const int64_t most = std::min(most_panels, end - begin);
            Scratch scratch{{most * head_dim_, columns},
                            {most * head_dim_, columns},
                            {most, columns},
                            {most, columns},
                            {std::min(key_rows_, key_block), columns},
                            {},
                            {}};
            for (int64_t at = begin, next = begin; at < end; at = next) {
                next = std::min({end, at + most, (at / of_keys + 1) * of_keys});
                std::vector<Panel> group;
                for (int64_t i = at; i < next; ++i)
                    group.push_back(begin_panel(i / panels, i % panels * columns, columns, i - at, scratch));
                attend(group, columns, scratch);
            }
        });
    }

    [[nodiscard]] Panel begin_panel(int64_t head, int64_t first, int64_t columns, int64_t i, Scratch &scratch) const {
        Panel out{head / heads_, head % heads_, first, std::min(columns, q_.length - first), {}, {}, {}, {}};
        const Keys all = keys_of(out.b);
        const int64_t last = std::max(first, std::min(first + out.count, queries_of(out.b)) - 1);
        const int64_t end = ahead_ ? all.end : keys_of_query(out.b, last, all).end;
        out.keys = {keys_of_query(out.b, first, all).begin, end};
        out.q = scratch.queries.data() + i * head_dim_ * columns, out.o = scratch.out.data() + i * head_dim_ * columns;
        out.softmax = {scratch.greatest.data() + i * columns, scratch.total.data() + i * columns};
        pack_panel({queries_.f32().data() + place_of(out), out.count, query_step()}, head_dim_, out.q, columns);
        scale(out.q, head_dim_ * columns, score_factor_);
        std::fill_n(out.o, head_dim_ * columns, 0.0F);
        std::fill_n(out.softmax.greatest, columns, sink_of(out.head));
        std::fill_n(out.softmax.total, columns, sinks_ ? 1.0F : 0.0F);
        return out;
    }
    [[nodiscard]] int64_t query_step() const { return q_.time_stride * heads_ * head_dim_; }
    [[nodiscard]] int64_t place_of(const Panel &panel) const { // in q and y
        return (q_.row(panel.b, panel.first) * heads_ + panel.head) * head_dim_;
    }

    // Panels of one sequence, and of heads that share keys.
    void attend(const std::vector<Panel> &panels, int64_t columns, Scratch &scratch) const {
        const int64_t b = panels.front().b, kv_head = panels.front().head / (heads_ / kv_heads_);
        const int64_t firsts = first_keys_of(b);
        const int64_t first =
            firsts != 0 ? 0 : std::ranges::min(panels, {}, [](const Panel &p) { return p.keys.begin; }).keys.begin;
        const int64_t last = std::ranges::max(panels, {}, [](const Panel &p) { return p.keys.end; }).keys.end;
        // Blocks begin at multiples, so that results do not depend on which panels are together.
        for (int64_t at = first / key_block * key_block; at < last; at += key_block) {
            const Keys block{std::max(at, first), std::min(at + key_block, last)};
            const Strided k = rows_of(keys_, b, kv_head, block, scratch.keys);
            const Strided v = rows_of(values_, b, kv_head, block, scratch.values);
            for (const Panel &panel : panels)
                for (const Keys some : {Keys{0, firsts}, Keys{std::max(panel.keys.begin, firsts), panel.keys.end}}) {
                    const Keys mine{std::max(block.begin, some.begin), std::min({block.end, some.end, panel.keys.end})};
                    if (mine.begin >= mine.end) continue;
                    const int64_t skipped = mine.begin - block.begin;
                    attend_block(panel, mine, {k.values + skipped * k.row_step, k.row_step, 1},
                                 {v.values + skipped * v.row_step, 1, v.row_step}, scratch.scores.data(), columns);
                }
        }
        for (const Panel &panel : panels) {
            divide_by_totals(panel.o, head_dim_, columns, panel.softmax.total);
            unpack_panel(panel.o, head_dim_, columns, nullptr, nullptr, out_.f32().data() + place_of(panel),
                         panel.count, query_step());
        }
    }

    void attend_block(const Panel &panel, Keys keys, const Strided &k, const Strided &transposed_v, float *scores,
                      int64_t columns) const {
        const int64_t n = keys.end - keys.begin;
        const Keys all = keys_of(panel.b);
        multiply_panel(k, n, head_dim_, panel.q, scores, columns);
        for (int64_t c = 0; c < panel.count; ++c) {
            finish_scores(panel.b, panel.head, panel.first + c, keys, scores + c, columns);
            hide_keys(panel.b, panel.first + c, all, keys, scores + c, columns);
        }
        softmax_block(scores, n, columns, panel.softmax, panel.o, head_dim_);
        multiply_panel(transposed_v, head_dim_, n, scores, panel.o, columns, true);
    }

    // Some keys or values of a head: a row each, as floats.
    [[nodiscard]] Strided rows_of(const Tensor &all, int64_t b, int64_t kv_head, Keys keys,
                                  std::vector<float> &widened) const {
        const int64_t first = cached_ ? b * key_rows_ + keys.begin : k_.row(b, keys.begin);
        const int64_t step = cached_ ? 1 : k_.time_stride, at = kv_head * head_dim_;
        if (all.dtype() == LAMINA_F32) return {all.f32().data() + first * all.cols() + at, step * all.cols(), 1};
        const StorageType &type = storage_type(all.dtype());
        widened.resize(static_cast<size_t>((keys.end - keys.begin) * head_dim_));
        for (int64_t j = 0; j < keys.end - keys.begin; ++j)
            cpu_fallback::widen({all.dtype(), all.stored_row(first + j * step) + type.row_bytes(at), 1, head_dim_, 0},
                                widened.data() + j * head_dim_);
        return {widened.data(), head_dim_, 1};
    }

    // ---- Scores ----

    // What the contract does with the products of query i and its keys, which are `step` apart.
    void finish_scores(int64_t b, int64_t head, int64_t i, Keys keys, float *scores, int64_t step) const {
        const int64_t n = keys.end - keys.begin;
        if (softcap_ != 0)
            for (int64_t j = 0; j < n; ++j) scores[j * step] = softcap_ * std::tanh(scores[j * step]);
        if (bias_) {
            const float *const row =
                bias_.f32().data() + ((b * heads_ + head) * q_.length + i) * k_.length + keys.begin;
            for (int64_t j = 0; j < n; ++j) scores[j * step] += row[j];
        }
        if (slopes_) {
            const float slope = slopes_.f32()[static_cast<size_t>(head)];
            // A query after all keys may as well be at the last one, unless there is a sink beside them.
            const int64_t own = first_position(b) + i,
                          end = lengths_ ? lengths_.i32()[static_cast<size_t>(b)] : key_rows_;
            const int64_t at = sinks_ ? own : std::min(own, std::max<int64_t>(std::min(end, key_rows_), 1) - 1);
            for (int64_t j = 0; j < n; ++j)
                scores[j * step] -= slope * static_cast<float>(std::abs(keys.begin + j - at));
        }
        if (by_distance_)
            for (int64_t j = 0; j < n; ++j)
                scores[j * step] += of_distance(by_distance_.row(head), keys.begin + j - first_position(b) - i);
    }

    // Keys that a query may not attend to get the weight 0.
    void hide_keys(int64_t b, int64_t i, Keys all, Keys keys, float *scores, int64_t step) const {
        const auto hide = [&](int64_t j) { scores[(j - keys.begin) * step] = -std::numeric_limits<float>::infinity(); };
        Keys own = keys_of_query(b, i, all);
        own = {std::clamp(own.begin, keys.begin, keys.end), std::clamp(own.end, keys.begin, keys.end)};
        for (int64_t j = std::max(keys.begin, first_keys_of(b)); j < own.begin; ++j) hide(j);
        for (int64_t j = own.end; j < keys.end; ++j) hide(j);
        if (!mask_) return;
        const int32_t *const kept = mask_.i32().data() + (key_mask_ ? b : b * q_.length + i) * k_.length;
        for (int64_t j = own.begin; j < own.end; ++j)
            if (kept[j] == 0) hide(j);
    }

    static float of_distance(std::span<const float> biases, int64_t distance) {
        const auto reach = static_cast<int64_t>(biases.size() / 2);
        return biases[static_cast<size_t>(reach + std::clamp(distance, -reach, reach))];
    }

    // A masked key has weight 0, and the product below multiplies its values by 0, which is wrong if they are not
    // finite.
    [[nodiscard]] bool masks_within(int64_t b) const {
        const bool ragged = first_keys_ || query_lengths_ ||
                            (q_.length > 1 && (window_ != 0 || (causal_ && first_position(b) + 1 < keys_of(b).end)));
        return mask_ || ragged;
    }
    void expect_finite_values(int64_t b) const {
        const auto [begin, end] = keys_of(b);
        for (int64_t j = begin; j < end; ++j)
            if (!finite_values(cached_ ? b * key_rows_ + j : k_.row(b, j)))
                throw Unsupported("a value is not finite: masking by a product is not exact");
    }
    [[nodiscard]] bool finite_values(int64_t row) const {
        constexpr uint16_t f16_exponent = 0x7c00; // all of its bits are set if a value is not finite
        const auto finite = [](uint16_t bits) { return (bits & f16_exponent) != f16_exponent; };
        if (values_.dtype() == LAMINA_F32)
            return std::ranges::all_of(values_.row(row), [](float v) { return std::isfinite(v); });
        const std::byte *const stored = values_.stored_row(row);
        const int64_t step = values_.dtype() == LAMINA_Q8_0 ? Q8_0::bytes : F16::bytes; // of q8_0, the scales tell
        for (int64_t at = 0; at < values_.row_bytes(); at += step) {
            uint16_t bits = 0;
            std::memcpy(&bits, stored + at, sizeof bits);
            if (!finite(bits)) return false;
        }
        return true;
    }
};

} // namespace

void attention(const Call &call) { Attention(call).run(); }

} // namespace lamina::plugin::cpu_fallback
