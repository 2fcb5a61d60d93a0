#include "architectures/bert_writer.hpp"

#include "architectures/weight_parts.hpp"

namespace lamina::architectures {

BertWriter::BertWriter(Draft &draft, const Config &config, const Kind &kind)
    : draft_(draft), config_(config), tied_(kind.tied), typed_(kind.typed), base_(kind.prefix + "bert."),
      predictions_(kind.prefix + "cls.predictions."), encode_(draft.graph("encode")), decode_(draft.graph("decode")),
      eps_(config.real("layer_norm_eps")), width_(config.positive("hidden_size")),
      heads_(config.positive("num_attention_heads")), vocabulary_(config.positive("vocab_size")),
      hidden_(config.positive("intermediate_size")), activation_(config.activation("hidden_act")) {}

BertWriter::Tensor BertWriter::embedded(const Tensor &position) {
    const std::string embeddings = base_ + "embeddings.", table = embeddings + "position_embeddings",
                      types = embeddings + "token_type_embeddings.weight";
    const int64_t positions = config_.positive("max_position_embeddings");
    const Tensor ids = decode_.input("ids", DType::i32, "B T");
    Tensor x = decode_.embedding(embeddings + "word_embeddings", ids,
                                 {.rows = vocabulary_, .channels = width_, .table = words()});
    draft_.unused.insert(embeddings + "position_ids"); // of older files: 0, 1, 2, ...
    if (typed_) {
        const std::string rows = table + ".rows";
        decode_.require(types, {config_.positive("type_vocab_size"), width_});
        decode_.require(table + ".weight", {positions, width_});
        draft_.weights.add(rows + ".weight", row_added(draft_.weights.at(table + ".weight"), draft_.weights.at(types)));
        draft_.unused.insert(table + ".weight"), draft_.unused.insert(types);
        x = decode_.learned_positions(rows, x, position, positions);
    } else {
        x = decode_.learned_positions(table, x, position, positions);
    }
    return norm(embeddings + "LayerNorm", x);
}

BertWriter::Tensor BertWriter::scores(const Tensor &memory, int64_t seen) {
    const int64_t layers = config_.layers("num_hidden_layers");
    const Tensor position = decode_.input("position", DType::i32, "B");
    Tensor x = embedded(position);
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = base_ + "encoder.layer." + std::to_string(i);
        x = self_attention(layer + ".attention", x, position);
        x = source_attention(layer + ".crossattention", x, memory, seen);
        const Tensor fed = decode_.feed_forward(layer, x,
                                                {.hidden = hidden_,
                                                 .activation = activation_,
                                                 .up = "intermediate.dense",
                                                 .down = "output.dense",
                                                 .residual = x});
        x = norm(layer + ".output.LayerNorm", fed);
    }
    return head(x);
}

BertWriter::Tensor BertWriter::norm(const std::string &module, const Tensor &x) {
    return decode_.layer_norm(module, x, {.eps = eps_});
}

// The table of embeddings; a file may have that of the head alone.
std::string BertWriter::words() const {
    const std::string own = base_ + "embeddings.word_embeddings.weight";
    return tied_ ? draft_.first_of({own, predictions_ + "decoder.weight"}) : own;
}

BertWriter::Tensor BertWriter::attended(const std::string &module, const Tensor &x, const Tensor &k, const Tensor &v,
                                        GraphWriter::Attention options) {
    options.heads = options.kv_heads = heads_;
    const Tensor q = decode_.linear(module + ".self.query", x, {});
    const Tensor out = decode_.linear(module + ".output.dense", decode_.attention(module + ".heads", q, k, v, options),
                                      {.residual = x});
    return norm(module + ".output.LayerNorm", out);
}

BertWriter::Tensor BertWriter::self_attention(const std::string &module, const Tensor &x, const Tensor &position) {
    return attended(module, x, decode_.linear(module + ".self.key", x, {}),
                    decode_.linear(module + ".self.value", x, {}), {.causal = true, .position = position});
}

BertWriter::Tensor BertWriter::source_attention(const std::string &module, const Tensor &x, const Tensor &memory,
                                                int64_t seen) {
    const auto projected = [&](const char *part) {
        return pass_on(encode_, decode_, encode_.linear(module + part, memory, {.outputs = width_}),
                       "B " + std::to_string(seen));
    };
    const Tensor k = projected(".self.key"), v = projected(".self.value");
    return attended(module, x, k, v, {});
}

BertWriter::Tensor BertWriter::head(const Tensor &x) {
    const std::string transform = predictions_ + "transform.", weight = predictions_ + "decoder.weight",
                      bias = predictions_ + "decoder.bias", shared = predictions_ + "bias";
    const Tensor dense = decode_.linear(transform + "dense", x, {});
    const Tensor seen = norm(transform + "LayerNorm", decode_.activated(activation_, dense));
    if (!tied_) draft_.unused.insert(shared);
    return decode_.linear(predictions_ + "decoder", seen,
                          {.outputs = vocabulary_,
                           .weight = tied_ ? draft_.tied(weight, words()) : weight,
                           .bias = tied_ ? draft_.tied(bias, draft_.first_of({shared, bias})) : bias});
}

} // namespace lamina::architectures
