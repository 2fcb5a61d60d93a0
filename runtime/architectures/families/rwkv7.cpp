// RWKV-7 "Goose" (Peng et al., arXiv:2503.14456), whose layers have a memory for each head instead of attention, as
// flash-linear-attention writes it (fla/models/rwkv7).
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_weights.hpp"
#include "architectures/rwkv_tokenizer.hpp"
#include "architectures/special_tokens.hpp"
#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Sizes {
    int64_t width, heads, hidden;
    double norm_eps, recalled_eps, key_eps;
    bool norm_biased;
};

// Without "intermediate_size", it follows from the ratio, as a multiple of 32 (RWKV7FeedForward).
int64_t hidden_of(const Config &config, int64_t width) {
    if (config.has("intermediate_size")) {
        config.ignore({"hidden_ratio"});
        return config.positive("intermediate_size");
    }
    config.ignore({"intermediate_size"});
    const double ratio = config.is_null("hidden_ratio") ? 4 : config.real("hidden_ratio"),
                 channels = ratio * static_cast<double>(width);
    if (!(channels >= 1 && channels <= INT32_MAX - 31)) config.fail("hidden_ratio", "expected a ratio such as 4");
    return (static_cast<int64_t>(channels) + 31) / 32 * 32;
}

int64_t head_dim_of(const Draft &draft, int64_t width) {
    const Config &config = draft.config;
    const char *const key = draft.gguf ? "head_size" : config.is_null("head_dim") ? "num_heads" : "head_dim";
    config.ignore({"head_dim", "num_heads", "num_attention_heads"}); // that do not count
    const int64_t found = config.positive(key);
    if (width % found != 0)
        config.fail(key,
                    "expected a divisor of hidden_size, " + std::to_string(width) + ", found " + std::to_string(found));
    return key == std::string_view("num_heads") ? width / found : found;
}

Sizes sizes_of(const Draft &draft) {
    const Config &config = draft.config;
    const int64_t width = config.positive("hidden_size");
    const int64_t head_dim = head_dim_of(draft, width);
    Sizes out{.width = width,
              .heads = width / head_dim,
              .hidden = draft.gguf ? config.positive("intermediate_size") : hidden_of(config, width),
              .norm_eps = config.real("norm_eps"),
              .recalled_eps = static_cast<double>(head_dim) * config.real("norm_eps"), // llama.cpp: that of 64 channels
              .key_eps = 1e-24, // keys have at least the length 1e-12
              .norm_biased = draft.gguf || config.flag("norm_bias")};
    // What these say is in the shapes of weights.
    config.ignore({"a_low_rank_dim", "decay_low_rank_dim", "gate_low_rank_dim", "v_low_rank_dim"});
    if (draft.gguf) {
        config.expect("token_shift_count", 2.0);
        return out;
    }
    config.expect("norm_first", true);
    if (config.flag("fuse_norm")) out.key_eps = 1e-6; // l2norm.py, l2norm_fwd
    if (config.has("attn")) config.fail("attn", "layers with attention are not supported; expected null");
    if (const auto value_dim = config.find("value_dim")) {
        const auto expect_width = [&](const JsonView &found) {
            if (found.integer(0, INT32_MAX) != width)
                config.fail("value_dim", "values of another size than hidden_size are not supported; expected " +
                                             std::to_string(width) + ", found " + found.description());
        };
        if (!value_dim->is_list()) expect_width(*value_dim);
        if (value_dim->is_list())
            for (const JsonView item : value_dim->items()) expect_width(item);
    }
    return out;
}

class Layers {
  public:
    Layers(Draft &draft, const DecoderGraph &decoder, const Sizes &sizes)
        : draft_(draft), decoder_(decoder), graph_(decoder.graph()), sizes_(sizes) {}

    [[nodiscard]] Tensor norm(const std::string &module, const Tensor &x) const {
        return graph_.layer_norm(module, x, {.eps = sizes_.norm_eps, .biased = sizes_.norm_biased});
    }

