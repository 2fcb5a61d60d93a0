#include "plan/reflect.hpp"

#include "plan/spirv_cross/accesses.hpp"

#include <lamina/error.hpp>

#include <spirv_cross/spirv_cross_c.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace lamina::plan {
namespace {

// Not in every release of the headers.
constexpr uint32_t cooperative_matrix_capability = 6022, cooperative_matrix_type = 4456;

// SPIRV-Cross before 1.4.309 stops at the type of a cooperative matrix. Nothing that is read here has that type, so an
// array of its components, as many as it has rows, stands for it.
std::vector<uint32_t> without_matrices(const lamina_kernel &kernel) {
    constexpr size_t header = 5;
    std::vector<uint32_t> out(kernel.spirv, kernel.spirv + std::min(header, kernel.words));
    for (size_t at = header; at < kernel.words;) {
        const uint32_t *words = kernel.spirv + at;
        const size_t count = std::clamp<size_t>(words[0] >> 16u, 1, kernel.words - at);
        if ((words[0] & 0xffffu) == cooperative_matrix_type && count == 7)
            out.insert(out.end(), {4u << 16u | SpvOpTypeArray, words[1], words[2], words[4]}); // id, component, rows
        else
            out.insert(out.end(), words, words + count);
        at += count;
    }
    return out;
}

struct ContextDeleter {
    void operator()(spvc_context context) const { spvc_context_destroy(context); }
};

// One SPIRV-Cross compiler over one module, and its errors as ours.
class Module {
  public:
    Module(const lamina_kernel &kernel, const std::string &where) : where_(where) {
        spvc_context context = nullptr;
        if (spvc_context_create(&context) != SPVC_SUCCESS) throw Error(ErrorCode::memory, where_ + ": out of memory");
        context_.reset(context);
        spvc_parsed_ir ir = nullptr;
        const std::vector<uint32_t> words = without_matrices(kernel);
        check(spvc_context_parse_spirv(context, words.data(), words.size(), &ir));
        check(
            spvc_context_create_compiler(context, SPVC_BACKEND_NONE, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler));
        check(spvc_compiler_create_shader_resources(compiler, &resources_));
    }

    void check(spvc_result result) const {
        if (result != SPVC_SUCCESS)
            fail(std::string("not valid SPIR-V: ") + spvc_context_get_last_error_string(context_.get()));
    }
    [[noreturn]] void fail(const std::string &why) const { throw Error(ErrorCode::plugin, where_ + ": " + why); }

    [[nodiscard]] std::span<const spvc_reflected_resource> resources(spvc_resource_type type) const {
        const spvc_reflected_resource *list = nullptr;
        size_t n = 0;
        check(spvc_resources_get_resource_list_for_type(resources_, type, &list, &n));
        return {list, n};
    }

    spvc_compiler compiler = nullptr;

