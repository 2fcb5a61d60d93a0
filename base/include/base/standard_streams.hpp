// The streams that a process begins with, which may be terminals. open_file.hpp reads and writes them.
#pragma once

#include <cstddef>

namespace lamina {

inline constexpr int standard_input = 0, standard_output = 1, standard_error = 2;

// Call this first. A stream that is closed would otherwise be the number of the next file that is opened, and messages
// would be written into it. Bytes are passed on as they are; on terminals they are UTF-8.
void prepare_streams();

[[nodiscard]] bool is_terminal(int stream);
[[nodiscard]] bool knows_escapes(int stream);  // a terminal that understands colours and the like
[[nodiscard]] size_t columns_of(int stream);   // the width of a terminal
[[nodiscard]] bool has_input(int stream);      // whether reading would not wait
[[nodiscard]] const char *end_of_input_keys(); // what somebody at a terminal presses to end its input

} // namespace lamina
