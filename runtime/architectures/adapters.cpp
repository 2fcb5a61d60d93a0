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

[[noreturn]] void refuse_unknown(const AdapterContents &adapter, const std::string &name,
                                 const model::Weights &weights) {
    refuse_adapter(adapter, "it changes " + in_quotes(name) + ", and the model has no such tensor" +
                                did_you_mean(name, names_of(weights.entries())) + ": is it for another model?");
}

void expect_shape(const AdapterContents &adapter, const std::string &name, const Shape &found, const Shape &expected) {
    if (found != expected)
        refuse_adapter(adapter, "its change of " + in_quotes(name) + " has the shape " + to_string(found) +
                                    ", and the model's tensor " + to_string(expected) + ": is it for another model?");
}

void expect_fits(const AdapterContents &adapter, const std::string &name, const model::LowRank &change,
                 const Shape &shape) {
    if (shape.size() != 2)
        refuse_adapter(adapter, "it changes " + in_quotes(name) + ", whose shape is " + to_string(shape) +
                                    "; only changes of matrices are supported");
    expect_shape(adapter, name, {change.left.rows(), change.right.columns()}, shape);
}

// A tensor with what adapters do with it.
model::Weight changed(const model::Weight &weight, const std::string &name, const TensorChange &change) {
    model::Weight out = weight;
    if (change.replaced) {
        expect_shape(*change.by, name, change.replaced->type.shape, weight.type.shape);
        out = *change.replaced;
        out.changed = std::make_shared<const model::LowRankSum>(model::LowRankSum{out, {}});
    }
    for (const model::LowRank &each : change.changes) expect_fits(*change.by, name, each, weight.type.shape);
    return change.changes.empty() ? out : model::with_low_ranks(out, change.changes);
}

std::map<std::string, TensorChange, std::less<>> changes_of(const std::vector<AdapterContents> &adapters) {
    std::map<std::string, TensorChange, std::less<>> out;
    for (const AdapterContents &adapter : adapters) {
        if (adapter.changes.empty() && adapter.replaced.empty()) refuse_adapter(adapter, "it changes nothing");
        for (const auto &[name, change] : adapter.changes) {
            for (const model::NarrowMatrix *matrix : {&change.left, &change.right})
                if (storage_of(matrix->weight.type.dtype).in_blocks())
                    refuse_adapter(adapter, "its change of " + in_quotes(name) + " is " +
                                                name_of(matrix->weight.type.dtype) + "; expected f32, f16 or bf16");
            if (change.left.columns() != change.right.rows())
                refuse_adapter(adapter, "the ranks of its change of " + in_quotes(name) +
                                            " differ: " + std::to_string(change.left.columns()) + " and " +
                                            std::to_string(change.right.rows()));
            out[name].changes.push_back(change);
            out[name].by = &adapter;
        }
        for (const auto &[name, weight] : adapter.replaced) {
            if (out[name].replaced)
                refuse_adapter(adapter, "it replaces " + in_quotes(name) + ", as another adapter does");
            out[name].replaced = weight;
            out[name].by = &adapter;
        }
    }
    return out;
}

// ggml leaves out leading sizes of 1, so a matrix of one row, as of rank 1, has one size.
model::Weight as_matrix(model::Weight weight) {
    if (weight.type.shape.size() == 1) weight.type.shape.insert(weight.type.shape.begin(), 1);
    return weight;
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
    if (metadata.has("adapter.alora.invocation_tokens"))
        refuse_adapter(out, "it counts only behind certain tokens ('adapter.alora.invocation_tokens'), which is not "
                            "supported");
    if (metadata.has("general.base_model.0.name")) out.made_for = text("general.base_model.0.name");
    const double alpha = metadata.has("adapter.lora.alpha") ? metadata.at("adapter.lora.alpha").number() : 0;
    constexpr std::string_view a_end = ".lora_a", b_end = ".lora_b", table = "token_embd.weight";
    for (const auto &[name, weight] : file.weights.entries()) {
        if (name.ends_with(a_end) && file.weights.entries().contains(name.substr(0, name.size() - 1) + "b")) continue;
        if (!name.ends_with(b_end))
            refuse_adapter(out,
                           "the tensor " + in_quotes(name) + " is not part of a pair, NAME.lora_a and NAME.lora_b");
        const std::string changed = name.substr(0, name.size() - b_end.size());
        const model::Weight up = as_matrix(weight), down = as_matrix(file.weights.at(changed + std::string(a_end)));
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
    auto changes = changes_of(adapters);
    Merged out{model::Weights(weights.file())};
    std::map<std::string, model::Weight, std::less<>> before;
    uint64_t bytes = 0;
    size_t matrices = 0, replaced = 0;
    for (const auto &[name, weight] : weights.entries()) {
        const auto change = changes.find(name);
        if (change == changes.end()) {
            out.weights.add(name, weight);
            continue;
        }
        const model::Weight whole = changed(weight, name, change->second);
        out.weights.add(name, whole);
        before.emplace(name, weight);
        if (!change->second.changes.empty()) ++matrices, bytes += whole.type.bytes();
        replaced += change->second.replaced ? 1 : 0;
        changes.erase(change);
    }
    for (const auto &[name, tensor] : weights.others()) out.weights.add_other(name, tensor);
    for (const auto &[name, change] : changes) {
        matrices += change.changes.empty() ? 0 : 1;
        replaced += change.replaced ? 1 : 0;
    }
    out.untied = Untied(std::move(before), std::move(changes));
    out.note = std::to_string(adapters.size()) + (adapters.size() == 1 ? " adapter changes " : " adapters change ") +
               std::to_string(matrices) + " matrices, which are f32 and take " + binary_size(bytes) +
               (replaced == 0 ? "" : ", and replace " + std::to_string(replaced) + " tensors");
    return out;
}

std::optional<model::Weight> Untied::take(const std::string &name, const std::string &source,
                                          const model::Weights &weights) {
    const auto change = waiting_.find(name);
    const auto before = before_.find(source);
    if (change == waiting_.end() && before == before_.end()) return std::nullopt;
    model::Weight out = before != before_.end() ? before->second : weights.at(source);
    if (change != waiting_.end()) {
        out = changed(out, name, change->second);
        waiting_.erase(change);
    }
    return out;
}

void Untied::expect_taken(const model::Weights &weights) const {
    if (!waiting_.empty()) refuse_unknown(*waiting_.begin()->second.by, waiting_.begin()->first, weights);
}

} // namespace lamina::architectures
