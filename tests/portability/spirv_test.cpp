// Kernels must be valid SPIR-V, which every driver relies on.
#include "builds.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <cstdio>
#include <span>

using namespace lamina;

namespace {

struct Answer {
    int status = 0;
    std::string text;
};

Answer answer_of(const std::string &command) {
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    Answer answer;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) answer.text += static_cast<char>(c);
    answer.status = pclose(pipe);
    return answer;
}

Answer validate(std::span<const uint32_t> words) {
    const TemporaryFolder folder;
    const auto file = folder.write("kernel.spv", {reinterpret_cast<const char *>(words.data()), words.size_bytes()});
    return answer_of(LAMINA_SPIRV_VAL " --target-env vulkan1.1 '" + file.string() + "'");
}

} // namespace

TEST_CASE("every kernel is valid SPIR-V for Vulkan 1.1") {
    for (const auto &[id, layer] : portability::layers())
        for (const lamina_kernel &kernel : portability::kernels_of(layer)) {
            const Answer answer = validate({kernel.spirv, kernel.words});
            INFO(id << "/" << kernel.name << ": " << answer.text);
            CHECK(answer.status == 0);
        }
}

TEST_CASE("the validator refuses SPIR-V of which the end is missing") {
    const lamina_kernel &kernel = portability::layers().begin()->second.contract->kernels[0];
    CHECK(validate({kernel.spirv, kernel.words - 1}).status != 0);
}

TEST_CASE("every kernel is dispatched in some case") {
    std::set<std::string> dispatched;
    for (const portability::Build &build : portability::builds_on(portability::typical_gpu()))
        dispatched.insert(build.kernel_name());
    for (const auto &[id, layer] : portability::layers())
        for (const lamina_kernel &kernel : portability::kernels_of(layer))
            CHECK(dispatched.contains(id + "/" + kernel.name));
}
