// What a GGUF file says of rotary positions (github.com/ggml-org/llama.cpp, llama-model.cpp).
#pragma once

#include "architectures/architecture.hpp"
#include "model/gguf_metadata.hpp"

#include <functional>
#include <string_view>

namespace lamina::architectures {

class GgufPositions {
  public:
    // The value of a setting of the file's architecture; null: it has none.
    using Find = std::function<const model::GgufValue *(std::string_view key)>;
    // All must outlive it.
    GgufPositions(const model::Weights &weights, const GgufKind &kind, Find find)
        : weights_(weights), kind_(kind), find_(std::move(find)) {}

    // Adds what the equivalent config.json says of them. `known`: its keys; null: unknown. `sees`: with a projector.
    // Throws Error(input).
    void add_to(Json &config, const ConfigKeys *known, bool sees) const;
    // What the equivalent config.json cannot say. Throws Error(input).
    [[nodiscard]] GgufRotary rotary() const;
    // Whether this tensor is read here, and by no layer.
    [[nodiscard]] bool takes(std::string_view tensor) const;

  private:
    const model::Weights &weights_;
    const GgufKind &kind_;
    Find find_;

    [[nodiscard]] bool has_longrope() const;
    void add_bases(Json &config, const ConfigKeys *known) const;
    void add_longrope(Json &config) const;
    void add_axes(Json &config) const;
    void add_scaling(Json &config) const;
};

} // namespace lamina::architectures
