// DeBERTa v2 and v3 (He et al., arXiv:2006.03654 and arXiv:2111.09543), with the heads of their published models:
// scores also depend on the distances of tokens.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/made_weights.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "deberta";

class Deberta {
  public:
    explicit Deberta(Draft &draft)
        : draft_(draft), config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          activation_(config_.activation("hidden_act")), eps_(config_.real("layer_norm_eps")),
          width_(config_.positive("hidden_size")), heads_(config_.positive("num_attention_heads")),
          embedded_(or_width("embedding_size")), by_key_(has_term("c2p")), by_query_(has_term("p2c")),
          relative_(config_.flag("relative_attention")), shared_(config_.flag("share_att_key")) {
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads", "expected a divisor of hidden_size, " + std::to_string(width_));
        for (const char *key : {"attention_head_size", "pooler_hidden_size"}) {
            const int64_t wanted = key == std::string_view("pooler_hidden_size") ? width_ : width_ / heads_;
            if (config_.states(key)) config_.expect(key, static_cast<double>(wanted));
        }
        read_distances();
    }

    void build() {
        const int64_t layers = config_.layers("num_hidden_layers");
        const Tensor embedded = embeddings();
        Tensor x = embedded;
        for (int64_t i = 0; i < layers; ++i) {
            x = layer(i, x);
            if (i == 0) x = convolved(embedded, x);
        }
        const bool old_words = config_.flag("legacy");
        const std::string words = old_words ? "cls.predictions." : "lm_predictions.lm_head.",
                          transform = old_words ? words + "transform." : words;
        encoder_.add_outputs(x, {.table = "deberta.embeddings.word_embeddings.weight",
                                 .words = {.dense = transform + "dense",
                                           .norm = transform + "LayerNorm",
                                           .activation = activation_,
                                           .channels = old_words ? embedded_ : width_,
                                           .weight = old_words ? words + "decoder.weight" : "",
                                           .bias = words + "bias",
                                           .other_bias = old_words ? words + "decoder.bias" : ""},
                                 .eps = eps_,
                                 .dense = "pooler.dense",
                                 .activation = config_.activation("pooler_hidden_act")});
    }

  private:
    Draft &draft_;
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    std::string activation_;
    double eps_;
    int64_t width_, heads_, embedded_;
    bool by_key_, by_query_; // what scores have for distances: a product with the query, one with the key
    bool relative_, shared_; // whether they have any; whether projections of tokens are also those of distances
    int64_t span_ = 0, max_distance_ = 0;
    std::optional<model::Weight> distances_ = {}; // a row each (2 span, C); none: they are not needed

    [[nodiscard]] int64_t or_width(const char *key) const { return config_.has(key) ? config_.positive(key) : width_; }

