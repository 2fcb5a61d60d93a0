// Forms with files: multipart/form-data (RFC 7578), as browsers, curl -F and OpenAI's clients send them.
#pragma once

#include "http.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

struct FormField {
    std::string name, file;   // file: the name of the uploaded file; or empty
    std::string_view content; // in the body of the request
};

inline constexpr size_t most_fields = 64;

// The fields of the form that the request holds; none if it is not a form. Throws Error(input).
[[nodiscard]] std::vector<FormField> form_of(const Request &request);

} // namespace lamina::serve
