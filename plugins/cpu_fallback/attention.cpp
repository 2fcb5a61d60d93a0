// Attention: for each sequence and head, two products with the softmax between them; by OpenBLAS, or for one query a
// sequence by SIMD.
#include "kernels.hpp"
#include "product.hpp"
#include "threads.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

namespace lamina::plugin::cpu_fallback {
namespace {

class Attention {
  public:
    explicit Attention(const Call &call)
        : call_(call), q_(call.in("q"), call.flag("batch_first")), k_(call.in("k"), call.flag("batch_first")),
          cached_(static_cast<bool>(call.state("key_cache"))), causal_(call.flag("causal")),
          heads_(call.integer("heads")), kv_heads_(call.integer("kv_heads")), head_dim_(q_.channels / heads_),
          key_rows_(cached_ ? call.state("key_cache").dim(1) : k_.length), window_(call.integer("window")),
          softcap_(static_cast<float>(call.real("softcap"))),
          scale_(call.real("scale") == 0 ? 1 / std::sqrt(static_cast<float>(head_dim_))
                                         : static_cast<float>(call.real("scale"))),
          position_(call.in("position")), lengths_(call.in("key_lengths")), bias_(call.in("score_bias")),
          by_distance_(call.in("distance_bias")), key_mask_(call.in("key_mask")),
          mask_(key_mask_ ? key_mask_ : call.in("keep_mask")), queries_(call.in("q")), out_(call.out("y")),
          keys_(cached_ ? call.state("key_cache") : call.in("k")),
          values_(cached_ ? call.state("value_cache") : call.in("v")) {}

    void run() const {
        if (cached_) {
            append(call_.in("k"), keys_);
            append(call_.in("v"), values_);
        }
        if (q_.length == 1 && !mask_) return attend_single_queries();
        const Matrix scores(q_.length, key_rows_);
        for (int64_t b = 0; b < q_.batch; ++b) {
            const Rows k = rows_of(keys_, b), v = rows_of(values_, b);
            for (int64_t h = 0; h < heads_; ++h) attend(b, h, k.first, v.first, scores.data());
        }
    }

  private:
    const Call &call_;
    const Sequence q_, k_;
    const bool cached_, causal_;
    const int64_t heads_, kv_heads_, head_dim_, key_rows_, window_;
    const float softcap_, scale_;
    // Looked up by name once, not for each row.
    const Tensor position_, lengths_, bias_, by_distance_, key_mask_, mask_, queries_, out_;
    const Tensor keys_, values_; // all of them, or their caches

    // The position of a sequence's first query. Without a cache, queries and keys move together.
    [[nodiscard]] int64_t first_position(int64_t b) const {
        return position_ && cached_ ? position_.i32()[static_cast<size_t>(b)] : 0;
    }

    void append(const Tensor &rows, const Tensor &cache) const {
        for (int64_t b = 0; b < k_.batch; ++b)
            for (int64_t j = 0; j < k_.length && first_position(b) + j < key_rows_; ++j) {
                const int64_t to = (b * key_rows_ + first_position(b) + j) * cache.cols();
                if (cache.dtype() == LAMINA_F16)
                    std::ranges::transform(rows.row(k_.row(b, j)), cache.f16().begin() + to, narrow_f16);
                else
                    std::ranges::copy(rows.row(k_.row(b, j)), cache.f32().begin() + to);
            }
    }

    // The keys or values of a sequence that some query may attend to; halves from a cache are widened.
    struct Rows {
        std::unique_ptr<float[]> widened;
        const float *first;
    };
    [[nodiscard]] Rows rows_of(const Tensor &all, int64_t b) const {
        const auto [begin, end] = keys_of(b);
        const int64_t from = (cached_ ? b * key_rows_ + begin : k_.row(b, begin)) * all.cols();
        if (all.dtype() != LAMINA_F16) return {nullptr, all.f32().data() + from};
        const auto halves =
            all.f16().subspan(static_cast<size_t>(from), static_cast<size_t>((end - begin) * all.cols()));
        auto widened = std::make_unique_for_overwrite<float[]>(halves.size());
        std::ranges::transform(halves, widened.get(), widen_f16);
        const float *first = widened.get();
        return {std::move(widened), first};
    }