    // Of a key that may have a number below 0 for none.
    [[nodiscard]] int64_t number(const char *key) const {
        const auto given = config_.find(key);
        if (!given) config_.fail(key, "null is not a number");
        return given->integer(-INT32_MAX, INT32_MAX);
    }
    // "p2c|c2p", or a list of such.
    [[nodiscard]] bool has_term(std::string_view term) const {
        const auto given = config_.find("pos_att_type");
        if (!given) return false;
        if (!given->is_string()) {
            const std::vector<std::string> all = config_.texts("pos_att_type");
            return std::ranges::find(all, term) != all.end();
        }
        return names(given->string(), term);
    }
    // Whether a text as "p2c | c2p" names it.
    [[nodiscard]] static bool names(std::string_view text, std::string_view term) {
        for (size_t at = 0; at <= text.size();) {
            const size_t end = std::min(text.find('|', at), text.size());
            std::string part(text.substr(at, end - at));
            std::erase(part, ' ');
            std::ranges::transform(part, part.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            if (part == term) return true;
            at = end + 1;
        }
        return false;
    }

    void read_distances() {
        const bool normalized = names(config_.text("norm_rel_ebd"), "layer_norm");
        const std::string table = "deberta.encoder.rel_embeddings.weight", norm = "deberta.encoder.LayerNorm";
        if (normalized)
            for (const char *part : {".weight", ".bias"}) {
                graph_.require(norm + part, {width_});
                draft_.unused.insert(norm + part);
            }
        const int64_t buckets = number("position_buckets"), farthest = number("max_relative_positions"),
                      longest = config_.positive("max_position_embeddings");
        if (!relative_) return;
        span_ = farthest < 1 ? longest : farthest;
        if (buckets > 0) {
            max_distance_ = span_, span_ = buckets;
            if (buckets < 2 || max_distance_ - 1 <= buckets / 2)
                config_.fail("position_buckets",
                             std::to_string(buckets) + " buckets cannot be for distances up to " +
                                 std::to_string(max_distance_) +
                                 "; expected at least 2, and distances beyond half as many as there are buckets");
        }
        graph_.require(table, {2 * span_, width_});
        draft_.unused.insert(table);
        if (!by_key_ && !by_query_) return;
        distances_ = draft_.weights.at(table);
        if (normalized)
            distances_ = normalized_rows(*distances_, draft_.weights.at(norm + ".weight"),
                                         draft_.weights.at(norm + ".bias"), eps_);
    }

    Tensor embeddings() {
        const std::string name = "deberta.embeddings.";
        Tensor x = graph_.embedding(name + "word_embeddings", encoder_.ids(),
                                    {.rows = config_.positive("vocab_size"), .channels = embedded_});
        if (config_.flag("position_biased_input"))
            x = graph_.learned_positions(name + "position_embeddings", x, "",
                                         config_.positive("max_position_embeddings"));
        else
            draft_.unused.insert(name + "position_embeddings.weight");
        if (const int64_t types = config_.integer("type_vocab_size"); types > 0)
            x = graph_.embedding(name + "token_type_embeddings", encoder_.token_types(),
                                 {.rows = types, .channels = embedded_, .residual = x});
        if (embedded_ != width_) x = graph_.linear(name + "embed_proj", x, {.outputs = width_, .biased = false});
        return graph_.layer_norm(name + "LayerNorm", x, {.eps = eps_});
    }

    Tensor layer(int64_t i, const Tensor &x) {
        const std::string name = "deberta.encoder.layer." + std::to_string(i);
        const Tensor out =
            graph_.linear(name + ".attention.output.dense", attended(name + ".attention.self", x), {.residual = x});
        const Tensor tokens = graph_.layer_norm(name + ".attention.output.LayerNorm", out, {.eps = eps_});
        const Tensor fed = graph_.feed_forward(name, tokens,
                                               {.hidden = config_.positive("intermediate_size"),
                                                .activation = activation_,
                                                .up = "intermediate.dense",
                                                .down = "output.dense",
                                                .residual = tokens});
        return graph_.layer_norm(name + ".output.LayerNorm", fed, {.eps = eps_});
    }

    Tensor attended(const std::string &name, const Tensor &x) {
        const Tensor q = graph_.linear(name + ".query_proj", x, {}), k = graph_.linear(name + ".key_proj", x, {}),
                     v = graph_.linear(name + ".value_proj", x, {});
        const int64_t channels = width_ / heads_, products = 1 + by_key_ + by_query_; // even if scores lack some
        const double scale = 1 / std::sqrt(static_cast<double>(channels * products));
        if (!distances_)
            return graph_.attention(
                name, q, k, v,
                {.heads = heads_, .kv_heads = heads_, .scale = scale, .key_lengths = encoder_.lengths()});
        if (by_key_) add_distances(name + ".pos_key", name + (shared_ ? ".key_proj" : ".pos_key_proj"));
        if (by_query_) add_distances(name + ".pos_query", name + (shared_ ? ".query_proj" : ".pos_query_proj"));
        return graph_.layer(
            name, "disentangled_attention", {{"q", q}, {"k", k}, {"v", v}, {"key_lengths", encoder_.lengths()}},
            {{"heads", heads_}, {"scale", scale}, {"max_distance", max_distance_}}, distance_weights(name));
    }
    [[nodiscard]] Json distance_weights(const std::string &name) const {
        Json out = Json::object();
        if (by_key_) out["pos_key"] = name + ".pos_key";
        if (by_query_) out["pos_query"] = name + ".pos_query";
        return out;
    }
    // A weight: what a projection makes of all distances. It is the same for all texts.
    void add_distances(const std::string &name, const std::string &projection) {
        const std::string weight = projection + ".weight", bias = projection + ".bias";
        graph_.require(weight, {width_, width_});
        graph_.require(bias, {width_});
        draft_.weights.add(name, projected_rows(*distances_, draft_.weights.at(weight), draft_.weights.at(bias)));
        if (!shared_) draft_.unused.insert({weight, bias});
    }

    // What the largest models add to the first layer: a convolution of the embeddings.
    Tensor convolved(const Tensor &embedded, const Tensor &first) {
        const int64_t kernel = number("conv_kernel_size"), groups = config_.positive("conv_groups");
        const std::string activation = config_.activation("conv_act"), name = "deberta.encoder.conv";
        if (kernel <= 0) return first;
        if (kernel % 2 == 0)
            config_.fail("conv_kernel_size", "expected an odd number, found " + std::to_string(kernel));
        if (width_ % groups != 0)
            config_.fail("conv_groups", "expected a divisor of hidden_size, " + std::to_string(width_));
        graph_.require(name + ".conv.weight", {width_, width_ / groups, kernel});
        graph_.require(name + ".conv.bias", {width_});
        const Tensor added = graph_.layer(name + ".conv", "grouped_conv1d",
                                          {{"x", embedded}, {"lengths", encoder_.lengths()}, {"residual", first}},
                                          {{"groups", groups}, {"padding", kernel / 2}, {"activation", activation}},
                                          {{"weight", name + ".conv.weight"}, {"bias", name + ".conv.bias"}});
        return graph_.layer_norm(name + ".LayerNorm", added, {.eps = eps_});
    }
};

} // namespace

namespace families {

std::span<const Architecture> deberta() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"deberta-v2", [](Draft &draft) { Deberta(draft).build(); }, {}, base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
