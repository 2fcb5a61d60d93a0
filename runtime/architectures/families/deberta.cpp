// DeBERTa (He et al., arXiv:2006.03654), its second version, and its third, which is built as the second
// (arXiv:2111.09543), with the heads of their published models: scores also depend on the distances of tokens.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/made_weights.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "deberta";

// "P2C | c2p" -> p2c, c2p
std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> out;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find('|', at), text.size());
        std::string &part = out.emplace_back(text.substr(at, end - at));
        std::erase(part, ' ');
        std::ranges::transform(part, part.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        at = end + 1;
    }
    return out;
}

class Deberta {
  public:
    // `first`: of the first version.
    Deberta(Draft &draft, bool first)
        : draft_(draft), first_(first), config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          activation_(config_.activation("hidden_act")), eps_(config_.real("layer_norm_eps")),
          width_(config_.positive("hidden_size")), heads_(config_.positive("num_attention_heads")),
          embedded_(or_width("embedding_size")), terms_(terms()), by_key_(has_term("c2p")), by_query_(has_term("p2c")),
          relative_(config_.flag("relative_attention")), shared_(!first && config_.flag("share_att_key")) {
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads", "expected a divisor of hidden_size, " + std::to_string(width_));
        const auto expect = [&](const char *key, int64_t value) {
            if (config_.states(key)) config_.expect(key, static_cast<double>(value));
        };
        expect("pooler_hidden_size", width_);
        if (first_)
            config_.expect("talking_head", false);
        else
            expect("attention_head_size", width_ / heads_);
        read_distances();
    }

    void build() {
        const int64_t layers = config_.layers("num_hidden_layers");
        const Tensor embedded = embeddings();
        Tensor x = embedded;
        for (int64_t i = 0; i < layers; ++i) {
            x = layer(i, x);
            if (i == 0 && !first_) x = convolved(embedded, x);
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
    bool first_;
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    std::string activation_;
    double eps_;
    int64_t width_, heads_, embedded_;
    std::vector<std::string> terms_; // "pos_att_type"
    bool by_key_, by_query_;         // what scores have for distances: a product with the query, one with the key
    bool relative_, shared_;         // whether they have any; whether projections of tokens are also those of distances
    int64_t span_ = 0, max_distance_ = 0;
    std::optional<model::Weight> distances_ = {}; // a row each (2 span, C); none: they are not needed

    [[nodiscard]] int64_t or_width(const char *key) const { return config_.has(key) ? config_.positive(key) : width_; }

    // Of a key that may have a number below 0 for none.
    [[nodiscard]] int64_t number(const char *key) const {
        const auto given = config_.find(key);
        if (!given) config_.fail(key, "null is not a number");
        return given->integer(-INT32_MAX, INT32_MAX);
    }
    [[nodiscard]] std::vector<std::string> terms() const {
        const auto given = config_.find("pos_att_type");
        if (!given) return {};
        return given->is_string() ? parts_of(given->string()) : config_.texts("pos_att_type");
    }
    [[nodiscard]] bool has_term(std::string_view term) const { return std::ranges::find(terms_, term) != terms_.end(); }

    void read_distances() {
        bool normalized = false;
        if (!first_) {
            const std::vector<std::string> changes = parts_of(config_.text("norm_rel_ebd"));
            normalized = std::ranges::find(changes, "layer_norm") != changes.end();
        }
        const std::string table = "deberta.encoder.rel_embeddings.weight", norm = "deberta.encoder.LayerNorm";
        if (normalized)
            for (const char *part : {".weight", ".bias"}) {
                graph_.require(norm + part, {width_});
                draft_.unused.insert(norm + part);
            }
        const int64_t buckets = first_ ? 0 : number("position_buckets"), farthest = number("max_relative_positions"),
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
        if (first_) rename(name);
        const Tensor q = graph_.linear(name + ".query_proj", x, {}),
                     k = graph_.linear(name + ".key_proj", x, {.biased = !first_}),
                     v = graph_.linear(name + ".value_proj", x, {});
        // Of the products that are named, even if scores lack some.
        const int64_t channels = width_ / heads_, products = first_ ? 1 + std::ssize(terms_) : 1 + by_key_ + by_query_;
        const double scale = 1 / std::sqrt(static_cast<double>(channels * products));
        if (!distances_)
            return graph_.attention(
                name, q, k, v,
                {.heads = heads_, .kv_heads = heads_, .scale = scale, .key_lengths = encoder_.lengths()});
        if (by_key_) add_distances(name + ".pos_key", name + (shared_ ? ".key_proj" : ".pos_key_proj"), !first_);
        if (by_query_) add_distances(name + ".pos_query", name + (shared_ ? ".query_proj" : ".pos_query_proj"), true);
        return graph_.layer(
            name, "disentangled_attention", {{"q", q}, {"k", k}, {"v", v}, {"key_lengths", encoder_.lengths()}},
            {{"heads", heads_}, {"scale", scale}, {"max_distance", max_distance_}}, distance_weights(name));
    }
    // Gives what the first version has the names of the second.
    void rename(const std::string &name) {
        split_heads(
            draft_, graph_, name + ".in_proj",
            {.inputs = width_,
             .parts = {{name + ".query_proj", width_}, {name + ".key_proj", width_}, {name + ".value_proj", width_}}},
            heads_);
        const auto rename_one = [&](const char *from, const char *to, const Shape &shape) {
            graph_.require(name + from, shape);
            draft_.weights.add(name + to, draft_.weights.at(name + from));
            draft_.unused.insert(name + from);
        };
        rename_one(".q_bias", ".query_proj.bias", {width_});
        rename_one(".v_bias", ".value_proj.bias", {width_});
        if (relative_ && by_key_) rename_one(".pos_proj.weight", ".pos_key_proj.weight", {width_, width_});
        if (!relative_ || !by_query_) return;
        rename_one(".pos_q_proj.weight", ".pos_query_proj.weight", {width_, width_});
        rename_one(".pos_q_proj.bias", ".pos_query_proj.bias", {width_});
    }
    [[nodiscard]] Json distance_weights(const std::string &name) const {
        Json out = Json::object();
        if (by_key_) out["pos_key"] = name + ".pos_key";
        if (by_query_) out["pos_query"] = name + ".pos_query";
        return out;
    }
    // A weight: what a projection makes of all distances. It is the same for all texts.
    void add_distances(const std::string &name, const std::string &projection, bool biased) {
        const std::string weight = projection + ".weight", bias = projection + ".bias";
        graph_.require(weight, {width_, width_});
        graph_.require(bias, {width_}, biased);
        draft_.weights.add(name, projected_rows(*distances_, draft_.weights.at(weight),
                                                biased ? std::optional(draft_.weights.at(bias)) : std::nullopt));
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
    static constexpr std::array<Architecture, 2> kinds{
        {{"deberta", [](Draft &draft) { Deberta(draft, true).build(); }, {}, base},
         {"deberta-v2", [](Draft &draft) { Deberta(draft, false).build(); }, {}, base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
