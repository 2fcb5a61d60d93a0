// Checks what a plugin declares before anything else in it is used.
#pragma once

#include <lamina/plugin.h>

#include <string>

namespace lamina::abi {

// These return "" for a sound descriptor, or else what is wrong. The prefix is checked first, then the element sizes of
// the lists. The rest is checked in the host's own copy (contract.hpp).
[[nodiscard]] std::string fault_of_prefix(const lamina_prefix &prefix);
[[nodiscard]] std::string fault_of_sizes(const lamina_layer &layer);
[[nodiscard]] std::string fault_of_sizes(const lamina_executor &executor);
[[nodiscard]] std::string fault_of(const lamina_layer &layer);
[[nodiscard]] std::string fault_of(const lamina_executor &executor);

} // namespace lamina::abi
