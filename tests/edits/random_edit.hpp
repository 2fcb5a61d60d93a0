// Edits of one token of a kernel's source, as a slip of the pen would be.
#pragma once

#include "base/random.hpp"
#include "edited_layer.hpp"

#include <optional>
#include <string>
#include <vector>

namespace test {

// Another operator of the same kind, a number that is one off, min for max, or another variable of the same type. From
// one of the files that the kernel is compiled from; mostly from its own. Nothing if the token that was drawn allows no
// such edit: then draw again. The edited source may not compile.
[[nodiscard]] std::optional<Edit> random_edit(const std::vector<std::string> &files, lamina::Random &random);

// "softmax.comp: if (row >= rows) return;: ">=" -> ">"": the line, and what becomes of which token.
[[nodiscard]] std::string name_of(const Edit &edit);

} // namespace test
