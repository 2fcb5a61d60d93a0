#include "plan/reflect.hpp"

#include "base/own_files.hpp"

#include <lamina/error.hpp>

#include <spirv_cross/spirv.h>

namespace lamina::plan {

KernelInfo reflect(const lamina_kernel &kernel, const std::string &where) {
    KernelInfo info;
    if (kernel.spirv == nullptr) {
        info.left_out = true;
        return info;
    }
    if (kernel.spirv[0] != SpvMagicNumber) throw Error(ErrorCode::plugin, where + ": it is not SPIR-V");
    static auto *const with_spirv_cross = own_function<Reflect>("spirv_cross", "lamina_reflect");
    with_spirv_cross(kernel, where, info);
    info.shared = SharedMemory({kernel.spirv, kernel.words});
    return info;
}

} // namespace lamina::plan
