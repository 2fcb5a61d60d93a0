// What a plugin declares, as this host reads it: copies in the host's own structs, whatever minor version of the ABI
// the plugin was built with. Fields that it does not have are zero.
#pragma once

#include <lamina/plugin.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lamina::abi {

// The descriptor's prefix and sizes must be sound: see fault_of_prefix() and fault_of_sizes() in descriptor.hpp. The
// copy holds its lists; names, texts, SPIR-V and functions stay the plugin's.
[[nodiscard]] std::shared_ptr<const lamina_layer> read_contract(const lamina_layer &foreign);
[[nodiscard]] std::shared_ptr<const lamina_executor> read_contract(const lamina_executor &foreign);

// What a CPU kernel is written for: parameters and ports in their order, in one line.
//
//     heads kv_heads=heads mode=a|b; x: sequence B T C, lengths?: i32 B; weight: N C, bias?: N -> y: sequence B T N
//
// "?" may be left out, "=" names what then stands in; states follow the outputs behind another semicolon.
[[nodiscard]] std::string signature(const lamina_layer &contract);

// The place of `name` in one of a contract's lists; `n` where it is not there.
template <class Named> [[nodiscard]] uint32_t place_of_name(const Named *list, uint32_t n, std::string_view name) {
    uint32_t i = 0;
    while (i < n && name != list[i].name) ++i;
    return i;
}

} // namespace lamina::abi
