// Adapters of PEFT (github.com/huggingface/peft, src/peft/tuners/lora and utils/save_and_load.py).
#include "architectures/adapters.hpp"

#include "architectures/config.hpp"
#include "base/model_path.hpp"
#include "base/utf8.hpp"
#include "model/safetensors.hpp"
#include "model/torch_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

// Keys that are read here, or that say nothing of numbers: how it was trained, and which modules have tensors.
constexpr std::array<std::string_view, 28> peft_keys{"alpha_pattern",
                                                     "auto_mapping",
                                                     "base_model_name_or_path",
                                                     "bias",
                                                     "eva_config",
                                                     "exclude_modules",
                                                     "fan_in_fan_out",
                                                     "inference_mode",
                                                     "init_lora_weights",
                                                     "layers_pattern",
                                                     "layers_to_transform",
                                                     "lora_alpha",
                                                     "lora_dropout",
                                                     "megatron_core",
                                                     "modules_to_save",
                                                     "peft_type",
                                                     "peft_version",
                                                     "qalora_group_size",
                                                     "r",
                                                     "rank_pattern",
                                                     "revision",
                                                     "runtime_config",
                                                     "target_modules",
                                                     "task_type",
                                                     "use_rslora",
                                                     "loftq_config",
                                                     "ensure_weight_tying",
                                                     "ephemeral_gpu_offload"};

bool says_nothing(JsonView value) {
    return value.is_null() || (value.is_boolean() && !value.boolean()) ||
           (value.is_object() && value.members().size() == 0) || (value.is_list() && value.items().size() == 0);
}

// How strong changes are.
class PeftConfig {
  public:
    explicit PeftConfig(JsonView root) : config_(root) {
        if (lower_case(config_.text("peft_type")) != "lora")
            config_.fail("peft_type", in_quotes(config_.text("peft_type")) + " is not supported; expected LORA");
        for (const JsonView value : root.members())
            if (std::ranges::find(peft_keys, value.key()) == peft_keys.end() && !says_nothing(value))
                value.fail("is not supported (" + value.description() +
                           "): merge the adapter with PEFT's merge_and_unload(), and save the result");
        if (const auto how = config_.find("init_lora_weights"); how && how->is_string())
            for (const char *changed : {"pissa", "olora", "corda", "loftq", "lora_ga"}) // it begins with other weights
                if (how->string().starts_with(changed))
                    how->fail(in_quotes(std::string(how->string())) +
                              " is not supported, because the model itself was changed: merge the adapter with PEFT's "
                              "merge_and_unload(), and save the result");
        rank_stabilized_ = config_.flag("use_rslora", false);
        alpha_ = config_.real("lora_alpha");
        made_for_ = config_.has("base_model_name_or_path") ? config_.text("base_model_name_or_path") : "";
        if (const auto list = config_.find("alpha_pattern"))
            for (const JsonView each : list->members()) {
                std::string_view name = each.key();
                if (name.starts_with("^")) name.remove_prefix(1);
                for (const char c : name)
                    if (std::string_view("\\[](){}*+?|^$").find(c) != std::string_view::npos)
                        each.fail("patterns are not supported; expected names of modules");
                patterns_.emplace_back(name, each.number());
            }
    }

    [[nodiscard]] double scale(const std::string &module, int64_t rank) const {
        double alpha = alpha_;
        for (const auto &[name, of_module] : patterns_)
            if (module == name || module.ends_with("." + name)) {
                alpha = of_module;
                break; // the first that matches, as in PEFT
            }
        const auto wide = static_cast<double>(rank);
        return alpha / (rank_stabilized_ ? std::sqrt(wide) : wide);
    }
    [[nodiscard]] const std::string &made_for() const { return made_for_; }

  private:
    static std::string lower_case(std::string text) {
        std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
        return text;
    }

    Config config_;
    bool rank_stabilized_ = false;
    double alpha_ = 0;
    std::string made_for_;
    std::vector<std::pair<std::string, double>> patterns_;
};