    // ---- One query a sequence, as when a text is generated ----

    // Keys and values are read as they are stored, on all threads, once for all heads that share them.
    void attend_single_queries() const {
        const int64_t sharing = heads_ / kv_heads_, all = q_.batch * kv_heads_;
        const int64_t part = std::max<int64_t>(part_values / (sharing * key_rows_ * head_dim_), 1);
        const Matrix scores(all * sharing, key_rows_);
        in_parallel(ceil_div(all, part), [&](int64_t p) {
            for (int64_t i = p * part; i < std::min((p + 1) * part, all); ++i)
                attend_sharing_heads(i / kv_heads_, i % kv_heads_, scores.data() + i * sharing * key_rows_);
        });
    }
    void attend_sharing_heads(int64_t b, int64_t kv_head, float *scores) const {
        const auto [begin, end] = keys_of(b);
        const int64_t count = heads_ / kv_heads_, n = end - begin, at = (b * heads_ + kv_head * count) * head_dim_;
        const float *q = queries_.f32().data() + at;
        float *o = out_.f32().data() + at;
        std::fill_n(scores, count * n, 0.0F);
        std::fill_n(o, count * head_dim_, 0.0F);
        if (head_dim_ % group == 0)
            add_products(stored_rows(keys_, b, kv_head), {q, nullptr, count, head_dim_}, scores, n);
        else
            add_products(stored_rows(keys_, b, kv_head), FewRows(q, count, head_dim_).rows(), scores, n);
        for (int64_t h = 0; h < count; ++h) {
            const std::span<float> row(scores + h * n, static_cast<size_t>(n));
            for (float &score : row) score *= scale_;
            softmax(b, kv_head * count + h, 0, begin, row);
        }
        add_weighted(stored_rows(values_, b, kv_head), scores, n, count, o, head_dim_);
    }
    // Of all keys or values, those of a head that the query of a sequence may attend to.
    [[nodiscard]] WeightRows stored_rows(const Tensor &all, int64_t b, int64_t kv_head) const {
        const auto [begin, end] = keys_of(b);
        const StorageType &type = storage_type(all.dtype());
        const int64_t first = cached_ ? b * key_rows_ + begin : k_.row(b, begin);
        return {all.dtype(), all.stored_row(first) + type.row_bytes(kv_head * head_dim_), end - begin, head_dim_,
                all.row_bytes() * (cached_ ? 1 : k_.time_stride)};
    }

    // ---- Heads ----

    struct Keys { // of one sequence, that some query may attend to, before masks; rows of the cache or of k
        int64_t begin, end;
    };
    [[nodiscard]] Keys keys_of(int64_t b) const {
        const int64_t first = first_position(b);
        int64_t end = cached_ ? std::min(first + q_.length, key_rows_) : k_.length;
        if (causal_) end = std::min(end, first + q_.length);
        if (lengths_) end = std::min<int64_t>(end, lengths_.i32()[static_cast<size_t>(b)]);
        return {std::min(begin_of(b, 0), end), end};
    }
    [[nodiscard]] int64_t begin_of(int64_t b, int64_t query) const {
        return window_ == 0 ? 0 : std::max<int64_t>(first_position(b) + query + 1 - window_, 0);
    }

