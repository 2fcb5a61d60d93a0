// The sizes behind a contract's dims: names that unify over all ports of a layer.
#pragma once

#include <lamina/tensor.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lamina::abi {

// What is known of a contract's names: dims found by unification, and parameters by their values.
struct Dims {
    std::map<std::string, int64_t, std::less<>> values;
    std::optional<Shape> ellipsis; // what "..." stands for
};

// The value of an expression of names, numbers, * / + - (no blanks, no parentheses; * and / bind tighter).
// Nothing when a name in it is not known. Throws Error(plugin) when it is malformed, divides by zero or unevenly.
[[nodiscard]] std::optional<int64_t> evaluate(std::string_view expression, const Dims &dims);

// Learns what `shape` says about the names in `spec` ("B T heads*D"): each token that evaluates must match, and a token
// with one unknown name in a product or quotient gives that name. Returns false when a token still has several unknown
// names: call again once more is known. Throws Error(input) on a mismatch; `where` begins its message.
bool unify(std::string_view spec, const Shape &shape, Dims &dims, const std::string &where);

// The shape that `spec` describes. Throws Error(plugin) when a name in it is not known.
[[nodiscard]] Shape instantiate(std::string_view spec, const Dims &dims, const std::string &where);

// The names in `spec`, without numbers, in order of appearance, each once. "..." is not one of them.
[[nodiscard]] std::vector<std::string> names_in(std::string_view spec);

} // namespace lamina::abi
