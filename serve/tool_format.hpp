// How a model writes calls of tools: found out by its chat template, which writes those of a conversation.
#pragma once

#include <lamina/lamina.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace lamina::serve {

// A call is: begin NAME middle ARGUMENTS end, where arguments are JSON. Further calls follow with `next` in place of
// what ends one and begins another; empty: there is one at most.
struct ToolFormat {
    std::string begin, middle, end, next;
    bool short_ids = false; // the template refuses ids of calls that are not nine letters and digits, as Mistral's do

    // What tells a call from other text: the beginning up to the first brace or, if nothing is before it, all of it.
    [[nodiscard]] std::string_view mark() const {
        const std::string_view all = begin, before = all.substr(0, all.find('{'));
        const bool blank = before.find_first_not_of(" \n") == std::string_view::npos;
        return blank ? all : before.substr(0, before.find_last_not_of(" \n") + 1);
    }
};

// Nothing if the template takes no tools, or writes the arguments other than as JSON.
[[nodiscard]] std::optional<ToolFormat> tool_format_of(const Model &model);

} // namespace lamina::serve
