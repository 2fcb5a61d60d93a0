// A layer's parameters: by name as in a model, and in the contract's order as plugins get them.
#pragma once

#include <lamina/plugin.h>

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace lamina::abi {

using ParamValue = std::variant<bool, double, std::string>;
using Params = std::map<std::string, ParamValue, std::less<>>; // by name

// In the contract's order, with defaults filled in. Throws Error(input); the message begins with `where`.
[[nodiscard]] std::vector<double> resolve_params(const lamina_layer &layer, const Params &given,
                                                 const std::string &where);

// The number that a plugin gets for a value of a parameter. Throws Error(input) for a value that it cannot have; the
// message begins with `where`.
[[nodiscard]] double param_number(const lamina_param &param, const ParamValue &value, const std::string &where);
// The other way round.
[[nodiscard]] ParamValue param_value(const lamina_param &param, double number);

// The value of batch_first; true for a layer without that parameter.
[[nodiscard]] bool is_batch_first(const lamina_layer &layer, const std::vector<double> &params);

} // namespace lamina::abi
