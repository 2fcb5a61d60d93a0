#include "architectures/gated_attention.hpp"

#include "architectures/made_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

namespace lamina::architectures {
namespace {

// The bucket of a distance, in float and in the order of transformers (models/wavlm/modeling_wavlm.py,
// _relative_positions_bucket): where a bucket begins is decided by a rounding.
int64_t bucket_of(int64_t distance, int64_t buckets, int64_t farthest) {
    const int64_t half = buckets / 2, exact = half / 2, far = std::abs(distance), first = distance > 0 ? half : 0;
    if (far < exact) return first + far;
    float place = std::log(static_cast<float>(far) / static_cast<float>(exact));
    place /= static_cast<float>(std::log(static_cast<double>(farthest) / static_cast<double>(exact)));
    place = place * static_cast<float>(half - exact) + static_cast<float>(exact);
    return first + std::min(static_cast<int64_t>(place), half - 1);
}

// A matrix of whole heads as values: each has `head` rows of so many values.
struct Heads {
    size_t count, head;
};

// With another row behind each head, of zeros.
void spread_rows(Heads heads, std::span<const float> from, std::span<float> to) {
    const size_t values = from.size() / heads.count; // of a head
    for (size_t h = 0; h < heads.count; ++h)
        std::ranges::copy(from.subspan(h * values, values),
                          to.subspan(h * (values + values / heads.head), values).begin());
}

// With another column behind each head, of zeros.
void spread_columns(Heads heads, std::span<const float> from, std::span<float> to) {
    for (size_t at = 0; at * heads.head < from.size(); ++at)
        std::ranges::copy(from.subspan(at * heads.head, heads.head), to.subspan(at * (heads.head + 1)).begin());
}

// The sum of rows `first` to first + 3, which take one head, as a row for each head.
void sum_four(Heads heads, size_t first, std::span<const float> from, std::span<float> to) {
    for (size_t h = 0; h < heads.count; ++h)
        for (size_t row = first; row < first + 4; ++row)
            for (size_t i = 0; i < heads.head; ++i)
                to[(h * heads.count + h) * heads.head + i] += from[row * heads.head + i];
}

} // namespace

// A gate times a bias is a product, as that of queries and keys: so the gate is one more channel of each head of the
// queries, and the bias the only channel that is not 0 in what disentangled attention multiplies queries with by
// distance.
GatedAttention::GatedAttention(Draft &draft, GraphWriter &graph, const std::string &first, int64_t width, int64_t heads)
    : draft_(draft), graph_(graph), width_(width), heads_(heads), head_(width / heads),
      distances_(first + ".distances") {
    constexpr int64_t most = 1 << 16;
    const Config &config = draft.config;
    const int64_t buckets = config.positive("num_buckets"), farthest = config.positive("max_bucket_distance");
    if (width % heads != 0)
        config.fail("num_attention_heads", "expected a divisor of \"hidden_size\", " + std::to_string(width));
    if (buckets < 4 || farthest <= buckets / 4 || farthest > most)
        config.fail("max_bucket_distance", "expected more than a quarter of \"num_buckets\", of which there are at "
                                           "least 4, and at most " +
                                               std::to_string(most) + "; found " + std::to_string(farthest) + " and " +
                                               std::to_string(buckets));
    const std::string table = first + ".rel_attn_embed.weight";
    graph_.require(table, {buckets, heads});
    const auto fill = [buckets, farthest, h = static_cast<size_t>(heads),
                       d = static_cast<size_t>(head_)](const ValuesOf &from, std::span<float> to) {
        for (size_t i = 0; i < to.size() / (d + 1); ++i) { // of each head in each row
            const int64_t distance = farthest + 1 - static_cast<int64_t>(i / h);
            const auto bucket = static_cast<size_t>(bucket_of(distance, buckets, farthest));
            to[i * (d + 1) + d] = from[0][bucket * h + i % h] * std::sqrt(static_cast<float>(d));
        }
    };
    add(distances_, {2 * (farthest + 1), heads * (head_ + 1)}, {table}, fill);
}

void GatedAttention::add(const std::string &name, const Shape &shape, const std::vector<std::string> &from,
                         std::function<void(const ValuesOf &from, std::span<float> to)> fill) const {
    std::vector<model::Weight> parts;
    for (const std::string &each : from) parts.push_back(draft_.weights.at(each));
    draft_.weights.add(name, made_of_values(shape, parts, std::move(fill)));
    draft_.unused.insert(from.begin(), from.end());
}

// a (b c - 1) + 2 of each head, where a and b are sigmoids of what two rows, each the sum of four, make of its
// channels.
GraphWriter::Tensor GatedAttention::gates(const std::string &module, const GraphWriter::Tensor &x) const {
    const std::string weight = module + ".gru_rel_pos_linear.weight", bias = module + ".gru_rel_pos_linear.bias",
                      factors = module + ".gru_rel_pos_const";
    graph_.require(weight, {8, head_});
    graph_.require(bias, {8});
    graph_.require(factors, {1, heads_, 1, 1});
    const Heads heads{static_cast<size_t>(heads_), static_cast<size_t>(head_)};
    const auto scores = [&](const std::string &name, size_t first) {
        add(name + ".weight", {heads_, width_}, {weight},
            [=](const ValuesOf &from, std::span<float> to) { sum_four(heads, first, from[0], to); });
        add(name + ".bias", {heads_}, {bias}, [first](const ValuesOf &from, std::span<float> to) {
            for (float &each : to)
                for (size_t row = first; row < first + 4; ++row) each += from[0][row];
        });
        return graph_.linear(name, x, {.outputs = heads_});
    };
    // Of each head times a factor, or times 1, plus the same for all.
    const auto shifted = [&](const std::string &name, const GraphWriter::Tensor &of, float summand,
                             const std::vector<std::string> &by) {
        add(name + ".weight", {heads_, heads_}, by, [heads](const ValuesOf &from, std::span<float> to) {
            for (size_t h = 0; h < heads.count; ++h) to[h * heads.count + h] = from.empty() ? 1 : from[0][h];
        });
        add(name + ".bias", {heads_}, {},
            [summand](const ValuesOf &, std::span<float> to) { std::ranges::fill(to, summand); });
        return graph_.linear(name, of, {.outputs = heads_});
    };
    const std::string name = module + ".gates";
    const GraphWriter::Tensor a = scores(name + ".a_scores", 0),
                              b = graph_.layer(name + ".b", "activation", {{"x", scores(name + ".b_scores", 4)}},
                                               {{"activation", "sigmoid"}});
    const GraphWriter::Tensor product =
        graph_.layer(name + ".a", "activation", {{"x", a}, {"times", shifted(name + ".b_scaled", b, -1, {factors})}},
                     {{"activation", "sigmoid"}});
    return shifted(name, product, 2, {});
}

// What the projection makes of x, with another channel of each head, which is 0.
GraphWriter::Tensor GatedAttention::with_spare_channels(const std::string &name, const std::string &projection,
                                                        const GraphWriter::Tensor &x) const {
    const std::string weight = projection + ".weight", bias = projection + ".bias";
    graph_.require(weight, {width_, width_});
    graph_.require(bias, {width_});
    const int64_t outputs = heads_ * (head_ + 1);
    const auto spread = [heads = Heads{static_cast<size_t>(heads_), static_cast<size_t>(head_)}](
                            const ValuesOf &from, std::span<float> to) { spread_rows(heads, from[0], to); };
    add(name + ".weight", {outputs, width_}, {weight}, spread);
    add(name + ".bias", {outputs}, {bias}, spread);
    return graph_.linear(name, x, {.outputs = outputs});
}

GraphWriter::Tensor GatedAttention::attended(const std::string &module, const GraphWriter::Tensor &x,
                                             const GraphWriter::Tensor &lengths,
                                             const GraphWriter::Tensor &residual) const {
    const int64_t channels = heads_ * (head_ + 1);
    const GraphWriter::Tensor q =
        graph_.layer(module + ".queries", "concat",
                     {{"a", graph_.linear(module + ".q_proj", x, {})}, {"b", gates(module, x)}}, {{"groups", heads_}});
    graph_.set_channels(q, channels);
    const GraphWriter::Tensor k = with_spare_channels(module + ".keys", module + ".k_proj", x),
                              v = with_spare_channels(module + ".values", module + ".v_proj", x);
    const GraphWriter::Tensor found = graph_.layer(
        module + ".heads", "disentangled_attention", {{"q", q}, {"k", k}, {"v", v}, {"key_lengths", lengths}},
        {{"heads", heads_}, {"scale", 1 / std::sqrt(static_cast<double>(head_))}}, {{"pos_key", distances_}});
    // The channel that no head needs has a column of zeros in the projection.
    const std::string out = module + ".out_proj", made = out + ".spread.weight";
    graph_.require(out + ".weight", {width_, width_});
    add(made, {width_, channels}, {out + ".weight"},
        [heads = Heads{static_cast<size_t>(heads_), static_cast<size_t>(head_)}](
            const ValuesOf &from, std::span<float> to) { spread_columns(heads, from[0], to); });
    return graph_.linear(out, found, {.residual = residual, .weight = made});
}

} // namespace lamina::architectures
