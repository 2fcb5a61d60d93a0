// One conformance case of a layer: everything that a run depends on, as one line of text.
//
//     B=2 T=37 C=113 eps=1e-5 +bias weights=f16 x=offset seed=7
//
// NAME=VALUE sets a dim, a parameter (a choice by its name, a boolean as 0 or 1) or a port's class of values.
// weights=f16 sets the dtype of all weights that allow it, bias=f32 that of one weight or state. seed=7 is the seed of
// all values. +PORT adds an optional port. sample=64: only so many rows of the outputs are compared, because the
// reference takes too long for all; it must be able to compute rows alone (LAMINA_BY_ROWS). "..." in a contract's dims
// stands for the axes B and T, as far as the case names them, or for explicit axes: ...=2x3x4.
#pragma once

#include "abi/call.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lamina::conformance {

// The values that a port is filled with.
enum class Values {
    normal, // floating point, the default: mean 0, deviation 1; weights: deviation 1/sqrt(columns)
    offset, // mean 10^4, deviation 1
    large,  // uniform from -80 to 80: differences of such scores overflow exp
    huge,   // uniform up to the largest F16, 65504
    // Uniform from -128 to 128: exp overflows, and falls to 0. Where rounding such values changes the result by more
    // than the tolerance, errors of that size are allowed.
    overflow,
    tiny,     // deviation 10^-12
    small,    // a thousandth of normal: scales of blocks of weights are subnormal halves, which some GPUs take for 0
    spread,   // of any magnitude from 2^-30 to 1, one as likely as another: halves round some, and lose others
    positive, // uniform from 0 to 1
    // As normal, but a quarter is -infinity; so is all of every third row, and the row after that has one +infinity.
    infinite,
    equal,   // the same number everywhere
    one_hot, // a single 1 in each row
    zeros,   // floating point: 0. I32: the lowest allowed value, as in "no keys at all"
    uniform, // I32, the default: any allowed value; of a wide range mostly small ones, which matter most
    one,     // I32: the lowest allowed value plus one
    max,     // I32: the highest allowed value
    every,   // I32: all allowed values in turn, from both ends of their range to its middle
};
[[nodiscard]] const char *name_of(Values values);

struct Case {
    std::map<std::string, abi::ParamValue, std::less<>> params;
    std::map<std::string, int64_t, std::less<>> dims;
    std::set<std::string, std::less<>> given;          // optional inputs, weights and states
    std::map<std::string, Values, std::less<>> values; // by port; the default for those not listed
    DType weights = DType::f32;
    std::map<std::string, DType, std::less<>> dtypes; // of weights unlike `weights`, and of states that are not f32
    Shape axes;                                       // of "..."; empty: B and T, as far as they are in dims
    uint64_t seed = 1;
    int64_t sample = 0; // rows of the outputs to compare; 0: all
    bool operator==(const Case &) const = default;
};

// `seed` is used if the text has none. Throws Error(input) with the word that is wrong and the nearest valid one.
[[nodiscard]] Case parse_case(const lamina_layer &layer, std::string_view text, uint64_t seed = 1);

// The values of an optional port of floats that have a meaning, if all of the layer's own cases with this port name the
// same: random ones, down to `positive` in the list above. None: any do.
[[nodiscard]] std::optional<Values> usual_values(const lamina_layer &layer, std::string_view port);

// parse_case(layer, to_string(c)) == c.
[[nodiscard]] std::string to_string(const Case &c);

// The dtype of a weight or a state in this case.
[[nodiscard]] DType weight_dtype(const lamina_port &port, const Case &c);
[[nodiscard]] DType state_dtype(const lamina_port &port, const Case &c);
// The dtypes that some weight of the layer allows; f32 is one of them even if there is no weight.
[[nodiscard]] std::vector<DType> weight_dtypes(const lamina_layer &layer);
[[nodiscard]] std::vector<DType> state_dtypes(const lamina_port &port);
// Enlarges the rows of weights in blocks to whole blocks, and those of states to whole words.
void fill_blocks(const lamina_layer &layer, Case &c);

// The types of all ports that are given. Names that the case leaves open get small sizes. Throws Error(input) if sizes
// contradict each other.
[[nodiscard]] abi::CallTypes types_of(const lamina_layer &layer, const Case &c);

// The call of the layer with this case. Throws Error(input) if the layer refuses it.
[[nodiscard]] abi::LayerCall call_of(const abi::Layer &layer, const Case &c);

// A rough estimate of a call's multiplications: every row of an input with every weight, every row of a state and every
// other row.
[[nodiscard]] double work_of(const abi::LayerCall &call);
// The same for a layer whose rows do not depend on each other.
[[nodiscard]] double linear_work_of(const abi::LayerCall &call);
// How many values all its tensors have.
[[nodiscard]] double values_of(const abi::LayerCall &call);

} // namespace lamina::conformance
