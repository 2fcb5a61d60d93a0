// Averages of what is measured again and again.
#pragma once

#include <algorithm>

namespace lamina::generation {

// `known`: 0 if nothing is. What is far off, perhaps because the machine did something else, counts as twice as much.
inline void average(double &known, double value) {
    known = known == 0 ? value : known + (std::min(value, 2 * known) - known) / 4;
}

} // namespace lamina::generation