    void attend(int64_t b, int64_t h, const float *k, const float *v, float *scores) const {
        const auto [begin, end] = keys_of(b);
        const int64_t kv_width = kv_heads_ * head_dim_, width = heads_ * head_dim_;
        const int64_t time_stride = cached_ ? 1 : k_.time_stride;
        const int64_t q_at = b * q_.batch_stride * width + h * head_dim_;
        const int64_t kv_at = h / (heads_ / kv_heads_) * head_dim_;
        const int d = blas_int(head_dim_), t = blas_int(q_.length), n = blas_int(end - begin),
                  q_step = blas_int(q_.time_stride * width), kv_step = blas_int(time_stride * kv_width);
        const float *q = queries_.f32().data() + q_at;
        float *o = out_.f32().data() + q_at;
        if (n == 0) { // nothing to attend to
            for (int64_t i = 0; i < q_.length; ++i) std::fill_n(o + i * q_step, d, 0.0f);
            return;
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, t, n, d, scale_, q, q_step, k + kv_at, kv_step, 0.0f,
                    scores, n);
        for (int64_t i = 0; i < q_.length; ++i) softmax(b, h, i, begin, {scores + i * n, static_cast<size_t>(n)});
        if (masks_within(b)) expect_finite(v + kv_at, n, kv_step);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, t, d, n, 1.0f, scores, n, v + kv_at, kv_step, 0.0f, o,
                    q_step);
    }

    // Turns the products of query i with the keys from `first` on into softmax weights. A query that may attend to no
    // key gets zeros.
    void softmax(int64_t b, int64_t h, int64_t i, int64_t first, std::span<float> row) const {
        const auto size = static_cast<int64_t>(row.size());
        const int64_t end = causal_ ? std::clamp<int64_t>(first_position(b) + i + 1 - first, 0, size) : size;
        const int64_t begin = std::clamp<int64_t>(begin_of(b, i) - first, 0, end);
        const int64_t bias_at = ((b * heads_ + h) * q_.length + i) * k_.length + first;
        const int64_t mask_at = (key_mask_ ? b : b * q_.length + i) * k_.length + first;
        const auto kept = [&](int64_t j) { return !mask_ || mask_.i32()[static_cast<size_t>(mask_at + j)] != 0; };
        const auto at = [&](int64_t j) -> float & { return row[static_cast<size_t>(j)]; };

        // A loop each: what is left out costs nothing.
        if (softcap_ != 0)
            for (int64_t j = begin; j < end; ++j) at(j) = softcap_ * std::tanh(at(j) / softcap_);
        if (bias_)
            for (int64_t j = begin; j < end; ++j) at(j) += bias_.f32()[static_cast<size_t>(bias_at + j)];
        if (by_distance_)
            for (int64_t j = begin; j < end; ++j)
                at(j) += of_distance(by_distance_.row(h), first + j - first_position(b) - i);
        float greatest = -1.7e38f; // finite, so that a score of -infinity counts as masked
        for (int64_t j = begin; j < end; ++j)
            if (kept(j)) greatest = std::max(greatest, at(j));
        double total = 0;
        for (int64_t j = begin; j < end; ++j) total += at(j) = kept(j) ? std::exp(at(j) - greatest) : 0.0f;
        const auto share = static_cast<float>(total == 0 ? 0 : 1 / total);
        for (int64_t j = begin; j < end; ++j) at(j) *= share;
        std::fill(row.begin(), row.begin() + begin, 0.0f);
        std::fill(row.begin() + end, row.end(), 0.0f);
    }

    static float of_distance(std::span<const float> biases, int64_t distance) {
        const auto reach = static_cast<int64_t>(biases.size() / 2);
        return biases[static_cast<size_t>(reach + std::clamp(distance, -reach, reach))];
    }

    // A masked key has weight 0, and the product below multiplies its values by 0, which is wrong if they are not
    // finite.
    [[nodiscard]] bool masks_within(int64_t b) const {
        const bool ragged = q_.length > 1 && (window_ != 0 || (causal_ && first_position(b) + 1 < keys_of(b).end));
        return mask_ || ragged;
    }
    void expect_finite(const float *values, int64_t rows, int64_t step) const {
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < head_dim_; ++c)
                if (!std::isfinite(values[r * step + c]))
                    throw Unsupported("a value is not finite: masking by a product is not exact");
    }
};

} // namespace

void attention(const Call &call) { Attention(call).run(); }

} // namespace lamina::plugin::cpu_fallback
