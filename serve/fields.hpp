// Reads what many requests have.
#pragma once

#include "images.hpp"
#include "schemas.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// Fails at the first member of the request that this schema does not have, or that may not have this value.
void expect_fields(const JsonView &request, std::string_view schema);

// A text, or a list of texts, of at most so many.
[[nodiscard]] std::vector<std::string> texts_of(const JsonView &value, size_t most);

// Whether texts that are too long are cut, as these fields say: "truncate", "truncation", or "truncate_prompt_tokens",
// which may be -1: to as many as the model takes. Nothing if there is none.
[[nodiscard]] std::optional<bool> truncation_of(const JsonView &request);

// What errors of other functions call a value: "request: /prompt".
[[nodiscard]] inline std::string in_request(const JsonView &value) { return "request: " + value.place(); }

[[nodiscard]] Json copied(const JsonView &value);

// "content" of a message: a text, or parts that are texts, or images if there is a place for them; empty if there is
// none.
[[nodiscard]] std::string content_of(const JsonView &message, std::vector<GivenImage> *images = nullptr);
// The same for a chat template: a text, or the list of parts if some are images.
[[nodiscard]] Json content_for_template(const JsonView &message);

} // namespace lamina::serve
