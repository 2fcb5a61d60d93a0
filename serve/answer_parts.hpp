// What a model writes, taken apart: what it thinks, what it says, and calls of tools.
#pragma once

#include "tool_format.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

inline constexpr std::string_view think_begin = "<think>", think_end = "</think>"; // around what a model thinks
// Whether a prompt has opened a thought, which the answer begins within.
[[nodiscard]] bool opens_thought(std::string_view prompt);

struct AnswerPart {
    enum class Kind { thought, text, call, arguments };
    Kind kind;
    std::string text; // of a call: the tool's name. Its arguments follow, in pieces
};

// Takes a text as it comes. A text begins within a thought if its prompt has opened one.
class AnswerParts {
  public:
    AnswerParts(std::optional<ToolFormat> format, bool thinks)
        : format_(std::move(format)), mode_(thinks ? Mode::thought : Mode::begin), after_blanks_(thinks) {}

    [[nodiscard]] std::vector<AnswerPart> push(std::string_view text);
    // What was held back; nothing follows.
    [[nodiscard]] std::vector<AnswerPart> finish();

  private:
    enum class Mode { begin, thought, text, name, arguments, behind };
    bool step(bool last);
    bool begin(bool last);
    bool think(bool last);
    bool say(bool last);
    bool read_name();
    bool read_arguments();
    bool go_on(bool last);
    void give(AnswerPart::Kind kind, size_t bytes);
    bool give_until(std::string_view mark, AnswerPart::Kind kind, bool last);

    std::optional<ToolFormat> format_;
    Mode mode_;
    bool after_blanks_; // blanks that come next belong to nothing
    std::string held_;
    std::vector<AnswerPart> out_;
    size_t depth_ = 0; // of braces of arguments
    bool quoted_ = false, escaped_ = false;
};

} // namespace lamina::serve
