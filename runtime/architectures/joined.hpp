// Lists of names that several architectures have in common.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace lamina::architectures {

// Both lists, one after the other.
template <class Name, size_t A, size_t B>
[[nodiscard]] constexpr std::array<Name, A + B> joined(const std::array<Name, A> &first,
                                                       const std::array<Name, B> &second) {
    std::array<Name, A + B> out{};
    std::ranges::copy(second, std::ranges::copy(first, out.begin()).out);
    return out;
}

} // namespace lamina::architectures
