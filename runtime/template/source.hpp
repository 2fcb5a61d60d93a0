// The text of a template, and errors that show the place in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lamina::jinja {

class Source {
  public:
    // Line ends become \n, and a final line end is dropped, as in Jinja. Throws Error(input) for text that is not UTF-8
    // or longer than 1 MiB. Messages begin with `name`.
    Source(std::string_view text, std::string name);

    [[nodiscard]] const std::string &text() const { return text_; }
    // Throws Error(input): "NAME:LINE:COLUMN: MESSAGE, in 'THE LINE'".
    [[noreturn]] void fail(size_t place, const std::string &message) const;

  private:
    std::string text_, name_;
};

} // namespace lamina::jinja
