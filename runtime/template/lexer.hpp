// Splits a template into tokens: the text between tags, and the tokens within them.
#pragma once

#include "template/source.hpp"

#include <string>
#include <vector>

namespace lamina::jinja {

struct Token {
    enum class Kind {
        text,         // between the tags, without the white space that they remove
        output_begin, // {{
        output_end,
        tag_begin, // {%
        tag_end,
        name,
        string, // unescaped
        integer,
        real,
        symbol,
        end,
    };
    Kind kind;
    size_t place; // in the source
    std::string text;
};

// White space is treated as with Jinja's options trim_blocks and lstrip_blocks, which chat templates expect: a tag
// alone on its line removes the whole line. Throws Error(input). The last token is `end`.
[[nodiscard]] std::vector<Token> tokens_of(const Source &source);

} // namespace lamina::jinja
