// What a fusion replaces: other layers, whose references, one after the other, are its own.
#pragma once

#include "abi/call.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::abi {

// lamina_layer::fuses. Its tensors are numbered: first the inputs of the fusion, then all outputs of its members, one
// member after the other.
struct Pattern {
    static constexpr int32_t left_out = -1;

    struct Param {
        std::optional<uint32_t> of; // which parameter of the fusion it is; none: always `value`
        double value = 0;
    };
    struct Member {
        std::string name;
        const Layer *layer = nullptr;
        std::vector<Param> params;          // in the order of the member's contract, as all of these
        std::vector<int32_t> in;            // tensors, or left_out
        std::vector<int32_t> weight, state; // of the fusion, or left_out
        int32_t first_out = 0;              // tensor

        [[nodiscard]] int32_t outputs() const { return static_cast<int32_t>(layer->contract->n_outputs); }
    };
    std::vector<Member> members;
    std::vector<int32_t> outputs; // tensors, in the order of the fusion's contract
    int32_t tensors = 0;          // how many there are

    [[nodiscard]] bool is_output(int32_t tensor) const;
    [[nodiscard]] bool is_taken(int32_t tensor) const; // by a member
};

// The types of its layers, in their order: {"rms_norm", "linear"}.
[[nodiscard]] std::vector<std::string> types_of_members(const Pattern &pattern);

// Reads the pattern of a fusion. The layers must outlive it. Throws Error with what is wrong in it, also for a layer
// that is not there or is a fusion itself.
[[nodiscard]] std::shared_ptr<const Pattern> read_pattern(const lamina_layer &fusion,
                                                          const std::map<std::string, Layer, std::less<>> &layers);

// The calls of the members that compute what `fusion` does. Throws Error(input) if one refuses its call, Error(plugin)
// if they compute other types than the fusion declares.
[[nodiscard]] std::vector<LayerCall> calls_of_members(const LayerCall &fusion);

// Runs the references of the members. rows: as for LayerCall::reference.
void run_members(const LayerCall &fusion, const LayerCall::Data &data, std::span<const int64_t> rows);

} // namespace lamina::abi
