// GPT-2 (Radford et al.: Language Models are Unsupervised Multitask Learners, 2019).
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/gpt2_layers.hpp"

#include <array>

namespace lamina::architectures {
namespace {

constexpr std::string_view base = "transformer";

void build(Draft &draft) {
    const DecoderGraph decoder(draft);
    Gpt2Layers layers(draft, draft.config, decoder.graph(), std::string(base) + ".");
    const GraphWriter::Tensor x = layers.hidden({decoder.ids(), decoder.position(), decoder.lengths()});
    decoder.add_outputs(x, {.vocabulary = layers.vocabulary(), .table = layers.table(), .tokens = "classifier"});
}

constexpr std::array<TensorName, 9> tensors{{
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"blk.{i}.attn_norm", "transformer.h.{i}.ln_1"},
    {"blk.{i}.attn_qkv", "transformer.h.{i}.attn.c_attn"},
    {"blk.{i}.attn_output", "transformer.h.{i}.attn.c_proj"},
    {"blk.{i}.ffn_norm", "transformer.h.{i}.ln_2"},
    {"blk.{i}.ffn_up", "transformer.h.{i}.mlp.c_fc"},
    {"blk.{i}.ffn_down", "transformer.h.{i}.mlp.c_proj"},
}};
constexpr std::array<SettingName, 2> settings{{
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"feed_forward_length", "n_inner"},
}};

} // namespace

namespace families {

std::span<const Architecture> gpt2() {
    static constexpr std::array<Architecture, 1> kinds{{{.model_type = "gpt2",
                                                         .build = build,
                                                         .gguf = {"gpt2", tensors, settings},
                                                         .base = base,
                                                         .transposed = true}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
