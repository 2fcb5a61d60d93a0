// Which buffers the instructions of a kernel read and write, whatever its declarations say: some compilers let a kernel
// read a buffer that it declares writeonly, as an argument of a function.
#pragma once

#include <cstdint>
#include <set>
#include <span>

namespace lamina::plan {

struct Accesses {
    std::set<uint32_t> read, written; // ids of variables in the module
};

// Of a module that has been parsed: its instructions are whole.
[[nodiscard]] Accesses accesses_of(std::span<const uint32_t> words);

} // namespace lamina::plan
