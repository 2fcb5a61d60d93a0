// A file of the source that is a part of the library.
#pragma once

#include <string_view>

namespace lamina::serve {

struct TextFile {
    std::string_view name, text;
};

} // namespace lamina::serve
