// For recursion that is bounded, but deeper than the stack of any caller may allow: the program chooses how large the
// stacks of its threads are.
#pragma once

#include <cstddef>
#include <functional>

namespace lamina {

// Calls the function on a new stack of so many bytes, and waits for it. What it throws is thrown again. Throws
// Error(memory) if there is no room for the stack.
void on_own_stack(size_t bytes, const std::function<void()> &function);

} // namespace lamina
