// Runs programs with an interpreter of SPIR-V in place of a driver. It is slow, and it stops at what drivers let pass:
// an index beyond an array or a buffer, a race, a read of memory that nothing has written, a barrier that not all
// invocations reach, and arithmetic that SPIR-V leaves undefined.
#pragma once

#include "plan/device.hpp"

#include <map>
#include <memory>
#include <string>

namespace lamina::interpreter {

// All loops of an invocation together, but those marked [[unroll]], must not have more rounds. Then lavapipe ends every
// loop, without a word: its LLVM code counts them (Mesa, lp_bld_ir_common.c: LP_MAX_TGSI_LOOP_ITERATIONS).
inline constexpr uint64_t most_rounds = 65535;

// The most rounds that an invocation of each kernel has run, by the kernel's name.
using Rounds = std::map<std::string, uint64_t>;

// Programs of its backends throw Error(plugin), with the kernel, where it is, and the invocations, if a kernel does any
// of the above. It has no numbers of 64 bits, and none of 16 bits in buffers. subgroup: the invocations in one. rounds:
// if given, is filled in; it must outlive the programs.
[[nodiscard]] std::shared_ptr<plan::Device> make_device(std::shared_ptr<const abi::Registry> plugins,
                                                        uint32_t subgroup = 32, Rounds *rounds = nullptr);

} // namespace lamina::interpreter
