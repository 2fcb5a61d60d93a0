#include "architectures/sentence_modules.hpp"

#include "architectures/config.hpp"
#include "architectures/token_vectors.hpp"
#include "base/utf8.hpp"
#include "model/weights_folder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
// A kind of pooling: in 1_Pooling/config.json since sentence-transformers 5.4 and before, and Lamina's.
struct PoolingName {
    const char *name, *older, *kind;
};
// In the order in which the older keys are concatenated.
constexpr std::array<PoolingName, 6> poolings{{
    {"cls", "pooling_mode_cls_token", "first"},
    {"max", "pooling_mode_max_tokens", "max"},
    {"mean", "pooling_mode_mean_tokens", "mean"},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len"},
    {"weightedmean", "pooling_mode_weightedmean_tokens", "weighted_mean"},
    {"lasttoken", "pooling_mode_lasttoken", "last"},
}};

const char *pooling_at(JsonView name) {
    for (const PoolingName &each : poolings)
        if (name.string() == each.name) return each.kind;
    name.fail(in_quotes(name.string()) +
              " is not supported; supported: cls, lasttoken, max, mean, mean_sqrt_len_tokens and weightedmean");
}

constexpr double layer_norm_eps = 1e-5; // torch.nn.LayerNorm's

constexpr double least_square = 1e-20; // so that a vector of zeros stays one

// Lamina's activation for a class of torch; empty: none.
std::string activation_of(const Config &config) {
    constexpr const char *key = "activation_function";
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> of_torch{
        {{"Identity", ""}, {"Tanh", "tanh"}, {"ReLU", "relu"}, {"GELU", "gelu"}, {"SiLU", "silu"}}};
    const std::string name = config.text(key, "torch.nn.modules.activation.Tanh");
    for (const auto &[theirs, ours] : of_torch)
        if (name.starts_with("torch.nn.") && name.substr(name.rfind('.') + 1) == theirs) return std::string(ours);
    config.fail(key, in_quotes(name) + " is not supported; supported: Identity, Tanh, ReLU, GELU and SiLU of torch.nn");
}

// The files of a module, whose tensors get the name NAME.TENSOR.
void add_weights(const fs::path &folder, const std::string &name, model::Weights &weights) {
    const model::Weights file = model::open_weights_folder(folder);
    for (const auto &[tensor, weight] : file.entries()) weights.add(name + "." + tensor, weight);
    for (const auto &[part, tensor] : file.others()) weights.add_other(name + "." + part, tensor);
}

// Modules may read and write other results than vectors of texts, or of tokens; none that is known does.
void expect_vectors(const Config &config, bool of_tokens) {
    for (const char *key : {"module_input_name", "module_output_name"})
        config.expect(key, of_tokens ? "token_embeddings" : "sentence_embedding");
    config.finish();
}

// Names the tensor linear.weight, beside the transformer's and perhaps with its name before, as that of a module Dense.
// Returns how many rows it has.
int64_t add_projection(const std::string &module, model::Weights &weights) {
    for (const auto &[name, weight] : weights.entries()) {
        if (name != "linear.weight" && !name.ends_with(".linear.weight")) continue;
        const model::Weight projection = weight;
        weights.remove(std::string(name)); // a copy, because the name goes, too
        weights.add(module + ".linear.weight", projection);
        return projection.type.shape.empty() ? 0 : projection.type.shape.front();
    }
    throw Error(ErrorCode::input,
                "HF_ColBERT: expected the tensor linear.weight, which makes vectors of hidden states");
}

} // namespace

// A row over its root mean square has the length sqrt(C), which a weight takes away.
GraphWriter::Tensor normalized_row(GraphWriter &graph, model::Weights &weights, const std::string &name,
                                   const GraphWriter::Tensor &x) {
    const int64_t width = graph.channels(x);
    Tensor scale(TensorType{DType::f32, {width}});
    std::ranges::fill(scale.f32(), static_cast<float>(1 / std::sqrt(static_cast<double>(width))));
    weights.add(name + ".weight", model::Weight::of(std::move(scale)));
    return graph.rms_norm(name, x, {.eps = least_square});
}

std::vector<SentenceModule> sentence_modules_in(const fs::path &folder) {
    const fs::path file = folder / "modules.json";
    std::vector<SentenceModule> out;
    if (!has_file(file)) return out;
    const JsonText document(text_of(file), file.string());
    for (const JsonView module : document.root().items()) {
        const std::string type(module.at("type").string());
        const fs::path path = module.at("path").string();
        if (path.is_absolute() || path.string().find("..") != std::string::npos)
            module.at("path").fail("expected a folder within this one, found " + in_quotes(path.string()));
        out.push_back({type.substr(type.rfind('.') + 1), folder / path, path.filename().string()});
        const bool transformer = out.back().kind == "Transformer" || out.back().kind == "MLMTransformer";
        if (transformer && !path.empty())
            module.at("path").fail("expected \"\": the transformer's files in this folder");
    }
    return out;
}

