// Compares a model on a device, layer by layer, with the same model on the references.
#pragma once

#include "session/state.hpp"

#include <lamina/proof.hpp>

namespace lamina::comparison {

// lamina::compare() of proof.hpp, for two sessions of one model. What `truth` computes is taken to be right.
[[nodiscard]] Comparison compare(detail::SessionState &truth, detail::SessionState &on_device,
                                 const CompareOptions &options);

} // namespace lamina::comparison
