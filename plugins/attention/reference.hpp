// The reference of attention.
#pragma once

#include "setting.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attention {

// The layer in plain loops, in double.
class Reference {
  public:
    explicit Reference(const Call &call) : call_(call), s_(call) {}

    void run() {
        if (s_.cached) append("k", "key_cache");
        if (s_.cached && !s_.keys_are_values) append("v", "value_cache");
        keys_ = rows_of("k", "key_cache"), values_ = s_.keys_are_values ? keys_ : rows_of("v", "value_cache");
        for (const int64_t r : call_.wanted(call_.out("y")))
            for (int64_t h = 0; h < s_.heads; ++h) attend(s_.q.batch_of(r), s_.q.time_of(r), h);
    }

  private:
    const Call &call_;
    const Setting s_;
    std::vector<std::vector<float>> keys_, values_; // by b * key_rows + j: (kv_heads D)

    [[nodiscard]] int64_t position(int64_t b) const {
        return s_.positioned() ? s_.position.i32()[static_cast<size_t>(b)] : 0;
    }

    [[nodiscard]] int64_t ahead(int64_t b, int64_t t) const {
        return s_.ahead ? s_.ahead.i32()[static_cast<size_t>(b * s_.q.length + t)] : 0;
    }

    void append(const char *input, const char *cache) const {
        const Tensor rows = call_.in(input), state = call_.state(cache);
        for (int64_t b = 0; b < s_.k.batch; ++b)
            for (int64_t j = 0; j < s_.k.length && position(b) + j < s_.key_rows; ++j) {
                const auto row = rows.row(s_.k.row(b, j));
                const int64_t to = (b * s_.key_rows + position(b) + j) * state.cols();
                if (state.dtype() == LAMINA_F16)
                    std::ranges::transform(row, state.f16().begin() + to, narrow_f16);
                else if (state.dtype() == LAMINA_Q8_0)
                    put_q8_0(row.data(), state.cols(), state.row_to_write(to / state.cols()));
                else
                    std::ranges::copy(row, state.f32().begin() + to);
            }
    }

    [[nodiscard]] std::vector<std::vector<float>> rows_of(const char *input, const char *cache) const {
        const Tensor all = s_.cached ? call_.state(cache) : call_.in(input);
        std::vector<std::vector<float>> rows;
        for (int64_t b = 0; b < s_.k.batch; ++b)
            for (int64_t j = 0; j < s_.key_rows; ++j) {
                const int64_t from = (b * s_.key_batch_stride() + j * s_.key_time_stride()) * all.cols();
                std::vector<float> &row = rows.emplace_back(static_cast<size_t>(all.cols()));
                const StorageType &type = storage_type(all.dtype());
                type.widen(all.stored_row(from / all.cols()), all.cols() / type.block_values, row.data());
            }
        return rows;
    }

    [[nodiscard]] bool may_attend(int64_t b, int64_t t, int64_t j) const {
        const int64_t at = position(b) + t;
        if (s_.cached && j >= position(b) + s_.q.length) return false;
        if (s_.causal && j > at + ahead(b, t)) return false;
        if (s_.query_lengths && t >= s_.query_lengths.i32()[static_cast<size_t>(b)]) return false;
        const bool first = s_.first_keys && j < s_.first_keys.i32()[static_cast<size_t>(b)];
        if (s_.window != 0 && j <= at - s_.window && !first) return false;
        if (s_.two_sided && j >= at + s_.window) return false;
        if (s_.key_lengths && j >= s_.key_lengths.i32()[static_cast<size_t>(b)]) return false;
        const int64_t in_mask = b * s_.mask_batch_stride() + t * s_.mask_query_stride() + j;
        return !s_.mask || s_.mask.i32()[static_cast<size_t>(in_mask)] != 0;
    }

    [[nodiscard]] double score(int64_t b, int64_t t, int64_t h, int64_t j, std::span<const float> query,
                               std::span<const float> key) const {
        double score = 0;
        for (size_t i = 0; i < query.size(); ++i) score += static_cast<double>(query[i]) * key[i];
        score *= s_.scale;
        if (s_.softcap != 0) score = s_.softcap * std::tanh(score / s_.softcap);
        if (s_.distance_bias) {
            const int64_t distance = std::clamp(j - position(b) - t, -s_.reach(), s_.reach());
            score += s_.distance_bias.row(h)[static_cast<size_t>(s_.reach() + distance)];
        }
        if (s_.slopes)
            score -= static_cast<double>(s_.slopes.f32()[static_cast<size_t>(h)]) *
                     static_cast<double>(std::abs(j - position(b) - t));
        if (!s_.score_bias) return score;
        const int64_t in_bias = ((b * s_.heads + h) * s_.q.length + t) * s_.k.length + j;
        return score + s_.score_bias.f32()[static_cast<size_t>(in_bias)];
    }

    void attend(int64_t b, int64_t t, int64_t h) const {
        const auto d = static_cast<size_t>(s_.head_dim), q_at = static_cast<size_t>(h) * d;
        const auto kv_at = static_cast<size_t>(h / (s_.heads / s_.kv_heads)) * d;
        const auto query = call_.in("q").row(s_.q.row(b, t)).subspan(q_at, d);
        const auto out = call_.out("y").row(s_.q.row(b, t)).subspan(q_at, d);
        std::vector<std::pair<size_t, double>> scores; // of the keys that the query may attend to
        double greatest = -1.7e38;                     // finite, so that a score of -infinity counts as masked
        const double sink = s_.sinks ? s_.sinks.f32()[static_cast<size_t>(h)] : greatest;
        greatest = std::max(greatest, sink);
        for (int64_t j = 0; j < s_.key_rows; ++j) {
            if (!may_attend(b, t, j)) continue;
            const auto key = static_cast<size_t>(b * s_.key_rows + j);
            scores.emplace_back(key, score(b, t, h, j, query, std::span(keys_[key]).subspan(kv_at, d)));
            greatest = std::max(greatest, scores.back().second);
        }
        double total = s_.sinks ? std::exp(sink - greatest) : 0;
        for (auto &[key, score] : scores) total += score = std::exp(score - greatest);
        for (size_t i = 0; i < d; ++i) {
            double sum = 0;
            for (const auto &[key, share] : scores) sum += share * values_[key][kv_at + i];
            out[i] = static_cast<float>(total == 0 ? 0 : sum / total);
        }
    }
};

} // namespace attention
