#include "architectures/adapters.hpp"

#include "base/binary_size.hpp"
#include "base/model_path.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/gguf.hpp"

#include <algorithm>
#include <utility>

namespace lamina::architectures {
namespace {

[[noreturn]] void refuse_adapter(const AdapterContents &adapter, const std::string &why) {
    throw Error(ErrorCode::input, adapter.path.string() + ": " + why +
                                      (adapter.made_for.empty() ? "" : " (it was made for " + adapter.made_for + ")"));
}

void expect_known(const AdapterContents &adapter, const std::string &name, const model::Weights &weights) {
    if (!weights.entries().contains(name))
        refuse_adapter(adapter, "it changes " + in_quotes(name) + ", and the model has no such tensor" +
                                    did_you_mean(name, names_of(weights.entries())) + ": is it for another model?");
}

void expect_shape(const AdapterContents &adapter, const std::string &name, const Shape &found, const Shape &expected) {
    if (found != expected)
        refuse_adapter(adapter, "its change of " + in_quotes(name) + " has the shape " + to_string(found) +
                                    ", and the model's tensor " + to_string(expected) + ": is it for another model?");
}

model::LowRank merged_change(const AdapterContents &adapter, const std::string &name, const model::LowRank &change,
                             const model::Weights &weights) {
    const Shape &shape = weights.at(name).type.shape;
    if (shape.size() != 2)
        refuse_adapter(adapter, "it changes " + in_quotes(name) + ", whose shape is " + to_string(shape) +
                                    "; only changes of matrices are supported");
    expect_shape(adapter, name, {change.left.rows(), change.right.columns()}, shape);
    return change;
}

} // namespace

AdapterContents read_gguf_adapter(const Adapter &adapter, std::string_view architecture) {
    AdapterContents out{.path = model_path(adapter.path)};
    std::error_code error;
    if (std::filesystem::is_directory(out.path, error))
        refuse_adapter(out,
                       "a folder changes the model of a folder; expected an adapter in a GGUF file for a GGUF file. "
                       "llama.cpp's convert_lora_to_gguf.py writes one");
    const model::Gguf file = model::open_gguf(out.path);
    const model::GgufMetadata &metadata = file.metadata;
    const auto text = [&](const char *key) {
        return metadata.has(key) ? std::string(metadata.at(key).string()) : std::string("nothing");
    };
    if (text("general.type") != "adapter")
        refuse_adapter(out, "not an adapter: expected 'adapter' at 'general.type', found " +
                                in_quotes(text("general.type")));
    if (text("adapter.type") != "lora")
        refuse_adapter(out, "expected 'lora' at 'adapter.type', found " + in_quotes(text("adapter.type")) +
                                "; no other kind of adapter is supported");
    if (text("general.architecture") != architecture)
        refuse_adapter(out, "an adapter for models of the architecture " + in_quotes(text("general.architecture")) +
                                ", and this one is of " + in_quotes(std::string(architecture)));
    if (metadata.has("general.base_model.0.name")) out.made_for = text("general.base_model.0.name");
    const double alpha = metadata.has("adapter.lora.alpha") ? metadata.at("adapter.lora.alpha").number() : 0;
    constexpr std::string_view a_end = ".lora_a", b_end = ".lora_b", table = "token_embd.weight";
    for (const auto &[name, up] : file.weights.entries()) {
        if (name.ends_with(a_end) && file.weights.entries().contains(name.substr(0, name.size() - 1) + "b")) continue;
        if (!name.ends_with(b_end))
            refuse_adapter(out,
                           "the tensor " + in_quotes(name) + " is not part of a pair, NAME.lora_a and NAME.lora_b");
        const std::string changed = name.substr(0, name.size() - b_end.size());
        const model::Weight &down = file.weights.at(changed + std::string(a_end));
        if (down.type.shape.size() != 2 || up.type.shape.size() != 2)
            refuse_adapter(out, "the change of " + in_quotes(changed) +
                                    " is not one of a matrix; experts that are "
                                    "stored together are not supported");
        const bool of_table = changed == table; // rows of tokens are those of lora_a
        const model::LowRank change = of_table ? model::LowRank{{down}, {up, true}} : model::LowRank{{up}, {down}};
        const int64_t rank = up.type.shape[1];
        out.changes.emplace(
            changed, model::LowRank{change.left, change.right,
                                    alpha == 0 ? adapter.scale : adapter.scale * alpha / static_cast<double>(rank)});
    }
    for (const auto &[name, tensor] : file.weights.others())
        refuse_adapter(out, "the tensor " + in_quotes(name) + " is " + tensor.dtype + "; expected F32, F16 or BF16");
    return out;
}

Merged with_adapters(const model::Weights &weights, const std::vector<AdapterContents> &adapters) {
    if (adapters.empty()) return {weights};
    std::map<std::string, std::vector<model::LowRank>, std::less<>> changes;
    std::map<std::string, model::Weight, std::less<>> replaced;
    for (const AdapterContents &adapter : adapters) {
        if (adapter.changes.empty() && adapter.replaced.empty()) refuse_adapter(adapter, "it changes nothing");
        for (const auto &[name, change] : adapter.changes) {
            expect_known(adapter, name, weights);
            for (const model::NarrowMatrix *matrix : {&change.left, &change.right})
                if (storage_of(matrix->weight.type.dtype).in_blocks())
                    refuse_adapter(adapter, "its change of " + in_quotes(name) + " is " +
                                                name_of(matrix->weight.type.dtype) + "; expected f32, f16 or bf16");
            if (change.left.columns() != change.right.rows())
                refuse_adapter(adapter, "the ranks of its change of " + in_quotes(name) +
                                            " differ: " + std::to_string(change.left.columns()) + " and " +
                                            std::to_string(change.right.rows()));
            changes[name].push_back(merged_change(adapter, name, change, weights));
        }
        for (const auto &[name, weight] : adapter.replaced) {
            expect_known(adapter, name, weights);
            expect_shape(adapter, name, weight.type.shape, weights.at(name).type.shape);
            if (!replaced.emplace(name, weight).second)
                refuse_adapter(adapter, "it replaces " + in_quotes(name) + ", as another adapter does");
        }
    }
    Merged out{model::Weights(weights.file())};
    uint64_t bytes = 0;
    for (const auto &[name, weight] : weights.entries()) {
        const auto other = replaced.find(name);
        model::Weight whole = other != replaced.end() ? other->second : weight;
        if (other != replaced.end())
            whole.changed = std::make_shared<const model::LowRankSum>(model::LowRankSum{whole, {}});
        const auto changed = changes.find(name);
        out.weights.add(name, changed == changes.end() ? whole : model::with_low_ranks(whole, changed->second));
        if (changed != changes.end()) bytes += out.weights.at(name).type.bytes();
    }
    for (const auto &[name, tensor] : weights.others()) out.weights.add_other(name, tensor);
    out.note = std::to_string(adapters.size()) + (adapters.size() == 1 ? " adapter changes " : " adapters change ") +
               std::to_string(changes.size()) + " matrices, which are f32 and take " + binary_size(bytes) +
               (replaced.empty() ? "" : ", and replace " + std::to_string(replaced.size()) + " tensors");
    return out;
}

} // namespace lamina::architectures
