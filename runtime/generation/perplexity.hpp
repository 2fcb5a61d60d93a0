// How well a model foresees a text.
#pragma once

#include "session/state.hpp"

#include <lamina/measure.hpp>

namespace lamina::generation {

// As measure_perplexity() of measure.hpp.
[[nodiscard]] Perplexity perplexity(detail::SessionState &session, const std::string &text,
                                    const PerplexityOptions &options);

} // namespace lamina::generation
