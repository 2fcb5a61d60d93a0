// Apple's GPUs run Vulkan through MoltenVK, which translates SPIR-V to Metal's shading language with SPIRV-Cross. These
// tests do the same.
#include "builds.hpp"

#include "catch.hpp"

#include <spirv_cross/spirv_cross_c.h>

#include <algorithm>
#include <memory>

using namespace lamina;

namespace {

struct Metal {
    std::string source; // empty if the translation failed
    std::string error;
};

// Uses the version of Metal's language of macOS 10.14, the oldest that current MoltenVK supports.
Metal translate(const lamina_kernel &kernel) {
    spvc_context created = nullptr;
    REQUIRE(spvc_context_create(&created) == SPVC_SUCCESS);
    const std::unique_ptr<spvc_context_s, decltype(&spvc_context_destroy)> context(created, spvc_context_destroy);
    spvc_parsed_ir ir = nullptr;
    spvc_compiler compiler = nullptr;
    spvc_compiler_options options = nullptr;
    const char *source = nullptr;
    const bool translated = spvc_context_parse_spirv(created, kernel.spirv, kernel.words, &ir) == SPVC_SUCCESS &&
                            spvc_context_create_compiler(created, SPVC_BACKEND_MSL, ir,
                                                         SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler) == SPVC_SUCCESS &&
                            spvc_compiler_create_compiler_options(compiler, &options) == SPVC_SUCCESS &&
                            spvc_compiler_options_set_uint(options, SPVC_COMPILER_OPTION_MSL_VERSION,
                                                           SPVC_MAKE_MSL_VERSION(2, 1, 0)) == SPVC_SUCCESS &&
                            spvc_compiler_install_compiler_options(compiler, options) == SPVC_SUCCESS &&
                            spvc_compiler_compile(compiler, &source) == SPVC_SUCCESS;
    if (!translated) return {{}, spvc_context_get_last_error_string(created)};
    return {source, {}};
}

// In Metal, a specialization constant cannot be the size of an array, so those constants become macros.
bool is_macro(const Metal &metal, uint32_t constant) {
    return metal.source.find("#define SPIRV_CROSS_CONSTANT_ID_" + std::to_string(constant) + " ") != std::string::npos;
}

// Metal has its own, but SPIRV-Cross does not translate to them, and MoltenVK does not offer the extension.
bool has_matrices(const lamina_kernel &kernel) {
    return (plan::reflect(kernel, kernel.name).features & LAMINA_FEATURE_COOPERATIVE_MATRIX) != 0;
}

} // namespace

TEST_CASE("every kernel without cooperative matrices translates to Metal's shading language") {
    for (const auto &[id, layer] : portability::layers())
        for (const lamina_kernel &kernel : portability::kernels_of(layer)) {
            if (has_matrices(kernel)) continue;
            const Metal metal = translate(kernel);
            INFO(id << "/" << kernel.name << ": " << metal.error);
            CHECK(metal.source.find("kernel void main0(") != std::string::npos);
        }
}

// MoltenVK before 1.3 leaves macros at their default. If the default is the largest value of any plan, the kernel
// computes the same, but in larger tiles; a smaller default would leave out part of the work.
TEST_CASE("constants that size arrays are at most their default") {
    size_t sizes = 0;
    for (const portability::Build &build : portability::builds_on(portability::typical_gpu())) {
        if (has_matrices(build.code())) continue;
        const Metal metal = translate(build.code());
        for (const lamina_spec &spec : build.specs) {
            if (!is_macro(metal, spec.id)) continue;
            ++sizes;
            const auto &specs = build.info().specs;
            const auto declared =
                std::find_if(specs.begin(), specs.end(), [&](const auto &s) { return s.id == spec.id; });
            INFO(build.text());
            CHECK(spec.bits <= declared->dflt);
        }
    }
    CHECK(sizes != 0); // otherwise this SPIRV-Cross names its macros differently
}
