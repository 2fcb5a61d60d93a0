#include "architectures/file_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace lamina::architectures {
namespace {

// Before every name, if a model was saved inside of torch's DataParallel, or compiled.
constexpr std::array<std::string_view, 2> wrappers{"module.", "_orig_mod."};

// Ends of names; transformers, conversion_mapping.py ("legacy").
constexpr std::array<Renaming, 2> legacy{{
    {"LayerNorm.gamma", "LayerNorm.weight"},
    {"LayerNorm.beta", "LayerNorm.bias"},
}};

// Ends of the names of what is computed, not trained.
constexpr std::array<std::string_view, 8> buffers{
    "embeddings.position_ids", "embeddings.token_type_ids", "rotary_emb.inv_freq", "rotary_emb.cos_cached",
    "rotary_emb.sin_cached",   "embed_positions.weights",   "encoder.version",     "decoder.version"};

// Modules beside the base model.
constexpr std::array<std::string_view, 16> head_modules{"classifier",
                                                        "cls",
                                                        "cls_classifier",
                                                        "discriminator_predictions",
                                                        "distillation_classifier",
                                                        "final_logits_bias",
                                                        "generator_lm_head",
                                                        "generator_predictions",
                                                        "lm_head",
                                                        "pre_classifier",
                                                        "predictions",
                                                        "qa_outputs",
                                                        "score",
                                                        "vocab_layer_norm",
                                                        "vocab_projector",
                                                        "vocab_transform"};

class Names {
  public:
    Names(const std::vector<std::string> &all, std::string_view base) {
        const auto all_begin = [&](std::string_view start) {
            return !all.empty() && std::ranges::all_of(all, [&](const std::string &n) { return n.starts_with(start); });
        };
        for (bool more = true; std::exchange(more, false);)
            for (const std::string_view wrapper : wrappers)
                if (all_begin(wrapper_ + std::string(wrapper))) wrapper_ += wrapper, more = true;
        const std::string prefix = std::string(base) + ".";
        const bool is_there =
            std::ranges::any_of(all, [&](const std::string &n) { return within(n).starts_with(prefix); });
        if (!base.empty() && !is_there) prefix_ = prefix;
    }

    [[nodiscard]] std::string operator()(const std::string &name) const {
        std::string out(within(name));
        for (const auto &[old, now] : legacy)
            if (out.ends_with(old)) out.replace(out.size() - old.size(), old.size(), now);
        const std::string_view module = std::string_view(out).substr(0, out.find('.'));
        return std::ranges::find(head_modules, module) == head_modules.end() ? prefix_ + out : out;
    }

  private:
    std::string wrapper_, prefix_; // taken away, added

    [[nodiscard]] std::string_view within(std::string_view name) const { return name.substr(wrapper_.size()); }
};

bool is_buffer(std::string_view name) {
    return std::ranges::any_of(buffers, [&](std::string_view end) { return name.ends_with(end); });
}

} // namespace

model::Weights as_loaded(const model::Weights &file, std::string_view base, std::span<const Renaming> renamed) {
    const auto of_now = [&](std::string name) {
        for (const auto &[old, now] : renamed)
            if (const size_t at = name.find(old); at != std::string::npos) name.replace(at, old.size(), now);
        return name;
    };
    std::vector<std::string> all;
    for (const auto &[name, weight] : file.entries()) all.push_back(of_now(name));
    for (const auto &[name, tensor] : file.others()) all.push_back(of_now(name));
    const Names loaded(all, base);
    model::Weights out(file.file());
    for (const auto &[name, weight] : file.entries())
        if (!is_buffer(name)) out.add(loaded(of_now(name)), weight);
    for (const auto &[name, tensor] : file.others())
        if (!is_buffer(name)) out.add_other(loaded(of_now(name)), tensor);
    return out;
}

} // namespace lamina::architectures
