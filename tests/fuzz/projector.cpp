// Projectors of GGUF files, with a model that they may belong to
#include "fuzz.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "temporary_folder.hpp"

#include <filesystem>

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    static const std::filesystem::path models = LAMINA_SOURCE_DIR "/tests/architectures/models";
    const auto has = [&](std::string_view type) { return input.find(type) != std::string_view::npos; };
    const char *const pair = has("qwen3vl")   ? "gguf_qwen3_vl_sees"
                             : has("qwen2")   ? "gguf_qwen2_vl_sees"
                             : has("gemma3")  ? "gguf_gemma3_sees"
                             : has("pixtral") ? "gguf_mistral3_sees"
                                              : "gguf_llava_sees";
    (void)runtime().load(models / pair / "model.gguf",
                         {.adapters = {}, .mmproj = folder.write("projector.gguf", input)});
}
