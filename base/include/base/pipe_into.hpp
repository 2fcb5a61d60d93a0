// Programs that read a script from their standard input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lamina {

// Runs a program, which is found as a shell finds it, with these arguments and this standard input, and waits for its
// end. Its output goes where this program's errors go. Returns its exit status, or -1 if it could not be run or was
// ended by a signal.
[[nodiscard]] int pipe_into(const std::string &program, const std::vector<std::string> &arguments,
                            std::string_view input);

} // namespace lamina
