#include "architectures/vision_tower.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <utility>

namespace lamina::architectures {
namespace {

constexpr const char *key_of_part = "vision_config", *clip = "clip_vision_model", *siglip = "siglip_vision_model";

// Of the part that sees.
std::string type_of(const Config &whole, const char *otherwise) {
    const auto part = whole.object(key_of_part);
    if (!part) whole.fail(key_of_part, "is missing: expected the settings for images");
    if (part->is_null("model_type")) part->fail("model_type", "null is no type of a model");
    std::string type = part->text("model_type", otherwise);
    if (type != clip && type != siglip)
        part->fail("model_type", in_quotes(type) + " is not supported; supported: " + clip + " and " + siglip);
    return type;
}

} // namespace

VisionTower::VisionTower(Draft &draft, const Config &whole, const char *type, const std::string &prefix)
    : whole_(whole), config_(whole.part(key_of_part, type_of(whole, type))), of_clip_(type_of(whole, type) == clip),
      whole_file_(!draft.gguf), images_(draft, config_), layers_(images_.graph(), config_, prefix), prefix_(prefix) {
    whole.ignore({key_of_part});
    config_.ignore({of_clip_ ? "projection_dim" : "vision_use_head", "vocab_size"}); // of the head, and of texts
    if (!of_clip_ && config_.flag("vision_use_head")) require_head();
}

void VisionTower::require_head() const {
    const std::string head = prefix_ + "head.";
    const int64_t width = layers_.width(), hidden = config_.positive("intermediate_size");
    graph().require(head + "probe", {1, 1, width});
    const auto product = [&](const std::string &weight, const std::string &bias, int64_t outputs, int64_t inputs) {
        graph().require(head + weight, {outputs, inputs});
        graph().require(head + bias, {outputs});
    };
    product("attention.in_proj_weight", "attention.in_proj_bias", 3 * width, width);
    product("attention.out_proj.weight", "attention.out_proj.bias", width, width);
    product("mlp.fc1.weight", "mlp.fc1.bias", hidden, width);
    product("mlp.fc2.weight", "mlp.fc2.bias", width, hidden);
    layers_.require_norm("head.layernorm");
}

GraphWriter::Tensor VisionTower::embedded() const {
    const std::string embeddings = prefix_ + "embeddings.";
    GraphWriter::Tensor x = images_.embedded(embeddings + "patch_embedding", layers_.width(), !of_clip_);
    if (of_clip_) x = images_.with_token(embeddings + "class_embedding", x, {layers_.width()});
    x = images_.learned_positions(embeddings + "position_embedding", x, of_clip_ ? 1 : 0);
    return of_clip_ ? layers_.norm("pre_layrnorm", x) : x;
}

std::vector<GraphWriter::Tensor> VisionTower::states(const std::vector<int64_t> &wanted, const char *key) const {
    std::vector<GraphWriter::Tensor> all{embedded()};
    std::vector<GraphWriter::Tensor> out =
        wanted_states(whole_, key, wanted, layers_.count(), all, [&](int64_t number, const GraphWriter::Tensor &x) {
            return layers_.layer(number, x, false, "");
        });
    if (!whole_file_) return out;
    // What comes later is in the file, too, as transformers has it.
    for (auto i = static_cast<int64_t>(all.size()) - 1; i < layers_.count(); ++i) layers_.require_layer(i);
    layers_.require_norm("post_layernorm");
    return out;
}

GraphWriter::Tensor VisionTower::last() const {
    return layers_.norm("post_layernorm", layers_.all(embedded(), false, ""));
}

std::vector<GraphWriter::Tensor>
wanted_states(const Config &whole, const char *key, const std::vector<int64_t> &wanted, int64_t layers,
              std::vector<GraphWriter::Tensor> &all,
              const std::function<GraphWriter::Tensor(int64_t number, const GraphWriter::Tensor &x)> &layer) {
    const int64_t count = layers + 1;
    std::vector<GraphWriter::Tensor> out;
    for (const int64_t number : wanted) {
        const int64_t at = number < 0 ? count + number : number;
        if (at < 0 || at >= count)
            whole.fail(key, "expected " + std::to_string(-count) + " to " + std::to_string(count - 1) + ", found " +
                                std::to_string(number));
        while (std::cmp_less_equal(all.size(), at)) all.push_back(layer(std::ssize(all) - 1, all.back()));
        out.push_back(all[static_cast<size_t>(at)]);
    }
    return out;
}

std::string token_text(const Draft &draft, const Config &whole, const char *key) {
    const int64_t token = whole.integer(key);
    if (!draft.texts || !draft.texts->tokenizer) return "";
    const auto text =
        token < 0 || token > INT32_MAX ? std::nullopt : draft.texts->tokenizer->token(static_cast<int32_t>(token));
    if (!text) whole.fail(key, "the tokenizer has no token " + std::to_string(token));
    return *text;
}

Json image_place(const Draft &draft, const Config &whole, const char *key) {
    Json out{{"token", whole.integer(key)}};
    if (const std::string text = token_text(draft, whole, key); !text.empty()) out["mark"] = out["text"] = text;
    return out;
}

} // namespace lamina::architectures