  private:
    std::string where_;
    std::unique_ptr<spvc_context_s, ContextDeleter> context_;
    spvc_resources resources_ = nullptr;
};

std::vector<KernelBinding> bindings_of(const Module &module, const Accesses &accesses) {
    for (const auto type :
         {SPVC_RESOURCE_TYPE_UNIFORM_BUFFER, SPVC_RESOURCE_TYPE_STORAGE_IMAGE, SPVC_RESOURCE_TYPE_SAMPLED_IMAGE,
          SPVC_RESOURCE_TYPE_SEPARATE_IMAGE, SPVC_RESOURCE_TYPE_SEPARATE_SAMPLERS})
        if (!module.resources(type).empty())
            module.fail(std::string("'") + module.resources(type).front().name + "' is not a storage buffer");
    std::map<uint32_t, KernelBinding> found;
    for (const auto &resource : module.resources(SPVC_RESOURCE_TYPE_STORAGE_BUFFER)) {
        if (spvc_compiler_get_decoration(module.compiler, resource.id, SpvDecorationDescriptorSet) != 0)
            module.fail(std::string("buffer '") + resource.name + "' is not in set 0");
        const SpvDecoration *decorations = nullptr;
        size_t n = 0;
        module.check(spvc_compiler_get_buffer_block_decorations(module.compiler, resource.id, &decorations, &n));
        const auto decorated = [&](SpvDecoration d) {
            return std::find(decorations, decorations + n, d) != decorations + n;
        };
        const uint32_t binding = spvc_compiler_get_decoration(module.compiler, resource.id, SpvDecorationBinding);
        KernelBinding &b = found.try_emplace(binding, KernelBinding{binding, false, false}).first->second;
        // Barriers follow the declarations, so these have to be true.
        const bool reads = !decorated(SpvDecorationNonReadable), writes = !decorated(SpvDecorationNonWritable);
        if (!reads && accesses.read.contains(resource.id))
            module.fail(std::string("it reads the buffer '") + resource.name + "', which it declares writeonly");
        if (!writes && accesses.written.contains(resource.id))
            module.fail(std::string("it writes the buffer '") + resource.name + "', which it declares readonly");
        b.reads |= reads;
        b.writes |= writes;
    }
    std::vector<KernelBinding> out;
    for (const auto &[number, binding] : found) {
        if (number != out.size())
            module.fail("no buffer at binding " + std::to_string(out.size()) +
                        ": numbers must run from 0 without gaps");
        out.push_back(binding);
    }
    return out;
}

uint32_t push_bytes_of(const Module &module) {
    const auto blocks = module.resources(SPVC_RESOURCE_TYPE_PUSH_CONSTANT);
    if (blocks.empty()) return 0;
    size_t bytes = 0;
    const spvc_type type = spvc_compiler_get_type_handle(module.compiler, blocks.front().base_type_id);
    module.check(spvc_compiler_get_declared_struct_size(module.compiler, type, &bytes));
    return static_cast<uint32_t>(bytes);
}

void read_specs(const Module &module, KernelInfo &info) {
    const spvc_specialization_constant *constants = nullptr;
    size_t n = 0;
    module.check(spvc_compiler_get_specialization_constants(module.compiler, &constants, &n));
    for (size_t i = 0; i < n; ++i) {
        const spvc_constant constant = spvc_compiler_get_constant_handle(module.compiler, constants[i].id);
        info.specs.push_back({constants[i].constant_id, spvc_constant_get_scalar_u32(constant, 0, 0)});
    }
    std::sort(info.specs.begin(), info.specs.end(), [](const auto &a, const auto &b) { return a.id < b.id; });

    std::array<spvc_specialization_constant, 3> size{};
    spvc_compiler_get_work_group_size_specialization_constants(module.compiler, &size[0], &size[1], &size[2]);
    for (unsigned axis = 0; axis < 3; ++axis) {
        info.local[axis] =
            spvc_compiler_get_execution_mode_argument_by_index(module.compiler, SpvExecutionModeLocalSize, axis);
        if (size[axis].id == 0) continue;
        info.local_spec[axis] = size[axis].constant_id;
        info.local[axis] =
            spvc_constant_get_scalar_u32(spvc_compiler_get_constant_handle(module.compiler, size[axis].id), 0, 0);
    }
}

uint64_t features_of(const Module &module) {
    const SpvCapability *capabilities = nullptr;
    size_t n = 0;
    module.check(spvc_compiler_get_declared_capabilities(module.compiler, &capabilities, &n));
    uint64_t features = 0;
    for (const SpvCapability c : std::span(capabilities, n)) {
        switch (static_cast<uint32_t>(c)) {
        case SpvCapabilityMatrix:
        case SpvCapabilityShader:
            break;
        case SpvCapabilityFloat16:
            features |= LAMINA_FEATURE_FLOAT16;
            break;
        case SpvCapabilityStorageBuffer16BitAccess:
            features |= LAMINA_FEATURE_STORAGE16;
            break;
        case SpvCapabilityGroupNonUniform:
            features |= LAMINA_FEATURE_SUBGROUP_BASIC;
            break;
        case SpvCapabilityGroupNonUniformArithmetic:
            features |= LAMINA_FEATURE_SUBGROUP_ARITHMETIC;
            break;
        case SpvCapabilityGroupNonUniformShuffle:
            features |= LAMINA_FEATURE_SUBGROUP_SHUFFLE;
            break;
        case SpvCapabilityGroupNonUniformBallot:
            features |= LAMINA_FEATURE_SUBGROUP_BALLOT;
            break;
        case SpvCapabilityInt64:
            features |= LAMINA_FEATURE_INT64;
            break;
        case SpvCapabilityVulkanMemoryModel:
        case cooperative_matrix_capability:
            features |= LAMINA_FEATURE_COOPERATIVE_MATRIX;
            break;
        default:
            module.fail("it needs SPIR-V capability " + std::to_string(c) + ", for which there is no LAMINA_FEATURE_");
        }
    }
    return features;
}

} // namespace

extern "C" void lamina_reflect(const lamina_kernel &kernel, const std::string &where, KernelInfo &info) {
    const Module module(kernel, where);
    const spvc_entry_point *entries = nullptr;
    size_t n = 0;
    module.check(spvc_compiler_get_entry_points(module.compiler, &entries, &n));
    if (std::none_of(entries, entries + n, [](const spvc_entry_point &e) {
            return e.execution_model == SpvExecutionModelGLCompute && std::string_view(e.name) == "main";
        }))
        module.fail("it has no compute entry point 'main'");
    info.bindings = bindings_of(module, accesses_of({kernel.spirv, kernel.words}));
    info.push_bytes = push_bytes_of(module);
    read_specs(module, info);
    info.features = features_of(module);
}

} // namespace lamina::plan