    // Instead of attention. `first`: the values of the first layer; empty: this is it, and says them.
    [[nodiscard]] Tensor mix(const std::string &module, const Tensor &x, const Tensor &residual, Tensor &first) const {
        const auto shifted_by = [&](const char *letter) { return shifted(module, x, letter); };
        const auto product = [&](const char *name, const Tensor &of) {
            return graph_.linear(module + name, of, {.outputs = sizes_.width, .biased = false});
        };
        const Tensor query = product(".r_proj", shifted_by("r")), key = product(".k_proj", shifted_by("k")),
                     of_values = shifted_by("v"), value = product(".v_proj", of_values);
        const bool is_first = first.empty();
        const std::string shares = module + ".v_lora";
        if (is_first) first = value;
        if (is_first) leave_out(shares);
        return graph_.linear(
            module + ".o_proj",
            graph_.layer(module + ".wkv", "wkv7",
                         {{"query", query},
                          {"fading", low_rank(module + ".w_lora", shifted_by("w"), "tanh")},
                          {"key", key},
                          {"value", value},
                          {"rate", low_rank(module + ".a_lora", shifted_by("a"))},
                          {"gate", gate(module + ".g_lora", shifted_by("g"))},
                          {"first_value", is_first ? Tensor() : first},
                          {"first_share", is_first ? Tensor() : low_rank(shares, of_values)},
                          {"position", decoder_.position()},
                          {"lengths", decoder_.target_lengths()}},
                         {{"heads", sizes_.heads}, {"eps", sizes_.recalled_eps}, {"key_eps", sizes_.key_eps}},
                         weights(module)),
            {.residual = residual, .biased = false});
    }

    [[nodiscard]] Tensor feed(const std::string &module, const Tensor &x, const Tensor &residual,
                              const std::string &activation) const {
        return graph_.feed_forward(module, shifted(module, x, "k"),
                                   {.hidden = sizes_.hidden,
                                    .activation = activation,
                                    .up = "key",
                                    .down = "value",
                                    .residual = residual,
                                    .biased = false});
    }

  private:
    Draft &draft_;
    const DecoderGraph &decoder_;
    GraphWriter &graph_;
    Sizes sizes_;

    // How a file calls a tensor without a module of its own.
    [[nodiscard]] std::string stored_as(const std::string &name) const { return draft_.gguf ? name + ".weight" : name; }
    // Such a tensor. Any shape of as many values will do.
    [[nodiscard]] model::Weight bare(const std::string &name, const Shape &shape) const {
        const std::string stored = stored_as(name);
        int64_t expected = 1, found = 1;
        for (const int64_t dim : shape) expected *= dim;
        if (draft_.weights.entries().contains(stored))
            for (const int64_t dim : draft_.weights.at(stored).type.shape) found *= dim;
        if (expected != found) graph_.require(stored, shape); // says what is wrong
        draft_.unused.insert(stored);
        return draft_.weights.at(stored).shaped(shape);
    }
    [[nodiscard]] std::string vector(const std::string &name, const std::string &stored) const {
        draft_.weights.add(name, bare(stored, {sizes_.width}));
        return name;
    }
    void leave_out(const std::string &module) const {
        for (const char *name : {".lora.0.weight", ".lora.2.weight", ".lora.2.bias", ".lora.2.bias.weight"})
            draft_.unused.insert(module + name);
    }

