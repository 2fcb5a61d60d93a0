// Generates text from texts.
#pragma once

#include "generation/decoder.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::generation {

// As Session::hypotheses.
[[nodiscard]] std::vector<std::vector<Hypothesis>>
generate(detail::SessionState &session, const std::vector<std::string> &texts, const GenerateOptions &options);

} // namespace lamina::generation
