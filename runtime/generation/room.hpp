// How many texts, and how long ones, there is memory for.
#pragma once

#include "session/state.hpp"

#include <cstddef>
#include <cstdint>

namespace lamina::generation {

struct Room {
    size_t texts = 0, length = 0; // side by side; tokens of each
    uint64_t caches = 0;          // bytes, when all texts are so long
};

// As much as is wanted of texts for a model without an encoder, or else fewer texts, or else shorter ones; at least one
// of first_capacity tokens, whether that fits or not. `promised`: bytes that others are going to take, beside a draft.
[[nodiscard]] Room room_for(detail::SessionState &session, size_t texts, size_t length, uint64_t promised);

} // namespace lamina::generation
