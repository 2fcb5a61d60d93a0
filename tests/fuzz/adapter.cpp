// adapter_config.json of PEFT, beside the tensors of an adapter
#include "architectures/adapters.hpp"
#include "fuzz.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include <filesystem>

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    const std::filesystem::path tensors = folder.path() / "adapter_model.safetensors";
    if (!std::filesystem::exists(tensors))
        std::filesystem::copy(LAMINA_SOURCE_DIR "/tests/architectures/adapters/llama/adapter_model.safetensors",
                              tensors);
    folder.write("adapter_config.json", input);
    const auto same = [](const lamina::model::Weights &weights) { return weights; };
    (void)lamina::architectures::read_peft_adapter({folder.path()}, same, false);
}
