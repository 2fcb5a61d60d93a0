// Text in, text out.
#pragma once

#include "session/decoder.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::session {

// As Session::hypotheses.
[[nodiscard]] std::vector<std::vector<Hypothesis>>
generate(detail::SessionState &session, const std::vector<std::string> &texts, const GenerateOptions &options);

} // namespace lamina::session
