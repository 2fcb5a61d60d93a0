// Copies what a plugin declares into the host's own structs, whatever minor version of the ABI the plugin was built
// with. Fields that the plugin does not have become zero.
#pragma once

#include <lamina/plugin.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lamina::abi {

// The descriptor's prefix and sizes must be sound: see fault_of_prefix() and fault_of_sizes() in descriptor.hpp. The
// copy owns its lists. Names, texts, SPIR-V and functions remain in the plugin.
[[nodiscard]] std::shared_ptr<const lamina_layer> read_contract(const lamina_layer &foreign);
[[nodiscard]] std::shared_ptr<const lamina_executor> read_contract(const lamina_executor &foreign);

// The signature of a contract, for which a CPU kernel is written: parameters and ports in order, on one line.
//
//     heads kv_heads=heads mode=a|b; x: sequence B T C, lengths?: i32 B; weight: N C, bias?: N -> y: sequence B T N
//
// "?" marks optional ports, and "=" names the port or parameter that replaces one that is left out. States follow the
// outputs after another semicolon.
[[nodiscard]] std::string signature(const lamina_layer &contract);

// The index of `name` in one of a contract's lists, or `n` if it is not there.
template <class Named> [[nodiscard]] uint32_t place_of_name(const Named *list, uint32_t n, std::string_view name) {
    uint32_t i = 0;
    while (i < n && name != list[i].name) ++i;
    return i;
}

} // namespace lamina::abi
