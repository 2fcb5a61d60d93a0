// ViT (Dosovitskiy et al., arXiv:2010.11929) and DeiT (Touvron et al., arXiv:2012.12877), with classes of images or a
// vector for each.
#include "architectures/architecture.hpp"
#include "architectures/vit_layers.hpp"
#include "architectures/weight_parts.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

class Vit {
  public:
    Vit(Draft &draft, std::string_view base, bool distilled)
        : draft_(draft), config_(draft.config), prefix_(std::string(base) + "."),
          layers_(draft, draft.config, prefix_, distilled), images_(layers_.images()), graph_(images_.graph()),
          width_(layers_.width()) {}

    void build() {
        const Tensor x = layers_.hidden();
        graph_.output("hidden", x);
        const std::string pooler = prefix_ + "pooler.dense";
        const Tensor first = graph_.layer(prefix_ + "first", "pooling", {{"x", x}}, {{"kind", "first"}});
        if (!draft_.task) draft_.task = has("classifier") || has("cls_classifier") ? Task::images : Task::none;
        config_.ignore({"pooler_act", "pooler_output_size"}); // of models without a head
        if (draft_.task == Task::images) {
            for (const char *port : {".weight", ".bias"}) draft_.unused.insert(pooler + port);
            return images_.add_output("logits", classes(x, first), true);
        }
        if (draft_.task != Task::none)
            config_.fail("architectures", "this head is not supported; supported: those of image classification, and "
                                          "the model without a head");
        if (!has(pooler)) return images_.add_output("embedding", first, false);
        const Tensor pooled = graph_.linear(pooler, first, {.outputs = config_.integer("pooler_output_size", width_)});
        images_.add_output("embedding", graph_.activated(config_.activation("pooler_act"), pooled), false);
    }

  private:
    Draft &draft_;
    const Config &config_;
    std::string prefix_;
    VitLayers layers_;
    const ImageGraph &images_;
    GraphWriter &graph_;
    int64_t width_;

    [[nodiscard]] bool has(const std::string &module) const {
        return draft_.weights.entries().contains(module + ".weight");
    }

    // Those of the class token; of a model with a teacher, the mean of two tokens' classes.
    Tensor classes(const Tensor &x, const Tensor &first) {
        const int64_t labels = label_count(config_);
        if (!has("cls_classifier")) return graph_.linear("classifier", first, {.outputs = labels});
        const Tensor second = graph_.layer(prefix_ + "second", "pooling", {{"x", x}}, {{"kind", "first"}, {"skip", 1}});
        const Tensor half = halved("cls_classifier", first, labels, "");
        return halved("distillation_classifier", second, labels, half);
    }

    // A product whose weights are halved, which rounds nothing.
    Tensor halved(const std::string &module, const Tensor &x, int64_t outputs, const Tensor &residual) {
        graph_.require(module + ".weight", {outputs, width_});
        graph_.require(module + ".bias", {outputs});
        for (const char *port : {".weight", ".bias"}) {
            draft_.weights.add(module + ".half" + port, scaled(draft_.weights.at(module + port), 0.5));
            draft_.unused.insert(module + port);
        }
        return graph_.linear(module, x,
                             {.outputs = outputs,
                              .residual = residual,
                              .weight = module + ".half.weight",
                              .bias = module + ".half.bias"});
    }
};

constexpr std::string_view vit_base = "vit", deit_base = "deit";

} // namespace

namespace families {

std::span<const Architecture> vit() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"vit", [](Draft &draft) { Vit(draft, vit_base, false).build(); }, {}, vit_base},
        {"deit", [](Draft &draft) { Vit(draft, deit_base, true).build(); }, {}, deit_base},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
