// Runs programs with an interpreter of SPIR-V in place of a driver. It is slow, and it stops at what drivers let pass:
// an index beyond an array or a buffer, a race, a read of memory that nothing has written, a barrier that not all
// invocations reach, and arithmetic that SPIR-V leaves undefined.
#pragma once

#include "abi/library.hpp"
#include "model/weights.hpp"
#include "plan/program.hpp"

#include <map>
#include <memory>
#include <string>

namespace lamina::interpreter {

// What plans see. It has no numbers of 64 bits, and none of 16 bits in buffers.
[[nodiscard]] lamina_device capabilities(uint32_t subgroup);

// All loops of an invocation together, but those marked [[unroll]], must not have more rounds. Then lavapipe ends every
// loop, without a word: its LLVM code counts them (Mesa, lp_bld_ir_common.c: LP_MAX_TGSI_LOOP_ITERATIONS).
inline constexpr uint64_t most_rounds = 65535;

// The most rounds that an invocation of each kernel has run, by the kernel's name.
using Rounds = std::map<std::string, uint64_t>;

// Programs throw Error(plugin), with the kernel, where it is, and the invocations, if a kernel does any of the above.
// subgroup: the invocations in one. rounds: if given, is filled in; it must outlive the programs.
[[nodiscard]] std::unique_ptr<plan::Backend> make_backend(std::shared_ptr<const abi::Registry> plugins,
                                                          model::Weights weights, uint32_t subgroup,
                                                          Rounds *rounds = nullptr);

} // namespace lamina::interpreter
