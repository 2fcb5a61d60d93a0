// Texts and bytes as Python writes them (repr), without the quotes and the b: "\\n" for a line's end.
#pragma once

#include <string>
#include <string_view>

namespace lamina::tokenizer {

// What \x.. stands for: in b'...' a byte, in '...' a character.
enum class PythonLiteral { bytes, text };

// The bytes that are meant, of a text those of UTF-8. Throws Error(input) for an escape that repr() does not write.
[[nodiscard]] std::string python_text(std::string_view written, PythonLiteral kind);

} // namespace lamina::tokenizer