    // Each channel between the token and the one before: x + (before - x) * share.
    [[nodiscard]] Tensor shifted(const std::string &module, const Tensor &x, const std::string &letter) const {
        constexpr std::string_view together = "rwkvag"; // the order of MODULE.x_x, which has them all
        const std::string all = module + ".x_x", name = module + ".shifted_" + letter;
        const model::Weight share =
            draft_.weights.entries().contains(stored_as(all))
                ? part_of(bare(all, {static_cast<int64_t>(together.size()), sizes_.width}),
                          static_cast<int64_t>(together.find(letter)), static_cast<int64_t>(together.size()))
                      .shaped({sizes_.width})
                : bare(module + ".x_" + letter, {sizes_.width});
        draft_.weights.add(name + ".weight",
                           made_of_values({sizes_.width, 2}, {share}, [](const ValuesOf &of, std::span<float> to) {
                               for (size_t i = 0; i < of[0].size(); ++i)
                                   to[2 * i] = of[0][i], to[2 * i + 1] = 1 - of[0][i];
                           }));
        return graph_.layer(name, "causal_conv1d",
                            {{"x", x}, {"position", decoder_.position()}, {"lengths", decoder_.target_lengths()}});
    }

    [[nodiscard]] int64_t rank_of(const std::string &module) const {
        const std::string name = module + ".lora.0.weight";
        const auto found = draft_.weights.entries().find(name);
        const bool is_matrix = found != draft_.weights.entries().end() && found->second.type.shape.size() == 2;
        const int64_t rank = is_matrix ? found->second.type.shape.front() : 0;
        if (rank < 1) graph_.require(name, {1, sizes_.width}); // says what is wrong
        return rank;
    }
    // lora.2(activation(lora.0(x))); the second has a bias.
    [[nodiscard]] Tensor low_rank(const std::string &module, const Tensor &x, const char *activation = nullptr) const {
        const int64_t rank = rank_of(module);
        const std::string bias = vector(module + ".bias", module + ".lora.2.bias");
        Tensor inner = graph_.linear(module + ".lora.0", x, {.outputs = rank, .biased = false});
        if (activation != nullptr)
            inner = graph_.layer(module + ".activated", "activation", {{"x", inner}}, {{"activation", activation}});
        return graph_.linear(module + ".lora.2", inner, {.outputs = sizes_.width, .bias = bias});
    }
    [[nodiscard]] Tensor gate(const std::string &module, const Tensor &x) const {
        return graph_.feed_forward(
            module, x,
            {.hidden = rank_of(module), .activation = "sigmoid", .up = "lora.0", .down = "lora.2", .biased = false});
    }

    [[nodiscard]] Json weights(const std::string &module) const {
        for (const char *name : {".weight", ".bias"}) graph_.require(module + ".g_norm" + name, {sizes_.width});
        return {{"old_key", vector(module + ".wkv.old_key", module + ".k_k")},
                {"key_rate", vector(module + ".wkv.key_rate", module + ".k_a")},
                {"bonus", vector(module + ".wkv.bonus", module + ".r_k")},
                {"weight", module + ".g_norm.weight"},
                {"bias", module + ".g_norm.bias"}};
    }
};

// With RWKV's own list of tokens, config.json has ids of another: token 0 ends a text, and the one that
// tokenizer_config.json calls so, such as "\n\n" in conversations.
void add_ends(Draft &draft) {
    if (draft.gguf || !draft.texts || !draft.texts->tokenizer || rwkv_vocabulary(draft.folder).empty()) return;
    std::vector<int32_t> ends{0};
    if (const std::string end = named_token(draft.folder, "eos_token"); !end.empty()) {
        const std::vector<int32_t> ids = draft.texts->tokenizer->encode(end, {.add_special_tokens = false}).ids;
        if (ids.size() == 1) ends.push_back(ids.front());
    }
    for (const int32_t id : ends)
        if (std::ranges::find(draft.tokens.end, id) == draft.tokens.end.end()) draft.tokens.end.push_back(id);
}

