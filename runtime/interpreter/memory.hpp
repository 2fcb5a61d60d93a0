// Memory that invocations share, word by word, with everything that is checked.
#pragma once

#include "interpreter/workgroup.hpp"

namespace lamina::interpreter {

// An invocation accesses a word; `now` says as whom. Throw Fault for a race, for a read of what nothing has written,
// and for a word beyond a buffer.
[[nodiscard]] uint32_t read_shared(const Invocation &v, uint32_t word, const Access &now);
void write_shared(const Invocation &v, uint32_t word, uint32_t value, const Access &now);
[[nodiscard]] uint32_t read_buffer(const Invocation &v, uint32_t binding, const Part &part, uint32_t word,
                                   const Access &now);
void write_buffer(const Invocation &v, uint32_t binding, const Part &part, uint32_t word, uint32_t value,
                  const Access &now);

// The length of the array that begins at a word and that a step of an access chain leads into.
[[nodiscard]] uint32_t length_of(const Invocation &v, const ChainStep &step, uint32_t binding, uint32_t begin);
// Throws Fault with "tile[3][64]": what a chain was meant to lead to, up to the step `last`, with an index outside.
[[noreturn]] void report_outside(const Invocation &v, const Chain &chain, size_t last, uint64_t index, uint32_t count);

} // namespace lamina::interpreter
