// Longformer (Beltagy et al., arXiv:2004.05150): RoBERTa with a window on both sides of each token, for long texts.
// Some first tokens may be global: they see all tokens, by products of their own, and all tokens see them.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr const char *base = "longformer";

class Longformer {
  public:
    explicit Longformer(Draft &draft)
        : draft_(draft), config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          width_(config_.positive("hidden_size")), heads_(config_.positive("num_attention_heads")),
          layers_(config_.layers("num_hidden_layers")), hidden_(config_.positive("intermediate_size")),
          activation_(config_.activation("hidden_act")), eps_(config_.real("layer_norm_eps")), windows_(windows()) {
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads",
                         "expected a number that divides the hidden_size, " + std::to_string(width_));
    }

    void build() {
        const EncoderGraph::Heads heads{.table = prefix() + "embeddings.word_embeddings.weight",
                                        .words = {.dense = "lm_head.dense",
                                                  .norm = "lm_head.layer_norm",
                                                  .activation = "gelu",
                                                  .channels = width_,
                                                  .weight = "lm_head.decoder.weight",
                                                  .bias = "lm_head.bias",
                                                  .other_bias = "lm_head.decoder.bias"},
                                        .eps = eps_,
                                        .pooler = prefix() + "pooler.dense",
                                        .dense = "classifier.dense",
                                        .out = "classifier.out_proj"};
        const Tensor global = global_tokens(encoder_.task(heads));
        Tensor x = embeddings();
        for (int64_t i = 0; i < layers_; ++i) x = layer(i, x, global);
        encoder_.add_outputs(x, heads);
    }

  private:
    Draft &draft_;
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    int64_t width_, heads_, layers_, hidden_;
    std::string activation_;
    double eps_;
    std::vector<int64_t> windows_; // of layers: keys that a query attends to on each side, including its own position

    [[nodiscard]] const std::string &prefix() const { return encoder_.prefix(); }

    // "attention_window" counts the neighbours on both sides, of all layers or of each.
    [[nodiscard]] std::vector<int64_t> windows() const {
        constexpr const char *key = "attention_window";
        const auto given = config_.find(key);
        if (layers_ == 0) config_.fail("num_hidden_layers", "expected at least 1, found 0");
        if (!given) config_.fail(key, "expected an even number, or a list of one for each layer; found null");
        const auto window = [](JsonView value) {
            const int64_t both = value.integer(4, INT32_MAX); // transformers fails with 2
            if (both % 2 != 0) value.fail("expected an even number, found " + std::to_string(both));
            return both / 2 + 1;
        };
        std::vector<int64_t> out;
        if (given->is_list())
            for (const JsonView each : given->items()) out.push_back(window(each));
        else
            out.assign(static_cast<size_t>(layers_), window(*given));
        if (static_cast<int64_t>(out.size()) != layers_)
            config_.fail(key, "expected " + std::to_string(layers_) +
                                  " entries, one for each of num_hidden_layers; found " + std::to_string(out.size()));
        // transformers pads texts to multiples of the largest, which layers with others then refuse.
        const int64_t most = std::ranges::max(out) - 1;
        for (const int64_t each : out)
            if (most % (each - 1) != 0)
                config_.fail(key, "expected numbers that divide the largest, " + std::to_string(2 * most) + "; found " +
                                      std::to_string(2 * (each - 1)));
        return out;
    }

    // How many first tokens are global, by the task: the first of a text with a class, and those of a question. Empty:
    // none are.
    [[nodiscard]] Tensor global_tokens(Task task) const {
        if (task != Task::answers) config_.ignore({"sep_token_id"});
        if (task != Task::answers && task != Task::texts) return "";
        const Json which = task == Task::texts ? Json{{"most", 1}} : Json{{"until", separator()}};
        return graph_.layer(prefix() + "global", "first_tokens",
                            {{"ids", encoder_.ids()}, {"lengths", encoder_.lengths()}}, which);
    }
    [[nodiscard]] int64_t separator() const {
        const int64_t id = config_.is_null("sep_token_id") ? -1 : config_.integer("sep_token_id");
        if (id < 0)
            config_.fail("sep_token_id", "expected the token after a question, which decides what its tokens see");
        return id;
    }

    [[nodiscard]] Tensor embeddings() const {
        const Tensor all =
            encoder_.embeddings({.channels = width_, .first_position = config_.integer("pad_token_id") + 1});
        return graph_.layer_norm(prefix() + "embeddings.LayerNorm", all, {.eps = eps_});
    }

    [[nodiscard]] Tensor layer(int64_t number, const Tensor &x, const Tensor &global) const {
        const std::string name = prefix() + "encoder.layer." + std::to_string(number), attention = name + ".attention",
                          self = attention + ".self.";
        const auto projected = [&](const char *part) { return graph_.linear(self + part, x, {}); };
        Tensor attended =
            graph_.attention(attention + ".heads", projected("query"), projected("key"), projected("value"),
                             {.heads = heads_,
                              .kv_heads = heads_,
                              .window = windows_[static_cast<size_t>(number)],
                              .two_sided = true,
                              .key_lengths = encoder_.lengths(),
                              .first_keys = global});
        if (global.empty()) {
            leave_out(self);
        } else {
            const Tensor all = graph_.attention(
                attention + ".global_heads", projected("query_global"), projected("key_global"),
                projected("value_global"),
                {.heads = heads_, .kv_heads = heads_, .key_lengths = encoder_.lengths(), .query_lengths = global});
            attended = graph_.layer(attention + ".chosen", "select",
                                    {{"x", attended}, {"other", all}, {"mask", global + ".mask"}});
        }
        const Tensor out = graph_.linear(attention + ".output.dense", attended, {.residual = x}),
                     tokens = graph_.layer_norm(attention + ".output.LayerNorm", out, {.eps = eps_});
        const Tensor fed = graph_.feed_forward(name, tokens,
                                               {.hidden = hidden_,
                                                .activation = activation_,
                                                .up = "intermediate.dense",
                                                .down = "output.dense",
                                                .residual = tokens});
        return graph_.layer_norm(name + ".output.LayerNorm", fed, {.eps = eps_});
    }

    // The products of global tokens, where there are none.
    void leave_out(const std::string &self) const {
        for (const char *part : {"query_global", "key_global", "value_global"}) {
            graph_.require(self + part + ".weight", {width_, width_});
            graph_.require(self + part + ".bias", {width_});
            draft_.unused.insert({self + part + ".weight", self + part + ".bias"});
        }
    }
};

} // namespace

namespace families {

std::span<const Architecture> longformer() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"longformer", [](Draft &draft) { Longformer(draft).build(); }, {}, base},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