std::string transformer_task(const fs::path &folder, const char *otherwise) {
    const fs::path file = folder / "sentence_bert_config.json";
    if (!has_file(file)) return otherwise;
    const JsonText document(text_of(file), file.string());
    return Config(document.root()).text("transformer_task", otherwise);
}

std::optional<SentenceModules> SentenceModules::read(const fs::path &folder, model::Weights &weights) {
    if (token_vector_format(folder) != TokenVectorFormat::none) return read_of_tokens(folder, weights);
    constexpr const char *fills_masks = "fill-mask";
    std::optional<SentenceModules> out;
    bool words = false; // the transformer gives their scores
    for (const auto &[kind, place, name] : sentence_modules_in(folder)) {
        if (kind == "LogitScore" && !out) return std::nullopt;
        if (kind == "Transformer") {
            words = transformer_task(folder) == fills_masks;
        } else if (kind == "MLMTransformer") {
            words = transformer_task(folder, fills_masks) == fills_masks;
        } else if (kind == "Pooling" && !out && !words) {
            out.emplace().read_pooling(place / "config.json");
        } else if (kind == "SpladePooling" && !out && words) {
            out.emplace().read_splade_pooling(place / "config.json");
        } else if (out && !out->of_words() && (kind == "Dense" || kind == "LayerNorm" || kind == "Normalize")) {
            out->add_module(kind, place, name, weights);
        } else if (!(out && kind == "Dropout")) {
            throw Error(ErrorCode::input, (folder / "modules.json").string() + ": " + in_quotes(kind) +
                                              " is not supported here; supported: a Transformer, then Pooling, "
                                              "then Dense, LayerNorm and Normalize in any order; or an "
                                              "MLMTransformer, or a Transformer with the transformer_task "
                                              "fill-mask, then SpladePooling; or a Transformer with the "
                                              "transformer_task text-generation, then LogitScore");
        }
    }
    return out;
}

SentenceModules SentenceModules::read_of_tokens(const fs::path &folder, model::Weights &weights) {
    SentenceModules out;
    out.of_tokens_ = true;
    for (const auto &[kind, place, name] : sentence_modules_in(folder)) {
        if (kind == "Transformer" || kind == "MultiVectorMask" || kind == "Dropout") continue;
        if (kind != "Dense" && kind != "LayerNorm" && kind != "Normalize")
            throw Error(ErrorCode::input, (folder / "modules.json").string() + ": " + in_quotes(kind) +
                                              " is not supported for vectors of tokens; supported: a Transformer, "
                                              "Dense, LayerNorm, Normalize and MultiVectorMask");
        out.add_module(kind, place, name, weights);
    }
    const TokenVectorFormat format = token_vector_format(folder);
    if (format == TokenVectorFormat::stanford) {
        const std::string name = "projection";
        out.modules_.push_back({Module::Kind::dense, name, add_projection(name, weights), "", false});
    }
    if (format != TokenVectorFormat::sentence_transformers)
        out.modules_.push_back({Module::Kind::normalize, "normalize"});
    return out;
}

SentenceModules SentenceModules::with_pooling(const char *kind, const std::vector<Matrix> &behind) {
    SentenceModules out;
    out.poolings_.emplace_back(kind);
    for (const auto &[name, outputs, biased] : behind)
        out.modules_.push_back({Module::Kind::dense, name, outputs, "", biased});
    out.modules_.push_back({Module::Kind::normalize, "normalize"});
    return out;
}

void SentenceModules::read_pooling(const fs::path &file) {
    const JsonText document(text_of(file), file.string());
    const Config config(document.root());
    config.ignore({"word_embedding_dimension", "embedding_dimension"});
    pools_prompt_ = config.flag("include_prompt", true);
    std::vector<std::string> of_older;
    for (const PoolingName &each : poolings)
        if (config.flag(each.older, false)) of_older.emplace_back(each.kind);
    const auto mode = config.find("pooling_mode");
    if (!mode)
        poolings_ = of_older;
    else if (mode->is_list())
        for (const JsonView name : mode->items()) poolings_.emplace_back(pooling_at(name));
    else
        poolings_.emplace_back(pooling_at(*mode));
    config.finish();
    if (mode && poolings_.empty()) mode->fail("expected at least one kind of pooling, found an empty list");
    if (poolings_.empty()) poolings_.emplace_back("mean");
}

