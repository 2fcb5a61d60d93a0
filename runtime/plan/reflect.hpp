// What a compiled kernel says about itself, read from its SPIR-V. Knows no Vulkan.
#pragma once

#include "plan/shared_memory.hpp"

#include <lamina/plugin.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lamina::plan {

struct KernelBinding {
    uint32_t binding = 0;
    bool reads = true, writes = true; // from readonly and writeonly; several blocks at one binding are joined
};

struct KernelInfo {
    std::vector<KernelBinding> bindings; // by binding number, without gaps
    uint32_t push_bytes = 0;
    struct Spec {
        uint32_t id = 0, dflt = 0;
    };
    std::vector<Spec> specs;                       // 32-bit specialization constants
    std::array<uint32_t, 3> local{1, 1, 1};        // workgroup size, before specialization
    std::array<int64_t, 3> local_spec{-1, -1, -1}; // the specialization constant that sets it, or -1
    SharedMemory shared;
    uint64_t features = 0; // LAMINA_FEATURE_ bits behind the module's capabilities
    bool left_out = false; // of the build, whose tools could not compile it: there is nothing to read
};

// Throws Error(plugin): not SPIR-V, no entry point "main", a descriptor outside set 0, a binding that is not a storage
// buffer, gaps in the binding numbers. `where` begins the message.
[[nodiscard]] KernelInfo reflect(const lamina_kernel &kernel, const std::string &where);

// The function "lamina_reflect" of the library "spirv_cross", which has what SPIRV-Cross finds: all but `shared`.
using Reflect = void(const lamina_kernel &kernel, const std::string &where, KernelInfo &info);

} // namespace lamina::plan
