// config.json of Hugging Face, next to the weights of a test model with the same model_type
#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "fuzz.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "temporary_folder.hpp"

#include <map>

namespace {

using Folders = std::map<std::string, TemporaryFolder, std::less<>>;

Folders test_models() {
    Folders out;
    for (const auto &entry : std::filesystem::directory_iterator(LAMINA_SOURCE_DIR "/tests/architectures/models")) {
        const std::filesystem::path config = entry.path() / "config.json", weights = entry.path() / "model.safetensors";
        if (!exists(config) || !exists(weights)) continue;
        const auto bytes = lamina::read_file(config);
        const lamina::JsonText text({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, config.string());
        const std::string type(text.root().at("model_type").string());
        if (out.contains(type)) continue;
        create_symlink(weights, out[type].path() / "model.safetensors");
    }
    return out;
}

} // namespace

void test::read(std::string_view input) {
    static const Folders models = test_models();
    const lamina::JsonText text(std::string(input), "config.json");
    const auto model =
        text.root().has("model_type") ? models.find(text.root().at("model_type").string()) : models.end();
    const TemporaryFolder &folder = model == models.end() ? models.begin()->second : model->second;
    folder.write("config.json", input);
    (void)runtime().load(folder.path());
}