// The weight of a word grows with its score, so that of its greatest score is its greatest weight.
void SentenceModules::read_splade_pooling(const fs::path &file) {
    const JsonText document(text_of(file), file.string());
    const Config config(document.root());
    config.ignore({"embedding_dimension", "word_embedding_dimension"});
    if (const std::string pooling = config.text("pooling_strategy", "max"); pooling != "max")
        config.fail("pooling_strategy", in_quotes(pooling) + " is not supported; supported: max");
    constexpr const char *key = "activation_function";
    const std::string activation = config.text(key, "relu");
    of_words_ = {"log1p_relu"};
    if (activation == "log1p_relu")
        of_words_.emplace_back("log1p_relu");
    else if (activation != "relu")
        config.fail(key, in_quotes(activation) + " is not supported; supported: log1p_relu and relu");
    config.finish();
    poolings_.emplace_back("max");
}

void SentenceModules::add_module(const std::string &kind, const fs::path &folder, const std::string &name,
                                 model::Weights &weights) {
    const fs::path file = folder / "config.json";
    if (kind == "Normalize") {
        if (has_file(file)) expect_vectors(Config(JsonText(text_of(file), file.string()).root()), of_tokens_);
        modules_.push_back({Module::Kind::normalize, name});
        return;
    }
    const JsonText document(text_of(file), file.string());
    const Config config(document.root());
    add_weights(folder, name, weights);
    if (kind == "LayerNorm") {
        config.ignore({"dimension"});
        modules_.push_back({Module::Kind::layer_norm, name + ".norm"});
    } else {
        config.ignore({"in_features"});
        modules_.push_back({Module::Kind::dense, name, config.positive("out_features"), activation_of(config),
                            config.flag("bias", true), config.flag("use_residual", false)});
        if (modules_.back().residual && !modules_.back().activation.empty())
            config.fail("use_residual", "true is supported only with Identity as activation_function");
    }
    expect_vectors(config, of_tokens_);
}

GraphWriter::Tensor SentenceModules::pooled(GraphWriter &graph, const GraphWriter::Tensor &x,
                                            const GraphWriter::Tensor &lengths, bool normalized) const {
    const GraphWriter::Tensor starts = pools_prompt_ ? "" : graph.input("starts", DType::i32, "B");
    GraphWriter::Tensor out;
    for (size_t i = 0; i < poolings_.size(); ++i) {
        const std::string suffix = i == 0 ? "" : "." + std::to_string(i);
        const GraphWriter::Tensor next =
            graph.layer("pooling" + suffix, "pooling", {{"x", x}, {"lengths", lengths}, {"starts", starts}},
                        {{"kind", poolings_[i]}, {"normalize", normalized}});
        const int64_t width = i == 0 ? 0 : graph.channels(out);
        out = i == 0 ? next : graph.layer("concat" + suffix, "concat", {{"a", out}, {"b", next}});
        graph.set_channels(out, width + graph.channels(x));
    }
    return out;
}

GraphWriter::Tensor SentenceModules::layers(GraphWriter &graph, model::Weights &weights, const GraphWriter::Tensor &x,
                                            const GraphWriter::Tensor &lengths) const {
    // The layer `pooling` normalizes, too.
    const bool normalized =
        poolings_.size() == 1 && !modules_.empty() && modules_.front().kind == Module::Kind::normalize;
    GraphWriter::Tensor out = of_tokens_ ? x : pooled(graph, x, lengths, normalized);
    for (const std::string &activation : of_words_) out = graph.activated(activation, out);
    for (const Module &module : std::span(modules_).subspan(normalized ? 1 : 0)) {
        switch (module.kind) {
        case Module::Kind::dense: {
            GraphWriter::Tensor residual = module.residual ? out : "";
            if (module.residual && graph.channels(out) != module.outputs)
                residual = graph.linear(module.name + ".residual", out, {.outputs = module.outputs, .biased = false});
            out = graph.linear(module.name + ".linear", out,
                               {.outputs = module.outputs, .residual = residual, .biased = module.biased});
            if (!module.activation.empty()) out = graph.activated(module.activation, out);
            break;
        }
        case Module::Kind::layer_norm:
            out = graph.layer_norm(module.name, out, {.eps = layer_norm_eps});
            break;
        case Module::Kind::normalize:
            out = normalized_row(graph, weights, module.name, out);
        }
    }
    return out;
}

Prompts read_prompts(const fs::path &folder) {
    const fs::path file = folder / "config_sentence_transformers.json";
    Prompts out;
    if (!has_file(file)) return out;
    const JsonText document(text_of(file), file.string());
    const JsonView root = document.root();
    if (root.has("prompts"))
        for (const JsonView prompt : root.at("prompts").members())
            if (!prompt.is_null()) out.texts.emplace(prompt.key(), prompt.string());
    if (root.has("default_prompt_name")) out.default_prompt = root.at("default_prompt_name").string();
    if (!out.default_prompt.empty() && !out.texts.contains(out.default_prompt))
        root.at("default_prompt_name").fail("there is no prompt of this name; expected one of those in \"prompts\"");
    return out;
}

} // namespace lamina::architectures
