// Adapters (LoRA): small changes of another model's matrices, merged into its weights when these are read.
#pragma once

#include "model/low_rank.hpp"
#include "model/weights.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::architectures {

// What an adapter holds, by the names of tensors that the model has.
struct AdapterContents {
    std::filesystem::path path;
    std::string made_for{}; // the model that it was trained for, as it says
    std::map<std::string, model::LowRank, std::less<>> changes{};
    std::map<std::string, model::Weight, std::less<>> replaced{}; // tensors that take the place of the model's
};

// A folder of PEFT: adapter_config.json and adapter_model.safetensors, or .bin. `named` gives tensors of these names
// the names that they have in the model. `transposed`: folders of this architecture have matrices as inputs x outputs.
// Throws Error(input), also for a setting that would change numbers and is not supported.
using NameWeights = std::function<model::Weights(const model::Weights &)>;
[[nodiscard]] AdapterContents read_peft_adapter(const Adapter &adapter, const NameWeights &named, bool transposed);

// A GGUF file whose general.type is "adapter". Throws Error(input) unless it is for this "general.architecture".
[[nodiscard]] AdapterContents read_gguf_adapter(const Adapter &adapter, std::string_view architecture);

// What adapters do with a tensor: they replace it, or add products to it.
struct TensorChange {
    std::optional<model::Weight> replaced{};
    std::vector<model::LowRank> changes{};
    const AdapterContents *by = nullptr; // the last of them
};

// A head that shares the values of the table of embeddings in the files does not, once an adapter changes one of the
// two alone (peft/tuners/lora, as a model runs before it is merged).
class Untied {
  public:
    Untied() = default;
    Untied(std::map<std::string, model::Weight, std::less<>> before,
           std::map<std::string, TensorChange, std::less<>> waiting)
        : before_(std::move(before)), waiting_(std::move(waiting)) {}

    // The values of a tensor that the files do not have, because it shares those of `source`; none: it still does.
    // Throws Error(input) for a change that does not fit.
    [[nodiscard]] std::optional<model::Weight> take(const std::string &name, const std::string &source,
                                                    const model::Weights &weights);
    // Throws Error(input) if there is a change of a tensor that was not taken.
    void expect_taken(const model::Weights &weights) const;

  private:
    std::map<std::string, model::Weight, std::less<>> before_; // those of the files that are changed
    std::map<std::string, TensorChange, std::less<>> waiting_; // of tensors that the files do not have
};

// The weights with what the adapters change, and a line that says what that is; empty without adapters. Throws
// Error(input) for an adapter that does not fit. The adapters must outlive the result.
struct Merged {
    model::Weights weights;
    std::string note{};
    Untied untied{};
};
[[nodiscard]] Merged with_adapters(const model::Weights &weights, const std::vector<AdapterContents> &adapters);

} // namespace lamina::architectures
