// The shared memory of a kernel's workgroups. Specialization constants may size its arrays, so the amount depends on
// the values that a dispatch gives them.
#pragma once

#include <lamina/plugin.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

// Keeps the instructions of a module that declare types, constants and shared variables; SPIRV-Cross lists no shared
// variables.
class SharedMemory {
  public:
    using Words = std::vector<uint32_t>; // of one instruction

    SharedMemory() = default;
    explicit SharedMemory(std::span<const uint32_t> spirv);

    // The bytes of shared memory if the specialization constants have these values (others their defaults). Nothing,
    // and the reason in `why_not`, if a size cannot be computed here.
    [[nodiscard]] std::optional<uint64_t> bytes(std::span<const lamina_spec> specs, std::string &why_not) const;

  private:
    std::map<uint32_t, Words> definitions_; // of types and constants, by result id
    std::map<uint32_t, uint32_t> spec_ids_; // of specialization constants, by result id
    std::vector<uint32_t> shared_;          // the pointer type of each shared variable
};

} // namespace lamina::plan
