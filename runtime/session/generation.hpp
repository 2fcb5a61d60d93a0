// Text in, text out.
#pragma once

#include "session/decoder.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::session {

// The token ids of every text, all checked. Throws Error(input) that says which text.
[[nodiscard]] std::vector<Ids> tokenize(const model::Model &model, const std::vector<std::string> &texts);

// As Session::hypotheses.
[[nodiscard]] std::vector<std::vector<Hypothesis>>
generate(detail::SessionState &session, const std::vector<std::string> &texts, const GenerateOptions &options);

} // namespace lamina::session
