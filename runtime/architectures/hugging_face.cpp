#include "architectures/hugging_face.hpp"

#include "architectures/assemble.hpp"
#include "architectures/file_names.hpp"
#include "architectures/sentence_modules.hpp"
#include "architectures/text_settings.hpp"
#include "model/safetensors.hpp"

#include <utility>

namespace lamina::architectures {
namespace fs = std::filesystem;

std::shared_ptr<model::Model> read_hugging_face(const fs::path &folder) {
    const fs::path file = folder / "config.json", generation_file = folder / "generation_config.json";
    const JsonText document(text_of(file), file.string());
    const Config config = Config::of_model(document.root());
    refuse_unsupported(config);
    std::optional<JsonText> generation_document;
    if (has_file(generation_file)) generation_document.emplace(text_of(generation_file), generation_file.string());
    const Config generation = generation_document ? Config(generation_document->root()) : config;
    const std::string model_type = config.text("model_type");
    const Architecture &architecture = architecture_of(model_type, config);
    model::Weights weights = as_loaded(model::open_safetensors_folder(folder), architecture.base, architecture.renamed);
    auto sentences = SentenceModules::read(folder, weights); // adds weights
    Draft draft{.config = config,
                .weights = weights,
                .generation = generation,
                .folder = folder,
                .sentences = std::move(sentences),
                .task = task_of(config),
                .texts = read_text_settings(config, generation, folder)};
    return assemble(draft, model_type, folder);
}

} // namespace lamina::architectures
