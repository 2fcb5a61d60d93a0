// A model on a device, layer by layer, against the same model on references.
#pragma once

#include "session/state.hpp"

#include <lamina/proof.hpp>

namespace lamina::comparison {

// lamina::compare() of proof.hpp, of two sessions of one model: what `truth` computes is held to be right.
[[nodiscard]] Comparison compare(detail::SessionState &truth, detail::SessionState &on_device,
                                 const CompareOptions &options);

} // namespace lamina::comparison