model::Weights peft_weights(const fs::path &folder) {
    if (has_file(folder / "adapter_model.safetensors"))
        return model::open_safetensors(folder / "adapter_model.safetensors").weights;
    if (has_file(folder / "adapter_model.bin")) return model::open_torch_file(folder / "adapter_model.bin");
    throw Error(ErrorCode::input,
                folder.string() +
                    ": no weights of an adapter; expected adapter_model.safetensors or adapter_model.bin");
}

// "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" as the model would call a tensor of that module.
std::string without_wrappers(std::string name) {
    constexpr std::string_view wrapper = "base_model.model.";
    if (name.starts_with(wrapper)) name.erase(0, wrapper.size());
    for (const std::string_view part : {".base_layer", ".modules_to_save"})
        if (const size_t at = name.find(part); at != std::string::npos) name.erase(at, part.size());
    return name;
}

// The two matrices of a change, by the ends of their names. In a table of embeddings, columns are those of B.
struct Ends {
    std::string_view a, b;
    bool of_table;
};
constexpr std::array<Ends, 2> peft_ends{
    Ends{".lora_A.weight", ".lora_B.weight", false},
    Ends{".lora_embedding_A", ".lora_embedding_B", true},
};

} // namespace

AdapterContents read_peft_adapter(const Adapter &adapter, const NameWeights &named, bool transposed) {
    AdapterContents out{.path = model_path(adapter.path)};
    const fs::path file = out.path / "adapter_config.json";
    std::error_code error;
    if (!fs::is_directory(out.path, error))
        throw Error(ErrorCode::input, out.path.string() +
                                          ": a file changes the model of a GGUF file; expected a folder "
                                          "with adapter_config.json for the model of a folder");
    const JsonText document(text_of(file), file.string());
    const PeftConfig config(document.root());
    out.made_for = config.made_for();
    const model::Weights stored = peft_weights(out.path);
    model::Weights renamed(stored.file());
    for (const auto &[name, weight] : stored.entries()) renamed.add(without_wrappers(name), weight);
    for (const auto &[name, tensor] : stored.others()) renamed.add_other(without_wrappers(name), tensor);
    const model::Weights weights = named(renamed);
    for (const auto &[name, weight] : weights.entries()) {
        const auto ends = [&name = name](const Ends &each) { return name.ends_with(each.a) || name.ends_with(each.b); };
        const auto *const pair = std::ranges::find_if(peft_ends, ends);
        if (pair == peft_ends.end()) {
            if (name.find("lora_") != std::string::npos)
                throw Error(ErrorCode::input, stored.file().string() + ": the tensor " + in_quotes(name) +
                                                  " is of a kind of adapter that is not supported");
            out.replaced.emplace(name, weight);
            continue;
        }
        if (name.ends_with(pair->b)) continue; // with its A
        const std::string module = name.substr(0, name.size() - pair->a.size());
        const model::Weight &other = weights.at(module + std::string(pair->b));
        if (weight.type.shape.size() != 2 || other.type.shape.size() != 2)
            throw Error(ErrorCode::input, stored.file().string() + ": the change of " + in_quotes(module) +
                                              " is not one of a matrix, which alone is supported");
        const bool swapped =
            pair->of_table || (transposed && !module.ends_with("lm_head") && !module.ends_with("score"));
        const double scale = adapter.scale * config.scale(module, weight.type.shape[0]);
        out.changes.emplace(module + ".weight", swapped ? model::LowRank{{weight, true}, {other, true}, scale}
                                                        : model::LowRank{{other}, {weight}, scale});
    }
    for (const auto &[name, weight] : weights.entries())
        for (const Ends &each : peft_ends)
            if (name.ends_with(each.b))
                (void)weights.at(name.substr(0, name.size() - each.b.size()) + std::string(each.a));
    for (const auto &[name, tensor] : weights.others())
        throw Error(ErrorCode::input, stored.file().string() + ": the tensor " + in_quotes(name) + " is " +
                                          tensor.dtype + "; expected F32, F16 or BF16");
    return out;
}

} // namespace lamina::architectures