void build(Draft &draft) {
    add_ends(draft);
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), vocabulary = config.positive("vocab_size");
    const Sizes sizes = sizes_of(draft);
    const std::string named = draft.gguf ? "sqrelu" : config.text("hidden_act"),
                      activation = named == "sqrelu" ? "relu2" : config.activation("hidden_act");
    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const Layers make(draft, decoder, sizes);
    const std::string table = "model.embeddings";
    Tensor x = make.norm("model.layers.0.pre_norm",
                         graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = sizes.width})),
           first;
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        x = make.mix(layer + ".attn", make.norm(layer + ".attn_norm", x), x, first);
        x = make.feed(layer + ".ffn", make.norm(layer + ".ffn_norm", x), x, activation);
    }
    decoder.add_outputs(make.norm("model.norm", x), {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 28> tensors{{
    {"token_embd", "model.embeddings"},
    {"token_embd_norm", "model.layers.0.pre_norm"},
    {"output_norm", "model.norm"},
    {"blk.{i}.attn_norm", "model.layers.{i}.attn_norm"},
    {"blk.{i}.attn_norm_2", "model.layers.{i}.ffn_norm"},
    {"blk.{i}.time_mix_lerp_fused", "model.layers.{i}.attn.x_x"},
    {"blk.{i}.time_mix_receptance", "model.layers.{i}.attn.r_proj"},
    {"blk.{i}.time_mix_key", "model.layers.{i}.attn.k_proj"},
    {"blk.{i}.time_mix_value", "model.layers.{i}.attn.v_proj"},
    {"blk.{i}.time_mix_output", "model.layers.{i}.attn.o_proj"},
    {"blk.{i}.time_mix_ln", "model.layers.{i}.attn.g_norm"},
    {"blk.{i}.time_mix_k_k", "model.layers.{i}.attn.k_k"},
    {"blk.{i}.time_mix_k_a", "model.layers.{i}.attn.k_a"},
    {"blk.{i}.time_mix_r_k", "model.layers.{i}.attn.r_k"},
    {"blk.{i}.time_mix_w0", "model.layers.{i}.attn.w_lora.lora.2.bias"},
    {"blk.{i}.time_mix_w1", "model.layers.{i}.attn.w_lora.lora.0"},
    {"blk.{i}.time_mix_w2", "model.layers.{i}.attn.w_lora.lora.2"},
    {"blk.{i}.time_mix_a0", "model.layers.{i}.attn.a_lora.lora.2.bias"},
    {"blk.{i}.time_mix_a1", "model.layers.{i}.attn.a_lora.lora.0"},
    {"blk.{i}.time_mix_a2", "model.layers.{i}.attn.a_lora.lora.2"},
    {"blk.{i}.time_mix_v0", "model.layers.{i}.attn.v_lora.lora.2.bias"},
    {"blk.{i}.time_mix_v1", "model.layers.{i}.attn.v_lora.lora.0"},
    {"blk.{i}.time_mix_v2", "model.layers.{i}.attn.v_lora.lora.2"},
    {"blk.{i}.time_mix_g1", "model.layers.{i}.attn.g_lora.lora.0"},
    {"blk.{i}.time_mix_g2", "model.layers.{i}.attn.g_lora.lora.2"},
    {"blk.{i}.channel_mix_lerp_k", "model.layers.{i}.ffn.x_k"},
    {"blk.{i}.channel_mix_key", "model.layers.{i}.ffn.key"},
    {"blk.{i}.channel_mix_value", "model.layers.{i}.ffn.value"},
}};
constexpr std::array<SettingName, 7> settings{{
    {"attention.layer_norm_epsilon", "norm_eps"},
    {"attention.decay_lora_rank", "decay_low_rank_dim"},
    {"attention.gate_lora_rank", "gate_low_rank_dim"},
    {"attention.iclr_lora_rank", "a_low_rank_dim"},
    {"attention.value_residual_mix_lora_rank", "v_low_rank_dim"},
    {"token_shift_count", "token_shift_count"},
    {"wkv.head_size", "head_size"},
}};

} // namespace

namespace families {

std::span<const Architecture> rwkv7() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"rwkv7", build, {"rwkv7", tensors, settings}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
